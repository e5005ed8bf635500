//! When it pays to spin down. reference: ski rental; break-even time as
//! (E_down + E_up − P_standby (t_down + t_up)) / (P_idle − P_standby), at least t_down + t_up.

use iojoule_units::{Joules, Nanos, Watts};

use super::{PowerSpec, PowerState, Transition};
use crate::DiskError;

/// The figures that decide about spinning down, all of them set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standby {
    pub idle: Watts,
    pub standby: Watts,
    pub spin_down: Nanos,
    pub spin_up: Nanos,
    /// Energy of both transitions together.
    pub transitions: Joules,
}

impl PowerSpec {
    /// The figures that decide about spinning down.
    ///
    /// # Errors
    /// [`DiskError::NoFigure`] naming the key that is not set.
    pub fn standby(&self) -> Result<Standby, DiskError> {
        let none = |key: &str| DiskError::NoFigure { drive: String::new(), key: key.into() };
        let transition = |t: Option<Transition>, key| {
            let t = t.ok_or_else(|| none(key))?;
            Ok((t.time(), t.energy_j.or(t.w.map(|w| w * t.time_s)).ok_or_else(|| none(&format!("{key}.energy_j")))?))
        };
        let (spin_down, down) = transition(self.spin_down, "spin_down")?;
        let (spin_up, up) = transition(self.spin_up, "spin_up")?;
        Ok(Standby {
            idle: self.watts(PowerState::Idle).map_err(none)?,
            standby: self.watts(PowerState::Standby).map_err(none)?,
            spin_down,
            spin_up,
            transitions: Joules(down + up),
        })
    }
}

impl Standby {
    /// The shortest idle time, transitions included, that costs no more in standby than idle; `None` where standby
    /// draws no less than idle.
    pub fn break_even(&self) -> Option<Nanos> {
        let saved = self.idle.0 - self.standby.0;
        let passing = self.spin_down + self.spin_up;
        let extra = self.transitions.0 - (self.standby * passing).0;
        (saved > 0.0).then(|| Nanos::from_secs_f64(extra / saved).max(passing))
    }

    /// Energy of staying idle for `time`.
    pub fn stay(&self, time: Nanos) -> Joules {
        self.idle * time
    }

    /// Energy of spending `time` in standby, both transitions included; `None` where they do not fit.
    pub fn sleep(&self, time: Nanos) -> Option<Joules> {
        let rest = time - self.spin_down - self.spin_up;
        (rest >= Nanos::ZERO).then(|| self.transitions + self.standby * rest)
    }
}
