//! The table from names to policies: a [`PolicyConfig`] made into a [`Policy`] for a number of drives of one kind.

use std::path::PathBuf;

use iojoule_disk::power::Standby;
use iojoule_disk::{DiskError, DriveSpec};
use iojoule_units::Nanos;
use thiserror::Error;

use super::config::{PolicyConfig, Ration, Threshold};
use super::load::Thresholds;
use super::{
    Adaptive, Experts, Fixed, Gears, Never, Policy, Randomised, Rationed, Rest, Share, Steps, Watch, cycles_per_day,
};

/// Why a configuration makes no policy.
#[derive(Debug, Error, PartialEq)]
pub enum PolicyError {
    #[error("policy {kind}: {key} = {value}: {why}")]
    Value { kind: &'static str, key: &'static str, value: String, why: &'static str },
    #[error("policy {kind} needs figures of the drive's power: {reason}")]
    Power { kind: &'static str, reason: String },
    #[error("policy python: {} is run by a caller that has an interpreter", .file.display())]
    Python { file: PathBuf },
}

impl PolicyConfig {
    /// The policy for `drives` drives of this kind.
    ///
    /// # Errors
    /// Where a value makes no sense, where the drive lacks a figure the policy needs, and for a policy in Python.
    pub fn build(&self, drives: u16, drive: &DriveSpec) -> Result<Box<dyn Policy>, PolicyError> {
        let maker = Maker { kind: self.kind(), drives, drive };
        match *self {
            Self::Never => Ok(Box::new(Never)),
            Self::Fixed { threshold_ns, to, ration } => {
                maker.may_rest(to)?;
                maker.rationed(Fixed::new(maker.time("threshold_ns", threshold_ns)?, to), ration)
            }
            Self::Randomised { to, seed, ration } => {
                maker.rationed(Randomised::new(maker.break_even()?, to, seed), ration)
            }
            Self::Adaptive { first_ns, least_ns, most_ns, up, down, to, ration } => {
                let break_even = maker.break_even()?;
                let steps = Steps {
                    first: maker.time("first_ns", first_ns)?,
                    least: maker.at_least_zero("least_ns", least_ns.unwrap_or(break_even.0 / 8))?,
                    most: maker.at_least_zero("most_ns", most_ns.unwrap_or(break_even.0 * 8))?,
                    up,
                    down,
                };
                maker.check("up", up, up.is_finite() && up >= 1.0, "must be at least 1")?;
                maker.check("down", down, down > 0.0 && down <= 1.0, "must be above 0 and at most 1")?;
                maker.check("least_ns", steps.least.0, steps.least > Nanos::ZERO, "must be above 0")?;
                let ordered = steps.least <= steps.first && steps.first <= steps.most;
                maker.check("first_ns", steps.first.0, ordered, "must lie between least_ns and most_ns")?;
                maker.rationed(Adaptive::new(drives, break_even, steps, to), ration)
            }
            Self::Share { experts, most_ns, eta, alpha, to, ration } => {
                let most = maker.at_least_zero("most_ns", most_ns.unwrap_or(maker.break_even()?.0 * 2))?;
                maker.check("experts", experts, experts >= 2, "must be at least 2")?;
                maker.check("eta", eta, eta.is_finite() && eta > 0.0, "must be above 0")?;
                maker.check("alpha", alpha, (0.0..1.0).contains(&alpha), "must be at least 0 and below 1")?;
                let experts = Experts { number: experts, most, eta, alpha };
                maker.rationed(Share::new(drives, maker.figures()?, experts, to), ration)
            }
            Self::Gears { up_threshold, hysteresis, hold_ns, tick_ns, windows_ns, ration } => {
                maker.may_rest(Rest::Standby)?;
                maker.check("up_threshold", up_threshold, up_threshold > 0.0, "must be above 0")?;
                let below = (0.0..up_threshold).contains(&hysteresis);
                maker.check("hysteresis", hysteresis, below, "must be at least 0 and below up_threshold")?;
                maker.check("tick_ns", tick_ns, tick_ns > 0, "must be above 0")?;
                let ascending = tick_ns <= windows_ns[0] && windows_ns.is_sorted();
                maker.check("windows_ns", format!("{windows_ns:?}"), ascending, "must ascend, from tick_ns on")?;
                let thresholds = Thresholds { up: up_threshold, hysteresis, hold: maker.time("hold_ns", hold_ns)? };
                let watch = Watch { tick: Nanos(tick_ns), windows: windows_ns.map(Nanos) };
                maker.rationed(Gears::new(thresholds, watch), ration)
            }
            Self::Python { ref file, .. } => Err(PolicyError::Python { file: file.clone() }),
        }
    }

    /// Puts the ration of a policy in Python around it.
    ///
    /// # Errors
    /// Where the ration makes no sense.
    pub fn around(&self, policy: Box<dyn Policy>, drives: u16) -> Result<Box<dyn Policy>, PolicyError> {
        match self {
            Self::Python { ration: Some(ration), .. } => ration.around(policy, drives, "python"),
            _ => Ok(policy),
        }
    }
}

impl Ration {
    fn around(&self, policy: Box<dyn Policy>, drives: u16, kind: &'static str) -> Result<Box<dyn Policy>, PolicyError> {
        let per_day = cycles_per_day(self.cycles, self.years);
        if !(self.cycles >= 0.0 && self.years > 0.0 && per_day.is_finite()) {
            let value = format!("{} cycles in {} years", self.cycles, self.years);
            return Err(PolicyError::Value { kind, key: "ration", value, why: "gives no number of cycles a day" });
        }
        Ok(Box::new(Rationed::new(policy, drives, per_day)))
    }
}

struct Maker<'a> {
    kind: &'static str,
    drives: u16,
    drive: &'a DriveSpec,
}

impl Maker<'_> {
    fn check(
        &self,
        key: &'static str,
        value: impl ToString,
        holds: bool,
        why: &'static str,
    ) -> Result<(), PolicyError> {
        let refuse = || PolicyError::Value { kind: self.kind, key, value: value.to_string(), why };
        if holds { Ok(()) } else { Err(refuse()) }
    }

