//! One connection: its socket, the request on it and how far the answer has come.

use iojoule_record::Request;

use crate::response::Response;
use crate::socket;
use crate::tls::Transport;
use crate::wire::Order;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No socket: the place is free.
    Free,
    /// The TCP handshake is under way; the request waits.
    Connecting,
    /// A request is being sent or answered.
    Busy,
    /// Open and waiting for a request.
    Idle,
    /// Answered in full; the server was asked to close and has not yet. Closing first would leave TIME_WAIT, and
    /// with it the port, on this side.
    Lingering,
}

pub(crate) struct Connection {
    pub state: State,
    /// Raised at every reuse of the place, so that an old event is told from a new one.
    pub generation: u32,
    /// Number of the connection in the run: column `stream`.
    pub stream: u32,
    pub transport: Option<Transport>,
    pub order: Option<Order>,
    pub response: Response,
    /// Bytes of the request the socket has taken.
    pub sent: usize,
    pub issued_ns: i64,
    pub first_byte_ns: i64,
    /// Requests answered on this connection.
    pub served: u32,
    /// Whose connection it is, where clients have their own.
    pub client: u32,
    pub idle_since_ns: i64,
    /// What now goes on is over by then.
    pub deadline_ns: i64,
    /// When the timer will look at this place; it may come early, never late.
    pub timer_ns: i64,
}

impl Connection {
    pub fn free() -> Self {
        Self {
            state: State::Free,
            generation: 0,
            stream: 0,
            transport: None,
            order: None,
            response: Response::new(),
            sent: 0,
            issued_ns: 0,
            first_byte_ns: Request::NEVER,
            served: 0,
            client: 0,
            idle_since_ns: 0,
            deadline_ns: i64::MAX,
            timer_ns: i64::MAX,
        }
    }

    /// True where the server may simply have closed an idle connection before the request reached it.
    pub fn may_be_stale(&self) -> bool {
        self.served > 0
            && self.first_byte_ns == Request::NEVER
            && self.order.as_ref().is_some_and(|order| !order.retried)
    }

    /// True while something is still to be written.
    pub fn is_unsent(&self) -> bool {
        let order = self.order.as_ref().is_some_and(|order| self.sent < order.bytes().len());
        order || self.transport.as_ref().is_some_and(Transport::wants_write)
    }

    /// The attempt to connect has failed.
    pub fn socket_failed(&self) -> bool {
        self.transport.as_ref().is_some_and(|t| socket::pending_error(t.socket()).is_some())
    }

    /// True while the connection itself is not established.
    pub fn is_opening(&self) -> bool {
        self.state == State::Connecting || self.transport.as_ref().is_some_and(Transport::is_handshaking)
    }
}
