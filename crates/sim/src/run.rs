//! Tells the array the time. Simulated time goes from arrival to arrival, or from event to event where answers bring
//! requests; at one instant what the array has due comes first, then what arrives, in the source's order.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use iojoule_array::{Completion, Request};
use iojoule_units::{ModelNs, Nanos};

use crate::{SimError, Source};

/// What is told the time: the array. Its four words are all a run needs.
pub trait Machine {
    /// A request arrives; `now` was reached with [`Machine::advance`].
    fn submit(&mut self, now: ModelNs, request: Request);
    /// When something is due next, if no request comes.
    fn next_event(&self) -> Option<ModelNs>;
    /// Does all that is due up to `now`; what ends goes to `done`, in order.
    fn advance(&mut self, now: ModelNs, done: &mut Vec<Completion>);
    /// Requests submitted and not answered.
    fn outstanding(&self) -> u64;
}

/// Who hears of every completion, in order.
pub trait Listener<M> {
    /// A request has ended.
    fn completed(&mut self, completion: &Completion) -> Result<(), SimError>;

    /// Called now and then with the machine, for what it keeps until it is asked; `now` is reached.
    fn look(&mut self, _machine: &mut M) -> Result<(), SimError> {
        Ok(())
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// After this many requests.
    pub limit: Option<u64>,
    /// As soon as more than this many are outstanding: the array does not sustain the load.
    pub max_outstanding: Option<u64>,
    /// With the last arrival, leaving what is queued unanswered, as DiskSim does; otherwise with the last answer.
    pub at_last_arrival: bool,
    /// Not before this time: the array idles until then.
    pub not_before: Option<Nanos>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    pub submitted: u64,
    pub completed: u64,
    /// The instant at which the run ended.
    pub end: ModelNs,
    /// False where the run was given up because too many requests were outstanding.
    pub sustained: bool,
    /// The most requests that were outstanding at once.
    pub most_outstanding: u64,
}

/// The way in from outside: what a run has reached, and a request to stop it. Any thread may use it.
#[derive(Debug, Default)]
pub struct Control {
    pub requests: AtomicU64,
    pub simulated_ns: AtomicI64,
    pub stop: AtomicBool,
}

/// Steps between two looks at [`Control`] and of the listener at the machine.
const LOOK_EVERY: u32 = 4096;

/// Runs `machine` on what `source` brings until it ends.
pub fn run<M, S, L>(
    machine: &mut M,
    source: &mut S,
    ending: &Ending,
    listener: &mut L,
    stop: &AtomicBool,
    control: &Control,
) -> Result<Ran, SimError>
where
    M: Machine,
    S: Source,
    L: Listener<M>,
{
    let step_by_step = source.waits_for_answers();
    let mut done = Vec::new();
    let mut ran = Ran { submitted: 0, completed: 0, end: ModelNs::ZERO, sustained: true, most_outstanding: 0 };
    let mut steps = 0_u32;
    loop {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(LOOK_EVERY) {
            control.requests.store(ran.completed, Relaxed);
            control.simulated_ns.store(ran.end.0, Relaxed);
            if stop.load(Relaxed) || control.stop.load(Relaxed) {
                return Err(SimError::Interrupted);
            }
            listener.look(machine)?;
        }
        let arrival = if ending.limit == Some(ran.submitted) { None } else { source.next_at()? };
        let (at, arrives) = match (arrival, machine.next_event()) {
            (Some(at), Some(event)) if step_by_step && event < at => (event, false),
            (Some(at), _) => (at, true),
            (None, _) if machine.outstanding() == 0 || (ending.at_last_arrival && !step_by_step) => break,
            (None, Some(event)) => (event, false),
            (None, None) => return Err(SimError::Internal("the array holds requests and expects no event".into())),
        };
        ran.end = at;
        machine.advance(at, &mut done);
        deliver(&mut done, source, listener, &mut ran)?;
        if !arrives {
            continue;
        }
        if let Some(request) = source.take() {
            machine.submit(at, Request { id: ran.submitted, ..request });
            ran.submitted += 1;
            let outstanding = machine.outstanding();
            ran.most_outstanding = ran.most_outstanding.max(outstanding);
            if ending.max_outstanding.is_some_and(|most| outstanding > most) {
                ran.sustained = false;
                break;
            }
        }
    }
    if let Some(until) = ending.not_before.map(|nanos| ModelNs::ZERO + nanos).filter(|until| *until > ran.end) {
        machine.advance(until, &mut done);
        deliver(&mut done, source, listener, &mut ran)?;
        ran.end = until;
    }
    control.requests.store(ran.completed, Relaxed);
    control.simulated_ns.store(ran.end.0, Relaxed);
    listener.look(machine)?;
    Ok(ran)
}

#[inline]
fn deliver<M, S, L>(done: &mut Vec<Completion>, source: &mut S, listener: &mut L, ran: &mut Ran) -> Result<(), SimError>
where
    S: Source,
    L: Listener<M>,
{
    for completion in done.drain(..) {
        ran.completed += 1;
        source.completed(&completion);
        listener.completed(&completion)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
