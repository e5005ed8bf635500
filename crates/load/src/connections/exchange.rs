//! What happens on one connection: the request goes out, the answer comes in, and each way this can end is a class of
//! error. Part of [`Connections`], whose places it works on.

use std::io::ErrorKind;

use iojoule_record::{ErrorClass, RecordError, Request, clock};

use super::{After, BUFFER, Connections, LINGER_NS, MAX_LINGERING};
use crate::connection::State;
use crate::epoll::{ENDED, READABLE, WRITABLE};
use crate::response::Progress;
use crate::socket;

/// Most bytes discarded in one call, so that one fast body does not hold up the others.
const DISCARD: u64 = 4 * 1024 * 1024;

impl Connections {
    /// What the kernel says of the connection behind `token`.
    pub fn ready(&mut self, token: u64, flags: u32) -> Result<After, RecordError> {
        let (slot, generation) = ((token & 0xffff_ffff) as usize, (token >> 32) as u32);
        let connection = &mut self.places[slot];
        if connection.generation != generation {
            return Ok(After::Busy);
        }
        match connection.state {
            State::Free => Ok(After::Busy),
            State::Lingering | State::Idle if flags & READABLE == 0 => Ok(After::Busy),
            State::Lingering => {
                if flags & ENDED != 0 {
                    self.release(slot);
                }
                Ok(After::Busy)
            }
            // The server closes, or talks out of turn; a TLS session ticket is neither.
            State::Idle => match connection.transport.as_mut().map(|t| t.read(&mut self.buffer)) {
                Some(Err(e)) if e.kind() == ErrorKind::WouldBlock => Ok(After::Busy),
                _ => Ok(self.close(slot)),
            },
            State::Connecting => {
                if flags & ENDED != 0 && connection.socket_failed() {
                    return self.fail(slot, ErrorClass::Connect);
                }
                if flags & WRITABLE == 0 {
                    return Ok(After::Busy);
                }
                connection.state = State::Busy;
                match self.write(slot)? {
                    After::Busy if flags & READABLE != 0 => self.read(slot, flags),
                    after => Ok(after),
                }
            }
            State::Busy => {
                if flags & WRITABLE != 0 && connection.is_unsent() {
                    let after = self.write(slot)?;
                    if after != After::Busy {
                        return Ok(after);
                    }
                }
                if flags & READABLE != 0 { self.read(slot, flags) } else { Ok(After::Busy) }
            }
        }
    }

    pub(super) fn write(&mut self, slot: usize) -> Result<After, RecordError> {
        let connection = &mut self.places[slot];
        let (Some(transport), Some(order)) = (&mut connection.transport, &connection.order) else {
            return Ok(After::Busy);
        };
        let bytes = order.bytes();
        while connection.sent < bytes.len() {
            match transport.write(&bytes[connection.sent..]) {
                Ok(n) => {
                    connection.sent += n;
                    connection.state = State::Busy;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(After::Busy),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) if connection.is_opening() => return self.fail(slot, ErrorClass::Connect),
                Err(_) => return self.fail(slot, ErrorClass::Reset),
            }
        }
        match transport.flush() {
            Err(_) if connection.is_opening() => self.fail(slot, ErrorClass::Connect),
            Err(_) => self.fail(slot, ErrorClass::Reset),
            Ok(()) => Ok(After::Busy),
        }
    }

    fn read(&mut self, slot: usize, flags: u32) -> Result<After, RecordError> {
        let after = self.receive(slot, flags)?;
        // The server's close may have come with the answer: there will be no second event for it.
        if flags & ENDED != 0 && self.places[slot].state == State::Lingering {
            self.release(slot);
        }
        Ok(after)
    }

