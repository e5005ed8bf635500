//! The array as its driver sees it: requests in, events, completions out.

use std::sync::Arc;

use iojoule_disk::{Drive, Model};
use iojoule_units::{ModelNs, Nanos};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::{ArrayConfig, OverheadAt, Phase};
use crate::engine::{Engine, Settings};
use crate::policy::{Policy, PolicyConfig};
use crate::{ArrayError, Completion, Report, Request};

/// Many drives as one. A state machine: its driver tells it the time, which never goes back.
pub struct Array {
    engine: Engine,
}

impl Array {
    /// An array of drives of one kind, spinning and empty of work at time 0.
    ///
    /// # Errors
    /// Where the description does not make an array of these drives.
    pub fn new(config: &ArrayConfig, model: &Arc<Model>) -> Result<Self, ArrayError> {
        let policy = config.policy.build(config.drives, model.spec())?;
        Self::with_policy(config, model, policy)
    }

    /// As [`new`](Self::new), with a policy that was made elsewhere.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_policy(config: &ArrayConfig, model: &Arc<Model>, policy: Box<dyn Policy>) -> Result<Self, ArrayError> {
        check(config)?;
        let mut layout = config.layout.build(config.drives, config.stripe_unit, model)?;
        if matches!(config.policy, PolicyConfig::Gears { .. }) && layout.geared().is_none() {
            return Err(ArrayError::NoGears { layout: config.layout.kind() });
        }
        let settings = Settings::new(config);
        let drives = phases(config, model).map(|phase| Drive::new(Arc::clone(model), phase)).collect();
        let mut engine = Engine::new(settings, layout, drives);
        if let Some(cache) = config.cache {
            engine.remember_blocks(cache);
        }
        engine.obey_policy(policy);
        engine.expect_faults(&config.faults);
        Ok(Self { engine })
    }

    /// Sectors the array offers.
    pub fn capacity(&self) -> u64 {
        self.engine.capacity()
    }

    /// A request comes. What was due at or before `now` has been done ([`advance`](Self::advance)); the request lies within
    /// the capacity.
    pub fn submit(&mut self, now: ModelNs, request: Request) {
        self.engine.submit(now, request);
    }

    /// When something happens next of its own.
    pub fn next_event(&self) -> Option<ModelNs> {
        self.engine.next_event()
    }

    /// Does everything due at or before `now`, in the order (time, priority, sequence), and adds what ended to `done`.
    pub fn advance(&mut self, now: ModelNs, done: &mut Vec<Completion>) {
        self.engine.advance(now, done);
    }

    /// Requests submitted and not completed.
    pub fn outstanding(&self) -> u64 {
        self.engine.outstanding()
    }

    /// Books all time up to `now` and says where it went.
    pub fn finish(&mut self, now: ModelNs) -> Report {
        self.engine.finish(now)
    }

    /// Why the policy can decide no more, where it cannot.
    pub fn policy_failure(&self) -> Option<&str> {
        self.engine.policy_failure()
    }

    /// The drives, in order: for their timelines ([`Drive::watch`], [`Drive::drain_spans`]).
    pub fn drives(&mut self) -> impl Iterator<Item = &mut Drive> {
        self.engine.drives()
    }
}

fn check(config: &ArrayConfig) -> Result<(), ArrayError> {
    let refuse = |key, reason: &str| Err(ArrayError::Config { key, reason: reason.into() });
    if config.drives == 0 {
        return refuse("drives", "an array has at least one drive");
    }
    if config.overhead_ns < 0 || config.idle_delay_ns < 0 || config.age_limit_ns.is_some_and(|limit| limit < 0) {
        return refuse("overhead_ns", "times are not negative");
    }
    for (key, step) in [("rebuild", &config.rebuild), ("sync", &config.sync)] {
        if step.outstanding == 0 || !(0.0..=1.0).contains(&step.share) {
            return refuse(key, "at least one outstanding step, and a share from 0 to 1");
        }
    }
    if config.cache.is_some_and(|cache| cache.block == 0 || cache.hit_ns < 0 || cache.flush_ns.is_some_and(|t| t <= 0))
    {
        return refuse(
            "cache",
            "a block has at least one sector, times are not negative, an interval is longer than 0",
        );
    }
    for fault in &config.faults {
        if fault.drive >= config.drives || fault.at_ns < 0 {
            return refuse("faults", "a fault comes to one of the drives, at a time from 0 on");
        }
    }
    Ok(())
}

/// The angles at which the spindles begin.
fn phases(config: &ArrayConfig, model: &Model) -> impl Iterator<Item = Nanos> {
    let rotation = model.rotation().map_or(0, |rotation| rotation.0.max(0) as u64);
    let drawn = config.phase == Phase::Random && rotation > 0;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(config.seed);
    (0..config.drives).map(move |_| if drawn { Nanos((random.next_u64() % rotation) as i64) } else { Nanos::ZERO })
}

impl Settings {
    fn new(config: &ArrayConfig) -> Self {
        let overhead = Nanos(config.overhead_ns);
        let (answer_overhead, command_overhead) = match config.overhead_at {
            OverheadAt::Response => (overhead, Nanos::ZERO),
            OverheadAt::Drive => (Nanos::ZERO, overhead),
        };
        Self {
            scheduler: config.scheduler,
            age_limit: config.age_limit_ns.map(Nanos),
            read_choice: config.read_choice,
            propagation: config.propagation,
            nvram_entries: config.nvram_entries,
            idle_delay: Nanos(config.idle_delay_ns),
            answer_overhead,
            command_overhead,
            rebuild: config.rebuild,
            sync: config.sync,
        }
    }
}
