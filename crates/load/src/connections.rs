//! The connections of one engine thread: opens them, sends requests, reads answers, and records every request once
//! it is over. Which request goes on which connection is decided elsewhere; this room only says [`After`] each step
//! what has become of the connection.

mod exchange;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iojoule_record::{ErrorClass, Lane, Live, Op, RecordError, Request, clock};

use crate::LoadError;
use crate::connection::{Connection, State};
use crate::epoll::Epoll;
use crate::socket::Dialler;
use crate::tally::Tally;
use crate::tls::{TlsStarter, Transport};
use crate::wire::Order;

/// One read takes up to this many bytes; a body with more to come is discarded in the kernel.
const BUFFER: usize = 64 * 1024;
/// How long, and how many at once, answered connections wait for the server to close.
const LINGER_NS: i64 = 1_000_000_000;
pub(crate) const MAX_LINGERING: usize = 512;

/// What has become of a connection after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It goes on.
    Busy,
    /// Its request is over and it can carry another.
    Idle(usize),
    /// It is closed, and its request, if it had one, is over; `refused` where the server does not talk to us.
    Gone { client: u32, refused: bool },
}

/// What all connections of a load have in common.
#[derive(Clone)]
pub(crate) struct Dialling {
    pub to: SocketAddr,
    pub tls: Option<TlsStarter>,
    pub timeout_ns: i64,
    pub keep_alive_ns: i64,
    /// False: each connection carries one request.
    pub reuse: bool,
}

pub(crate) struct Connections {
    pub epoll: Epoll,
    pub tally: Tally,
    /// Connections that are neither free nor lingering.
    pub open: usize,
    pub in_flight: usize,
    dialling: Dialling,
    dialler: Dialler,
    places: Vec<Connection>,
    free: Vec<usize>,
    /// Idle connections, longest idle first.
    idle: BTreeSet<(i64, usize)>,
    timers: BinaryHeap<Reverse<(i64, usize)>>,
    lingering: VecDeque<(usize, u32)>,
    buffer: Box<[u8]>,
    lane: Lane,
    live: Arc<Live>,
    unpublished: Unpublished,
    streams: StreamNumbers,
}

/// Numbers of connections are unique over all threads: thread `t` of `n` counts `t, t + n, t + 2n, …`.
pub(crate) struct StreamNumbers {
    pub next: u32,
    pub step: u32,
}

/// Live figures of one turn of the loop, told to the outside at its end.
#[derive(Default)]
struct Unpublished {
    issued: u64,
    done: u64,
    errors: u64,
    bytes: u64,
    in_flight: usize,
}

impl Connections {
    pub fn new(dialling: Dialling, lane: Lane, live: Arc<Live>, streams: StreamNumbers) -> Result<Self, LoadError> {
        Ok(Self {
            epoll: Epoll::new()?,
            tally: Tally::new(),
            open: 0,
            in_flight: 0,
            dialler: Dialler::new(dialling.to),
            dialling,
            places: Vec::new(),
            free: Vec::new(),
            idle: BTreeSet::new(),
            timers: BinaryHeap::new(),
            lingering: VecDeque::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            lane,
            live,
            unpublished: Unpublished::default(),
            streams,
        })
    }

