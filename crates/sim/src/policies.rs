//! The policy of a run, and beside it the oracle: what the same drives would have drawn had they known the future.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iojoule_array::policy::{Observer, Policy, PolicyConfig, Witness};
use iojoule_array::{Array, ArrayConfig, Completion, Report};
use iojoule_disk::{DriveSpec, Model};
use serde::Serialize;

use crate::{Control, Ending, Listener, Ran, SimError, Source, run};

/// Makes the policies that are not built in.
pub trait Policies: Sync {
    /// The policy that `config` names, for drives of this kind.
    fn make(&self, config: &PolicyConfig, drive: &DriveSpec) -> Result<Box<dyn Policy>, SimError>;
}

/// There are none but those.
pub struct BuiltIn;

impl Policies for BuiltIn {
    fn make(&self, config: &PolicyConfig, _drive: &DriveSpec) -> Result<Box<dyn Policy>, SimError> {
        Err(SimError::Config(format!("policy {}: it needs an interpreter, and this run has none", config.kind())))
    }
}

/// The policy a configuration names; where it does nothing, with a witness for the oracle if `watched`.
pub(crate) fn policy(
    config: &ArrayConfig,
    drive: &DriveSpec,
    policies: &dyn Policies,
    watched: bool,
) -> Result<(Box<dyn Policy>, Option<Witness>), SimError> {
    let policy = match &config.policy {
        PolicyConfig::Never if watched && let Ok(figures) = drive.power.standby() => {
            let (observer, witness) = Observer::new(config.drives, figures);
            return Ok((Box::new(observer), Some(witness)));
        }
        python @ PolicyConfig::Python { .. } => {
            let made = policies.make(python, drive)?;
            python.around(made, config.drives).map_err(SimError::config)
        }
        built_in => built_in.build(config.drives, drive).map_err(SimError::config),
    };
    policy.map(|policy| (policy, None))
}

/// A run is refused when its policy has failed: what came after is not the policy's doing.
pub(crate) fn sound(array: &Array) -> Result<(), SimError> {
    array.policy_failure().map_or(Ok(()), |why| Err(SimError::Config(why.to_owned())))
}

/// The lower bound of a run's energy: that of the same run with drives that always spin, less what they would have
/// saved had they known when the next request comes and been back in time for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Oracle {
    pub energy_j: f64,
    /// The run's energy over the oracle's. Below 1 is possible: a policy that delays requests or moves data, as the
    /// oracle does not, may make idle periods longer.
    pub ratio: Option<f64>,
    /// Of the run in which the drives always spin.
    pub always_on_j: f64,
}

/// The oracle of a run in which the drives always spun, by what was seen of it.
pub(crate) fn oracle_of(ran: &Ran, report: &Report, witness: &Witness, drive: &DriveSpec) -> Option<Oracle> {
    let always_on_j = energy(report, drive)?;
    Some(Oracle { energy_j: always_on_j - witness.saved(ran.end).0, ratio: None, always_on_j })
}

/// The oracle of a run with another policy: runs the load again with drives that always spin. `None` where what resting
/// costs the drive is not known.
pub(crate) fn oracle(
    config: &ArrayConfig,
    model: &Arc<Model>,
    source: impl FnOnce(u64) -> Result<Box<dyn Source>, SimError>,
    ending: &Ending,
    stop: &AtomicBool,
) -> Result<Option<Oracle>, SimError> {
    let Ok(figures) = model.spec().power.standby() else { return Ok(None) };
    let (observer, witness) = Observer::new(config.drives, figures);
    let mut array = Array::with_policy(config, model, Box::new(observer)).map_err(SimError::config)?;
    let mut source = source(array.capacity())?;
    let ran = run(&mut array, &mut source, ending, &mut Nobody, stop, &Control::default())?;
    Ok(oracle_of(&ran, &array.finish(ran.end), &witness, model.spec()))
}

fn energy(report: &Report, drive: &DriveSpec) -> Option<f64> {
    report.drives.iter().map(|did| drive.energy(&did.ledger).ok().map(|joules| joules.0)).sum()
}

struct Nobody;

impl Listener<Array> for Nobody {
    fn completed(&mut self, _: &Completion) -> Result<(), SimError> {
        Ok(())
    }
}
