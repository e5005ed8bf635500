//! The power figures of a drive as written down.

use iojoule_units::{Nanos, Watts};
use serde::{Deserialize, Serialize};

use super::PowerState;
use crate::DiskError;

/// What a drive draws, in watts. Figures without a source stay unset, and energy that needs them is refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PowerSpec {
    /// Seeking, waiting for a sector, reading and writing, where they are not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_w: Option<f64>,
    /// Seeking; unset: `active_w`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seek_w: Option<f64>,
    /// On the track, waiting for the sector; unset: `active_w`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotate_wait_w: Option<f64>,
    /// Reading; unset: `active_w`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_w: Option<f64>,
    /// Writing; unset: `active_w`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_w: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_w: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low_power_idle_w: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standby_w: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep_w: Option<f64>,
    /// From standby or sleep to idle. Without it the drive cannot leave these, so it is never sent there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spin_up: Option<Transition>,
    /// From idle to standby or sleep.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spin_down: Option<Transition>,
}

/// A change of state that takes time and energy of its own: `energy_j`, or `w` over `time_s`; not both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transition {
    pub time_s: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub w: Option<f64>,
}

impl Transition {
    /// How long it takes.
    pub fn time(&self) -> Nanos {
        Nanos::from_secs_f64(self.time_s)
    }

    /// Mean power while it lasts.
    pub fn power(&self) -> Option<Watts> {
        self.w.or_else(|| self.energy_j.map(|e| e / self.time_s)).map(Watts)
    }
}

impl PowerSpec {
    /// The power of a state; the error is the key that is not set.
    pub fn watts(&self, state: PowerState) -> Result<Watts, &'static str> {
        let (figure, key) = match state {
            PowerState::Seek => (self.seek_w.or(self.active_w), "active_w"),
            PowerState::RotateWait => (self.rotate_wait_w.or(self.active_w), "active_w"),
            PowerState::Read => (self.read_w.or(self.active_w), "active_w"),
            PowerState::Write => (self.write_w.or(self.active_w), "active_w"),
            PowerState::Idle => (self.idle_w, "idle_w"),
            PowerState::LowPowerIdle => (self.low_power_idle_w, "low_power_idle_w"),
            PowerState::Standby => (self.standby_w, "standby_w"),
            PowerState::Sleep => (self.sleep_w, "sleep_w"),
            PowerState::SpinUp => return self.spin_up.and_then(|t| t.power()).ok_or("spin_up"),
            PowerState::SpinDown => return self.spin_down.and_then(|t| t.power()).ok_or("spin_down"),
            PowerState::Off => return Ok(Watts(0.0)),
        };
        figure.map(Watts).ok_or(key)
    }

    /// Whether the figures are powers and times at all.
    ///
    /// # Errors
    /// [`DiskError::Value`] naming `drive`, the key and the value.
    pub fn check(&self, drive: &str) -> Result<(), DiskError> {
        let refuse = |key: &str, value: f64, why: &str| {
            let (drive, key, why) = (drive.into(), format!("power.{key}"), why.into());
            Err(DiskError::Value { drive, key, value: value.to_string(), why })
        };
        for (key, figure) in [
            ("active_w", self.active_w),
            ("seek_w", self.seek_w),
            ("rotate_wait_w", self.rotate_wait_w),
            ("read_w", self.read_w),
            ("write_w", self.write_w),
            ("idle_w", self.idle_w),
            ("low_power_idle_w", self.low_power_idle_w),
            ("standby_w", self.standby_w),
            ("sleep_w", self.sleep_w),
        ] {
            if let Some(watts) = figure.filter(|w| !(w.is_finite() && *w >= 0.0)) {
                return refuse(key, watts, "a power is a number of watts, at least 0");
            }
        }
        for (key, transition) in [("spin_up", self.spin_up), ("spin_down", self.spin_down)] {
            let Some(t) = transition else { continue };
            if !(t.time_s > 0.0 && t.time_s < 3600.0) {
                return refuse(&format!("{key}.time_s"), t.time_s, "a time above 0 and below an hour, in seconds");
            }
            if let (Some(joules), Some(_)) = (t.energy_j, t.w) {
                return refuse(&format!("{key}.energy_j"), joules, "give energy_j or w, not both");
            }
            for (unit, figure) in [("energy_j", t.energy_j), ("w", t.w)] {
                if let Some(value) = figure.filter(|v| !(v.is_finite() && *v >= 0.0)) {
                    return refuse(&format!("{key}.{unit}"), value, "must be at least 0");
                }
            }
        }
        Ok(())
    }
}
