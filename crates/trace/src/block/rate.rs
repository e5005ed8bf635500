//! Whether the times of a trace can be meant as they were read: a wrong unit shows in the request rate. Traces in
//! nanoseconds read as microseconds have been replayed a thousand times too slow without anyone being told
//! (spdk issue 3909).

use std::collections::BTreeMap;

use super::format::Format;
use super::{Record, TimeUnit};

/// Too few requests say nothing about a rate.
const ENOUGH: u64 = 100;
/// Requests a second that no disk array of the time of these formats served.
const HIGH: f64 = 20_000.0;
/// Requests a second that no system serves.
const HIGHEST: f64 = 20e6;
const LOW: f64 = 0.001;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reach {
    pub requests: u64,
    pub end: u64,
}

/// What passed by: rate, devices and how far they were touched.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    requests: u64,
    last: i64,
    open: Option<(u32, Reach)>,
    devices: BTreeMap<u32, Reach>,
}

impl Seen {
    #[inline]
    pub fn saw(&mut self, record: &Record) {
        self.requests += 1;
        self.last = record.at.0;
        let end = record.offset.saturating_add(record.bytes);
        match &mut self.open {
            Some((device, reach)) if *device == record.device => {
                reach.requests += 1;
                reach.end = reach.end.max(end);
            }
            _ => self.change(record.device, end),
        }
    }

    fn change(&mut self, device: u32, end: u64) {
        if let Some((old, reach)) = self.open.take() {
            self.devices.insert(old, reach);
        }
        let mut reach = self.devices.get(&device).copied().unwrap_or_default();
        reach.requests += 1;
        reach.end = reach.end.max(end);
        self.open = Some((device, reach));
    }

    pub fn requests(&self) -> u64 {
        self.requests
    }

    pub fn devices(&self) -> BTreeMap<u32, Reach> {
        let mut devices = self.devices.clone();
        devices.extend(self.open);
        devices
    }

    /// A warning where the rate that `unit` implies is not to be believed, with what the other units imply.
    pub fn warning(&self, format: &Format, unit: TimeUnit, given: bool) -> Option<String> {
        if self.requests < ENOUGH || self.last == 0 || given {
            return None;
        }
        let seconds = self.last as f64 / 1e9;
        let rate = self.requests as f64 / seconds;
        let limit = if format.unit_stated { HIGHEST } else { HIGH };
        if (LOW..limit).contains(&rate) {
            return None;
        }
        let others: Vec<String> = TimeUnit::ALL
            .iter()
            .filter(|other| **other != unit)
            .map(|other| {
                let longer = 10f64.powi(other.digits() as i32 - unit.digits() as i32);
                (other, rate / longer, seconds * longer)
            })
            .filter(|(_, rate, _)| (LOW..HIGH).contains(rate))
            .map(|(other, rate, seconds)| format!("{}: {rate:.4}/s over {seconds:.4} s", other.name()))
            .collect();
        let stated = if format.unit_stated { "" } else { " (the file does not tell its unit)" };
        Some(format!(
            "times read in {}{stated} mean {rate:.0} requests/s over {seconds:.4} s; in other units: {}; \
             --time-unit says which",
            unit.name(),
            others.join(", ")
        ))
    }
}