    /// Opens a connection for `order` and sends it as soon as it can be; says where it is kept.
    pub fn open(&mut self, order: Order) -> Result<(usize, After), RecordError> {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(Connection::free());
            self.places.len() - 1
        });
        self.open += 1;
        self.tally.max_open = self.tally.max_open.max(self.open as u64);
        self.issue(slot, order);
        Ok((slot, self.dial(slot)?))
    }

    /// Sends `order` on an idle connection.
    pub fn send(&mut self, slot: usize, order: Order) -> Result<After, RecordError> {
        let connection = &mut self.places[slot];
        debug_assert_eq!(connection.state, State::Idle);
        if connection.idle_since_ns != i64::MIN {
            self.idle.remove(&(connection.idle_since_ns, slot));
        }
        connection.state = State::Busy;
        self.issue(slot, order);
        self.write(slot)
    }

    /// A connection that has just become idle stays so until it is needed, or for the keep-alive limit.
    pub fn rest(&mut self, slot: usize) {
        let connection = &mut self.places[slot];
        debug_assert_eq!(connection.state, State::Idle);
        connection.idle_since_ns = clock::now().0;
        self.idle.insert((connection.idle_since_ns, slot));
        let until = connection.idle_since_ns + self.dialling.keep_alive_ns;
        self.set_timer(slot, until);
    }

    /// The connection that was used last, for it is the likeliest to be open still.
    pub fn warmest_idle(&self) -> Option<usize> {
        self.idle.last().map(|(_, slot)| *slot)
    }

    /// Closes the connection that has been idle longest and says whose it was.
    pub fn close_longest_idle(&mut self) -> Option<u32> {
        let (_, slot) = *self.idle.first()?;
        let client = self.places[slot].client;
        self.close(slot);
        Some(client)
    }

    /// Whose connection it is, where clients have their own.
    pub fn client(&self, slot: usize) -> u32 {
        self.places[slot].client
    }

    /// Records an order that never reached a connection.
    pub fn give_up(&mut self, order: &Order, error: ErrorClass) -> Result<(), RecordError> {
        let now = clock::now().0;
        let row = order.row();
        self.record(
            Request {
                seq: order.seq,
                planned_ns: order.planned_ns,
                issued_ns: now,
                first_byte_ns: Request::NEVER,
                done_ns: now,
                offset: 0,
                bytes: 0,
                object: row.object,
                stream: 0,
                status: 0,
                phase: order.phase,
                op: row.op,
                error,
            },
            false,
        )
    }

    /// The next instant at which [`expire`](Self::expire) has something to do; it may come early.
    pub fn next_timer(&self) -> i64 {
        self.timers.peek().map_or(i64::MAX, |Reverse((at, _))| *at)
    }

    /// Ends one thing that has taken too long by `now`; to be called until it returns `None`.
    pub fn expire(&mut self, now: i64) -> Result<Option<After>, RecordError> {
        while let Some(&Reverse((at, slot))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let connection = &mut self.places[slot];
            if connection.timer_ns != at {
                continue;
            }
            connection.timer_ns = i64::MAX;
            if connection.deadline_ns > now {
                let deadline = connection.deadline_ns;
                if connection.state != State::Free {
                    self.set_timer(slot, deadline);
                }
                continue;
            }
            match connection.state {
                State::Free => {}
                State::Idle => return Ok(Some(self.close(slot))),
                State::Lingering => self.release(slot),
                State::Connecting | State::Busy => {
                    let opening = connection.is_opening();
                    let error = if opening { ErrorClass::Connect } else { ErrorClass::Timeout };
                    return self.fail(slot, error).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Records everything in flight as ended by us, and closes all connections.
    pub fn stop(&mut self) -> Result<(), RecordError> {
        for slot in 0..self.places.len() {
            match self.places[slot].state {
                State::Free => {}
                State::Lingering => self.release(slot),
                State::Idle => drop(self.close(slot)),
                State::Connecting | State::Busy => drop(self.over(slot, ErrorClass::ClientStop, false)?),
            }
        }
        Ok(())
    }

    /// Tells the outside what happened in this turn; hands over old records.
    pub fn publish(&mut self) -> Result<(), RecordError> {
        let news = std::mem::take(&mut self.unpublished);
        let add = |counter: &std::sync::atomic::AtomicU64, n: u64| {
            if n > 0 {
                counter.fetch_add(n, Relaxed);
            }
        };
        add(&self.live.issued, news.issued);
        add(&self.live.done, news.done);
        add(&self.live.errors, news.errors);
        add(&self.live.bytes, news.bytes);
        if self.in_flight != news.in_flight {
            let change = (self.in_flight as u64).wrapping_sub(news.in_flight as u64);
            self.live.in_flight.fetch_add(change, Relaxed);
        }
        self.unpublished.in_flight = self.in_flight;
        self.tally.ports_exhausted = self.dialler.ports_exhausted;
        self.lane.tick(clock::now())
    }

    fn issue(&mut self, slot: usize, order: Order) {
        let now = clock::now().0;
        let connection = &mut self.places[slot];
        connection.client = order.row().client;
        connection.response.expect(order.row().op == Op::Head);
        connection.order = Some(order);
        connection.sent = 0;
        connection.issued_ns = now;
        connection.first_byte_ns = Request::NEVER;
        self.in_flight += 1;
        self.tally.max_in_flight = self.tally.max_in_flight.max(self.in_flight as u64);
        self.unpublished.issued += 1;
        self.set_timer(slot, now + self.dialling.timeout_ns);
    }

    fn dial(&mut self, slot: usize) -> Result<After, RecordError> {
        let socket = self.dialler.dial();
        let connection = &mut self.places[slot];
        connection.generation = connection.generation.wrapping_add(1);
        connection.state = State::Connecting;
        connection.served = 0;
        connection.stream = self.streams.next;
        self.streams.next = self.streams.next.wrapping_add(self.streams.step);
        self.tally.connections_opened += 1;
        let token = (u64::from(connection.generation) << 32) | slot as u64;
        let transport = socket.and_then(|socket| {
            self.epoll.watch(&socket, token)?;
            Ok(match &self.dialling.tls {
                None => Transport::Plain(socket),
                Some(tls) => Transport::Tls(socket, tls.start()?),
            })
        });
        match transport {
            Err(_) => return self.fail(slot, ErrorClass::Connect),
            Ok(transport) => connection.transport = Some(transport),
        }
        // On a near network the connection stands already, and waiting for the event would cost a turn.
        self.write(slot)
    }

    fn record(&mut self, request: Request, issued: bool) -> Result<(), RecordError> {
        self.tally.add(&request, issued);
        self.unpublished.done += 1;
        self.unpublished.errors += u64::from(!request.succeeded());
        self.unpublished.bytes += request.bytes;
        self.lane.push(request)
    }

    /// Closes an idle connection.
    fn close(&mut self, slot: usize) -> After {
        let connection = &self.places[slot];
        let client = connection.client;
        self.idle.remove(&(connection.idle_since_ns, slot));
        self.open -= 1;
        self.release(slot);
        After::Gone { client, refused: false }
    }

    fn release(&mut self, slot: usize) {
        let connection = &mut self.places[slot];
        connection.transport = None;
        connection.state = State::Free;
        connection.generation = connection.generation.wrapping_add(1);
        connection.deadline_ns = i64::MAX;
        self.free.push(slot);
    }

    fn set_timer(&mut self, slot: usize, deadline_ns: i64) {
        let connection = &mut self.places[slot];
        connection.deadline_ns = deadline_ns;
        if deadline_ns < connection.timer_ns {
            connection.timer_ns = deadline_ns;
            self.timers.push(Reverse((deadline_ns, slot)));
        }
    }
}
