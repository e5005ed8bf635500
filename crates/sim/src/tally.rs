//! Sums up completions: response, service and queue time, reads and writes apart. Response = queue + service; service
//! begins with the first command of the request that a drive begins.

use iojoule_array::Completion;
use iojoule_disk::Op;
use iojoule_units::{ModelNs, Nanos};
use serde::{Deserialize, Serialize};

use crate::Distribution;

/// Which requests the reported times are of. All are simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reported {
    #[default]
    All,
    /// All but writes their issuer did not wait for, as in Yu et al. (OSDI 2000), §4.1.
    Sync,
}

/// The three times of one kind of request.
#[derive(Default)]
pub struct Times {
    pub response: Distribution,
    pub service: Distribution,
    pub queue: Distribution,
}

impl Times {
    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.queue.merge(&other.queue);
    }
}

/// The sum over one run.
pub struct Tally {
    reported: Reported,
    /// Requests that arrived before this time are not reported.
    from: ModelNs,
    pub reads: Times,
    pub writes: Times,
    /// Requests left out of the times: too early, or asynchronous.
    pub left_out: u64,
    /// Requests whose data are lost.
    pub lost: u64,
    pub bytes: u64,
}

impl Tally {
    pub fn new(reported: Reported, warmup: Nanos) -> Self {
        let (reads, writes) = (Times::default(), Times::default());
        Self { reported, from: ModelNs::ZERO + warmup, reads, writes, left_out: 0, lost: 0, bytes: 0 }
    }

    /// Whether the times of this request are reported.
    #[inline]
    pub fn counts(&self, completion: &Completion) -> bool {
        let request = &completion.request;
        let unwaited = self.reported == Reported::Sync && request.asynchronous && request.op == Op::Write;
        completion.served && completion.arrived >= self.from && !unwaited
    }

    /// Counts a request that has ended.
    #[inline]
    pub fn add(&mut self, completion: &Completion) {
        self.bytes += u64::from(completion.request.sectors) * iojoule_units::SECTOR;
        if !completion.served {
            self.lost += 1;
        } else if !self.counts(completion) {
            self.left_out += 1;
        } else {
            let times = if completion.request.op == Op::Read { &mut self.reads } else { &mut self.writes };
            times.response.add(completion.done - completion.arrived);
            times.service.add(completion.done - completion.started);
            times.queue.add(completion.started - completion.arrived);
        }
    }

    /// Reads and writes together.
    pub fn all(&self) -> Times {
        let mut all = Times::default();
        all.merge(&self.reads);
        all.merge(&self.writes);
        all
    }
}