    fn at_least_zero(&self, key: &'static str, ns: i64) -> Result<Nanos, PolicyError> {
        self.check(key, ns, ns >= 0, "must not be negative").map(|()| Nanos(ns))
    }

    fn time(&self, key: &'static str, threshold: Threshold) -> Result<Nanos, PolicyError> {
        match threshold {
            Threshold::After(ns) => self.at_least_zero(key, ns),
            Threshold::BreakEven => self.break_even(),
        }
    }

    fn figures(&self) -> Result<Standby, PolicyError> {
        let refuse =
            |e: DiskError| PolicyError::Power { kind: self.kind, reason: e.of_drive(&self.drive.name).to_string() };
        self.drive.power.standby().map_err(refuse)
    }

    fn break_even(&self) -> Result<Nanos, PolicyError> {
        let never = || PolicyError::Power {
            kind: self.kind,
            reason: format!("drive `{}` draws no less in standby than idle", self.drive.name),
        };
        self.figures()?.break_even().ok_or_else(never)
    }

    /// A drive that is sent to a rest must be able to leave it.
    fn may_rest(&self, to: Rest) -> Result<(), PolicyError> {
        if to == Rest::LowPowerIdle { Ok(()) } else { self.figures().map(|_| ()) }
    }

    fn rationed(&self, policy: impl Policy + 'static, ration: Option<Ration>) -> Result<Box<dyn Policy>, PolicyError> {
        let policy = Box::new(policy);
        match ration {
            Some(ration) => ration.around(policy, self.drives, self.kind),
            None => Ok(policy),
        }
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
