//! The answer of a policy in Python as orders: `None`, one tuple, or any number of them.
//!
//! `("wake", drive, at_s)`, `("spin_down", drive)`, `("spin_down", drive, "sleep")`, `("spin_up", drive)`, `("shift",
//! gear)`.

use iojoule_array::policy::{Orders, Rest};
use iojoule_units::ModelNs;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

/// Adds what was answered to `orders`; the error says what is wrong with it.
pub fn take(answer: &Bound<'_, PyAny>, drives: u16, orders: &mut Orders) -> Result<(), String> {
    if answer.is_none() {
        return Ok(());
    }
    if let Ok(tuple) = answer.cast::<PyTuple>()
        && tuple.get_item(0).is_ok_and(|first| first.is_instance_of::<PyString>())
    {
        return one(tuple, drives, orders);
    }
    let text = |e: PyErr| e.to_string();
    let several =
        answer.try_iter().map_err(|_| format!("{}: an answer is None, an order or several orders", said(answer)))?;
    for order in several {
        let order = order.map_err(text)?;
        one(order.cast::<PyTuple>().map_err(|_| format!("{}: an order is a tuple", said(&order)))?, drives, orders)?;
    }
    Ok(())
}

fn one(order: &Bound<'_, PyTuple>, drives: u16, orders: &mut Orders) -> Result<(), String> {
    let wrong = |why: &str| format!("{}: {why}", said(order.as_any()));
    let name: String = item(order, 0).ok_or_else(|| wrong("an order begins with its name"))?;
    let drive = || match item::<i64>(order, 1).map(u16::try_from) {
        Some(Ok(drive)) if drive < drives => Ok(drive),
        Some(_) => Err(wrong(&format!("there is no such drive among {drives}"))),
        None => Err(wrong("the number of a drive follows the name")),
    };
    match (name.as_str(), order.len()) {
        ("wake", 3) => {
            let at: f64 = item(order, 2).ok_or_else(|| wrong("a wake says when, in seconds"))?;
            if !at.is_finite() || at.abs() > 9e9 {
                return Err(wrong("no such time"));
            }
            orders.wake(drive()?, ModelNs((at * 1e9).round() as i64));
        }
        ("spin_down", 2) => orders.spin_down(drive()?, Rest::default()),
        ("spin_down", 3) => {
            orders.spin_down(drive()?, rest(order).ok_or_else(|| wrong("standby, sleep or low_power_idle"))?)
        }
        ("spin_up", 2) => orders.spin_up(drive()?),
        ("shift", 2) => orders.shift(item(order, 1).ok_or_else(|| wrong("the number of a gear follows the name"))?),
        _ => {
            let known =
                "(\"wake\", drive, at_s), (\"spin_down\", drive[, rest]), (\"spin_up\", drive), (\"shift\", gear)";
            return Err(wrong(&format!("orders are {known}")));
        }
    }
    Ok(())
}

fn rest(order: &Bound<'_, PyTuple>) -> Option<Rest> {
    match item::<String>(order, 2)?.as_str() {
        "standby" => Some(Rest::Standby),
        "sleep" => Some(Rest::Sleep),
        "low_power_idle" => Some(Rest::LowPowerIdle),
        _ => None,
    }
}

fn item<'py, T: for<'a> FromPyObject<'a, 'py>>(order: &Bound<'py, PyTuple>, at: usize) -> Option<T> {
    order.get_item(at).ok()?.extract().ok()
}

fn said(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "?".into(), |text| text.to_string())
}
