//! The event loop of one engine thread: issue what is due, end what took too long, wait, take the answers.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iojoule_record::clock;

use crate::LoadError;
use crate::config::Waiting;
use crate::connections::{After, Connections};
use crate::control::{Control, Wish};
use crate::epoll::{thread_cpu_ns, wake_exactly};
use crate::tally::Tally;

/// How long before a deadline `hybrid` stops sleeping: a sleeping thread wakes up to this much late.
const SPIN_NS: i64 = 80_000;
/// The loop turns at least this often, to notice a wish to end and to hand over records.
const TURN_NS: i64 = 50_000_000;
/// After this many answers the schedule is looked at again.
const ANSWERS: usize = 8;

/// Decides what is sent, when and on which connection.
pub(crate) trait Load {
    /// Issues what is due by `now`; returns when something will be due next.
    fn turn(&mut self, connections: &mut Connections, now: i64) -> Result<i64, LoadError>;
    /// A step on a connection has ended so.
    fn after(&mut self, connections: &mut Connections, after: After) -> Result<(), LoadError>;
    /// Nothing new shall become due.
    fn end(&mut self);
    /// Nothing will become due any more; requests may still wait for a connection.
    fn is_exhausted(&self) -> bool;
    /// Requests that are due and have no connection yet.
    fn waiting(&self) -> usize;
    /// Records the waiting requests as never sent.
    fn give_up(&mut self, connections: &mut Connections) -> Result<(), LoadError>;
}

/// How a loop waits and ends.
pub(crate) struct Terms<'a> {
    pub waiting: Waiting,
    /// From the instant nothing more becomes due to the end by force.
    pub drain_ns: i64,
    pub control: &'a Control,
    /// Set where another thread of the same load has failed.
    pub abort: &'a AtomicBool,
}

/// Runs `load` to its end and returns what it came to.
pub(crate) fn run(load: &mut impl Load, connections: &mut Connections, terms: &Terms<'_>) -> Result<Tally, LoadError> {
    wake_exactly();
    let cpu = thread_cpu_ns();
    let mut drained_by = i64::MAX;
    loop {
        let now = clock::now().0;
        let wish = terms.control.wish();
        if wish == Wish::Now || terms.abort.load(Relaxed) {
            break;
        }
        if wish == Wish::Finish {
            load.end();
        }
        let due = load.turn(connections, now)?;
        while let Some(after) = connections.expire(now)? {
            load.after(connections, after)?;
        }
        connections.publish()?;
        if load.is_exhausted() {
            if connections.in_flight == 0 && load.waiting() == 0 {
                break;
            }
            drained_by = drained_by.min(now + terms.drain_ns);
            if now >= drained_by {
                break;
            }
        }
        let others = connections.next_timer().min(drained_by);
        wait(load, connections, terms.waiting, due, others)?;
    }
    load.end();
    connections.stop()?;
    load.give_up(connections)?;
    connections.publish()?;
    let mut tally = std::mem::replace(&mut connections.tally, Tally::new());
    tally.cpu_ns = thread_cpu_ns() - cpu;
    tally.end_ns = clock::now().0;
    Ok(tally)
}

/// Waits for the network until `due`, as exactly as `waiting` says, or roughly until `others`.
fn wait(
    load: &mut impl Load,
    connections: &mut Connections,
    waiting: Waiting,
    due: i64,
    others: i64,
) -> Result<(), LoadError> {
    let now = clock::now().0;
    let due = match waiting {
        Waiting::Sleep => due,
        Waiting::Hybrid => due.saturating_sub(SPIN_NS),
        Waiting::Spin => now,
    };
    let ns = due.min(others).min(now + TURN_NS) - now;
    let events = connections.epoll.wait(ns).map_err(|source| LoadError::System { doing: "epoll_pwait2", source })?;
    for i in 0..events {
        let (token, flags) = connections.epoll.event(i);
        let after = connections.ready(token, flags)?;
        load.after(connections, after)?;
        if i % ANSWERS == ANSWERS - 1 {
            load.turn(connections, clock::now().0)?;
        }
    }
    Ok(())
}
