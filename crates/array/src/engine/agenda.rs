//! What happens next. The whole determinism of the array is the key of this queue: (time, priority, sequence).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use iojoule_units::ModelNs;

/// An event, in the order in which events of one instant come: what ends frees what begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A drive fails or is replaced.
    Fault { index: u32 },
    /// A command ends.
    Done { command: u32 },
    /// A request ends without a command's end: the memory cache, a constant overhead, data that are lost.
    Answer { job: u32 },
    /// A drive takes its next command: it is free, or it spins.
    Ready { drive: u16 },
    /// A drive has perhaps been without requests for the configured delay.
    Rested { drive: u16 },
    /// The policy's timer for a drive.
    Timer { drive: u16, tag: u32 },
    /// A window of utilisation ends.
    Window,
    /// The memory cache writes what it holds back.
    Flush,
}

impl Event {
    fn priority(self) -> u8 {
        match self {
            Event::Fault { .. } => 0,
            Event::Done { .. } => 1,
            Event::Answer { .. } => 2,
            Event::Ready { .. } => 3,
            Event::Rested { .. } => 4,
            Event::Timer { .. } => 5,
            Event::Window => 6,
            Event::Flush => 7,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: ModelNs,
    /// Priority in the top byte, sequence below it.
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Reversed: the standard heap gives its greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

#[derive(Debug, Default)]
pub(super) struct Agenda {
    heap: BinaryHeap<Entry>,
    sequence: u64,
}

impl Agenda {
    pub fn push(&mut self, at: ModelNs, event: Event) {
        self.sequence += 1;
        let order = u64::from(event.priority()) << 56 | self.sequence;
        self.heap.push(Entry { at, order, event });
    }

    pub fn next_time(&self) -> Option<ModelNs> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// The next event due at or before `now`.
    pub fn pop(&mut self, now: ModelNs) -> Option<(ModelNs, Event)> {
        if self.heap.peek()?.at > now {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_come_by_priority_then_in_the_order_they_were_told() {
        let mut agenda = Agenda::default();
        let at = ModelNs(5);
        agenda.push(at, Event::Ready { drive: 1 });
        agenda.push(at, Event::Done { command: 7 });
        agenda.push(at, Event::Done { command: 3 });
        agenda.push(ModelNs(4), Event::Window);
        let mut order = Vec::new();
        while let Some((_, event)) = agenda.pop(at) {
            order.push(event);
        }
        let expected =
            [Event::Window, Event::Done { command: 7 }, Event::Done { command: 3 }, Event::Ready { drive: 1 }];
        assert_eq!(order, expected);
        assert_eq!(agenda.next_time(), None);
    }
}