    fn receive(&mut self, slot: usize, flags: u32) -> Result<After, RecordError> {
        let connection = &mut self.places[slot];
        let Some(transport) = &mut connection.transport else { return Ok(After::Busy) };
        loop {
            let certain = connection.response.certain();
            // Content is counted, not looked at: what does not fit one read need not be copied either.
            let (n, progress) = if certain > BUFFER as u64 && transport.is_plain() {
                let n = socket::discard(transport.socket(), certain.min(DISCARD) as usize);
                (n, None)
            } else {
                (transport.read(&mut self.buffer), Some(()))
            };
            match n {
                Ok(0) => {
                    let error = match (connection.response.closed(), connection.first_byte_ns) {
                        (true, _) => return self.over(slot, ErrorClass::None, false),
                        (false, Request::NEVER) if connection.is_opening() => ErrorClass::Connect,
                        (false, Request::NEVER) => ErrorClass::Reset,
                        _ => ErrorClass::ShortBody,
                    };
                    return self.fail(slot, error);
                }
                Ok(n) => {
                    if connection.first_byte_ns == Request::NEVER {
                        connection.first_byte_ns = clock::now().0;
                    }
                    let progress = match progress {
                        None => connection.response.skipped(n as u64),
                        Some(()) => connection.response.feed(&self.buffer[..n]),
                    };
                    match progress {
                        Progress::More => {}
                        Progress::Broken => return self.fail(slot, ErrorClass::Protocol),
                        Progress::Whole { reusable } => {
                            return self.over(slot, ErrorClass::None, reusable && flags & ENDED == 0);
                        }
                    }
                    // A read that was not filled has emptied the socket; new bytes will be a new event. The end
                    // of the stream would not be one, if it came with this event.
                    if transport.is_plain() && n < BUFFER && flags & ENDED == 0 {
                        return Ok(After::Busy);
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(After::Busy),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) if connection.is_opening() => return self.fail(slot, ErrorClass::Connect),
                Err(_) => return self.fail(slot, ErrorClass::Reset),
            }
        }
    }

    /// The request on `slot` has failed; one that was lost on a stale connection is sent again.
    pub(super) fn fail(&mut self, slot: usize, error: ErrorClass) -> Result<After, RecordError> {
        let connection = &mut self.places[slot];
        if error == ErrorClass::Reset && connection.may_be_stale() {
            if let Some(order) = &mut connection.order {
                order.retried = true;
            }
            connection.transport = None;
            connection.sent = 0;
            self.tally.reconnects += 1;
            return self.dial(slot);
        }
        self.over(slot, error, false)
    }

    /// The request on `slot` is over: record it, and keep or close the connection.
    pub(super) fn over(&mut self, slot: usize, error: ErrorClass, reusable: bool) -> Result<After, RecordError> {
        let now = clock::now().0;
        let connection = &mut self.places[slot];
        let Some(order) = connection.order.take() else { return Ok(After::Busy) };
        let error = match (error, connection.response.status) {
            (ErrorClass::None, 400..=499) => ErrorClass::Http4xx,
            (ErrorClass::None, 500..) => ErrorClass::Http5xx,
            (error, _) => error,
        };
        let row = order.row();
        let request = Request {
            seq: order.seq,
            planned_ns: order.planned_ns,
            issued_ns: connection.issued_ns,
            first_byte_ns: connection.first_byte_ns,
            done_ns: now,
            offset: 0,
            bytes: connection.response.bytes,
            object: row.object,
            stream: connection.stream,
            status: connection.response.status,
            phase: order.phase,
            op: row.op,
            error,
        };
        connection.served += 1;
        self.in_flight -= 1;
        let after = if reusable && self.dialling.reuse {
            connection.state = State::Idle;
            connection.idle_since_ns = i64::MIN;
            connection.deadline_ns = i64::MAX;
            After::Idle(slot)
        } else if request.succeeded() && !self.dialling.reuse {
            self.linger(slot, now)
        } else {
            let refused = matches!(error, ErrorClass::Connect | ErrorClass::Reset);
            self.open -= 1;
            let client = connection.client;
            self.release(slot);
            After::Gone { client, refused }
        };
        self.record(request, true)?;
        Ok(after)
    }

    fn linger(&mut self, slot: usize, now: i64) -> After {
        self.open -= 1;
        let connection = &mut self.places[slot];
        connection.state = State::Lingering;
        let (client, generation) = (connection.client, connection.generation);
        self.lingering.push_back((slot, generation));
        self.set_timer(slot, now + LINGER_NS);
        // Those the server has closed in the meantime are not counted out one by one: the front is the oldest.
        while let Some(&(oldest, generation)) = self.lingering.front() {
            let connection = &self.places[oldest];
            let waits = connection.state == State::Lingering && connection.generation == generation;
            if waits && self.lingering.len() <= MAX_LINGERING {
                break;
            }
            self.lingering.pop_front();
            if waits {
                self.release(oldest);
            }
        }
        After::Gone { client, refused: false }
    }
}
