//! Arrivals and completions of Linux's block layer made into requests. A completion covers a range of sectors: requests
//! that were merged complete together, one that was split completes when all of it has. Bounded: a request whose
//! completion has not come when [`LIMIT`] younger ones wait behind it leaves without a response.

use std::collections::{BTreeMap, VecDeque};

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::Record;

/// More than any queue below a block device holds.
const LIMIT: usize = 8 * 1024;

#[derive(Default)]
pub(crate) struct Pairing {
    /// In order of arrival; `first` is the number of its front.
    waiting: VecDeque<Waiting>,
    first: u64,
    /// What is not complete, by where it starts: device, operation, byte, number.
    open: BTreeMap<(u32, u8, u64, u64), ()>,
    longest: u64,
    unanswered: u64,
}

struct Waiting {
    record: Record,
    /// Bytes not yet complete.
    left: u64,
    done: bool,
}

impl Pairing {
    /// A request came.
    pub fn queued(&mut self, record: Record) {
        let number = self.requests();
        self.open.insert((record.device, record.op as u8, record.offset, number), ());
        self.longest = self.longest.max(record.bytes);
        self.waiting.push_back(Waiting { record, left: record.bytes, done: false });
    }

    /// `bytes` from `offset` are complete.
    pub fn completed(&mut self, at: Nanos, device: u32, op: Op, offset: u64, bytes: u64) {
        let end = offset.saturating_add(bytes.max(1));
        let from = (device, op as u8, offset.saturating_sub(self.longest), 0);
        let mut done = Vec::new();
        for (&(_, _, start, number), ()) in self.open.range(from..(device, op as u8, end, 0)) {
            let waiting = &mut self.waiting[(number - self.first) as usize];
            if waiting.record.at > at {
                continue;
            }
            let stop = start.saturating_add(waiting.record.bytes);
            let shared = stop.min(end).saturating_sub(start.max(offset));
            if shared == 0 && !(waiting.record.bytes == 0 && start >= offset) {
                continue;
            }
            waiting.left = waiting.left.saturating_sub(shared);
            if waiting.left == 0 {
                waiting.done = true;
                waiting.record.response = Some(at - waiting.record.at);
                done.push((device, op as u8, start, number));
            }
        }
        for key in done {
            self.open.remove(&key);
        }
    }

    /// The oldest request, once it is complete or can wait no longer; all are where `ended`.
    pub fn pop(&mut self, ended: bool) -> Option<Record> {
        let front = self.waiting.front()?;
        if !front.done && !ended && self.waiting.len() <= LIMIT {
            return None;
        }
        let Waiting { record, done, .. } = self.waiting.pop_front()?;
        if !done {
            self.unanswered += 1;
            self.open.remove(&(record.device, record.op as u8, record.offset, self.first));
        }
        self.first += 1;
        Some(record)
    }

    /// How many have come.
    pub fn requests(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }

    pub fn remarks(&self) -> Vec<String> {
        let (unanswered, requests) = (self.unanswered, self.requests());
        let said = format!("{unanswered} of {requests} requests have no completion in the trace: no response time");
        (self.unanswered > 0).then_some(said).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at: i64, offset: u64, bytes: u64) -> Record {
        let op = Op::Write;
        Record { at: Nanos(at), device: 0, op, offset, bytes, asynchronous: None, response: None }
    }

    fn responses(pairing: &mut Pairing) -> Vec<Option<i64>> {
        std::iter::from_fn(|| pairing.pop(true)).map(|r| r.response.map(|r| r.0)).collect()
    }

    #[test]
    fn merged_requests_complete_together() {
        let mut pairing = Pairing::default();
        pairing.queued(request(0, 4096, 4096));
        pairing.queued(request(10, 0, 4096));
        pairing.completed(Nanos(100), 0, Op::Write, 0, 8192);
        assert_eq!(responses(&mut pairing), [Some(100), Some(90)]);
    }

    #[test]
    fn a_split_request_completes_with_its_last_part() {
        let mut pairing = Pairing::default();
        pairing.queued(request(0, 0, 8192));
        pairing.completed(Nanos(50), 0, Op::Write, 4096, 4096);
        assert!(pairing.pop(false).is_none());
        pairing.completed(Nanos(70), 0, Op::Write, 0, 4096);
        assert_eq!(responses(&mut pairing), [Some(70)]);
    }

    #[test]
    fn a_completion_of_another_device_direction_or_place_answers_nothing() {
        let mut pairing = Pairing::default();
        pairing.queued(request(0, 4096, 4096));
        pairing.completed(Nanos(1), 1, Op::Write, 4096, 4096);
        pairing.completed(Nanos(1), 0, Op::Read, 4096, 4096);
        pairing.completed(Nanos(1), 0, Op::Write, 0, 4096);
        pairing.completed(Nanos(1), 0, Op::Write, 8192, 4096);
        assert_eq!(responses(&mut pairing), [None]);
        assert_eq!(pairing.remarks().len(), 1);
    }

    #[test]
    fn what_never_completes_does_not_hold_the_others_for_ever() {
        let mut pairing = Pairing::default();
        pairing.queued(request(0, 0, 512));
        for i in 1..=LIMIT as i64 {
            pairing.queued(request(i, 1 << 20, 512));
            pairing.completed(Nanos(i), 0, Op::Write, 1 << 20, 512);
        }
        assert_eq!(pairing.pop(false).map(|r| r.response), Some(None));
        assert_eq!(pairing.pop(false).map(|r| r.response), Some(Some(Nanos(0))));
    }
}
