//! The runner against a machine whose answers can be worked out by hand: one server, a fixed service time.

use std::collections::VecDeque;

use iojoule_record::Op;
use iojoule_trace::block::Record;

use super::*;
use crate::source::{Closed, Devices, Fit, Open, Paced, Place};

/// One server, first come first served.
struct OneServer {
    service: Nanos,
    queue: VecDeque<(ModelNs, Request)>,
    busy_until: Option<(ModelNs, Completion)>,
}

impl OneServer {
    fn new(service: i64) -> Self {
        Self { service: Nanos(service), queue: VecDeque::new(), busy_until: None }
    }

    fn start(&mut self, now: ModelNs) {
        if let (None, Some((arrived, request))) = (&self.busy_until, self.queue.pop_front()) {
            let done = now + self.service;
            self.busy_until = Some((done, Completion { request, arrived, started: now, done, served: true }));
        }
    }
}

impl Machine for OneServer {
    fn submit(&mut self, now: ModelNs, request: Request) {
        self.queue.push_back((now, request));
        if self.busy_until.is_none() {
            self.start(now);
        }
    }

    fn next_event(&self) -> Option<ModelNs> {
        self.busy_until.as_ref().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: ModelNs, done: &mut Vec<Completion>) {
        while let Some((at, completion)) = self.busy_until.take_if(|(at, _)| *at <= now) {
            done.push(completion);
            self.start(at);
        }
    }

    fn outstanding(&self) -> u64 {
        self.queue.len() as u64 + u64::from(self.busy_until.is_some())
    }
}

#[derive(Default)]
struct Heard(Vec<Completion>);

impl<M> Listener<M> for Heard {
    fn completed(&mut self, completion: &Completion) -> Result<(), SimError> {
        self.0.push(*completion);
        Ok(())
    }
}

fn records(times: &[i64], response: Option<i64>) -> Vec<Result<Record, SimError>> {
    let record = |&at: &i64| {
        let response = response.map(Nanos);
        Ok(Record { at: Nanos(at), device: 0, op: Op::Read, offset: 0, bytes: 512, asynchronous: None, response })
    };
    times.iter().map(record).collect()
}

fn place() -> Place {
    Place::new(Devices::One, Fit::Refuse, 100, None).unwrap()
}

fn ran<S: Source>(service: i64, mut source: S, ending: &Ending) -> (Ran, Vec<i64>) {
    let mut heard = Heard::default();
    let mut server = OneServer::new(service);
    let control = Control::default();
    let ran = run(&mut server, &mut source, ending, &mut heard, &AtomicBool::new(false), &control).unwrap();
    (ran, heard.0.iter().map(|c| c.done.0).collect())
}

#[test]
fn open_arrivals_come_at_their_times_however_late_the_server_is() {
    let source = Open::new(records(&[0, 10, 20, 500], None).into_iter(), place(), 1.0).unwrap();
    let (ran, done) = ran(100, source, &Ending::default());
    assert_eq!(done, [100, 200, 300, 600]);
    assert_eq!((ran.submitted, ran.completed, ran.end, ran.most_outstanding), (4, 4, ModelNs(600), 3));
}

#[test]
fn twice_the_speed_is_half_the_time_between_arrivals() {
    let source = Open::new(records(&[0, 1000], None).into_iter(), place(), 2.0).unwrap();
    assert_eq!(ran(100, source, &Ending::default()).1, [100, 600]);
}

#[test]
fn a_closed_loop_keeps_its_number_outstanding() {
    let source = Closed::new(records(&[0; 10], None).into_iter(), place(), 3, Nanos::ZERO).unwrap();
    let (ran, done) = ran(100, source, &Ending::default());
    assert_eq!(done, (1..=10).map(|n| n * 100).collect::<Vec<_>>());
    assert_eq!(ran.most_outstanding, 3);
}

#[test]
fn a_paced_request_waits_as_long_after_an_answer_as_it_was_measured() {
    // Measured: answers at 50 and 250, so pauses of 150 and 50; the simulated server takes 100.
    let source = Paced::new(records(&[0, 200, 300], Some(50)).into_iter(), place());
    assert_eq!(ran(100, source, &Ending::default()).1, [100, 350, 500]);
}

#[test]
fn a_load_that_is_not_sustained_is_given_up_and_said_to_be() {
    let times: Vec<i64> = (0..1000).collect();
    let source = Open::new(records(&times, None).into_iter(), place(), 1.0).unwrap();
    let (ran, _) = ran(100, source, &Ending { max_outstanding: Some(20), ..Ending::default() });
    assert!(!ran.sustained);
    assert_eq!(ran.most_outstanding, 21);
}

#[test]
fn a_run_that_ends_with_the_last_arrival_leaves_what_is_queued() {
    let source = Open::new(records(&[0, 10, 150], None).into_iter(), place(), 1.0).unwrap();
    let (ran, done) = ran(100, source, &Ending { at_last_arrival: true, ..Ending::default() });
    assert_eq!((done, ran.end), (vec![100], ModelNs(150)));
}

#[test]
fn a_limit_is_a_number_of_requests_and_a_horizon_an_idle_end() {
    let source = Open::new(records(&[0, 10, 20], None).into_iter(), place(), 1.0).unwrap();
    let ending = Ending { limit: Some(2), not_before: Some(Nanos(5000)), ..Ending::default() };
    let (ran, done) = ran(100, source, &ending);
    assert_eq!((done, ran.end), (vec![100, 200], ModelNs(5000)));
}

#[test]
fn an_empty_trace_is_a_run_of_no_requests() {
    let source = Open::new(records(&[], None).into_iter(), place(), 1.0).unwrap();
    let (ran, done) = ran(100, source, &Ending::default());
    assert_eq!((ran.submitted, ran.end, done.len()), (0, ModelNs::ZERO, 0));
}
