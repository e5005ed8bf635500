//! One connection of the server: requests in, heads and files out, in order.

use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;

use crate::server::files::{self, Files, Missing, Served};
use crate::server::head;
use crate::socket;

/// A longer request head is answered with 431.
const MAX_HEAD: usize = 16 * 1024;
const READ: usize = 4096;

pub(crate) struct Exchange {
    pub socket: OwnedFd,
    /// When it last did something.
    pub active_ns: i64,
    pub generation: u32,
    input: Vec<u8>,
    /// Heads (and pages of errors) still to be sent, and how much of them is.
    output: Vec<u8>,
    sent: usize,
    /// The file behind the head, and how much of it is sent.
    file: Option<(Rc<Served>, u64)>,
    /// The answer under way is the last one.
    closing: bool,
}

/// What a turn on a connection came to.
pub(crate) enum Turn {
    Open,
    Closed,
}

impl Exchange {
    pub fn new(socket: OwnedFd, generation: u32, now: i64) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { socket, active_ns: now, generation, input, output, sent: 0, file: None, closing: false }
    }

    /// Does all that can be done now. An error is the client's loss of the connection.
    pub fn turn(&mut self, files: &mut Files<'_>, date: &str, now: i64, answered: &mut u64) -> io::Result<Turn> {
        self.active_ns = now;
        loop {
            if !self.flush()? {
                return Ok(Turn::Open);
            }
            if self.closing {
                // Says that nothing more comes; the client closes, or the idle limit does.
                // SAFETY: the socket is open.
                unsafe { libc::shutdown(self.socket.as_raw_fd(), libc::SHUT_WR) };
                return self.drain();
            }
            if self.answer(files, date, now) {
                *answered += 1;
                continue;
            }
            let before = self.input.len();
            self.input.resize(before + READ, 0);
            let read = socket::receive(&self.socket, &mut self.input[before..]);
            self.input.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => return Ok(Turn::Closed),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Turn::Open),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Prepares the answer to the first request of the input; false where it is not whole.
    fn answer(&mut self, files: &mut Files<'_>, date: &str, now: i64) -> bool {
        if self.input.is_empty() {
            return false;
        }
        let asked = match head::read(&self.input) {
            Ok(Some(asked)) => asked,
            Ok(None) if self.input.len() < MAX_HEAD => return false,
            Ok(None) => {
                self.refuse(431, date, false, false);
                return true;
            }
            Err(()) => {
                self.refuse(400, date, false, false);
                return true;
            }
        };
        let keep_alive = asked.keep_alive && !asked.has_content;
        let (length, is_head) = (asked.length, asked.method == "HEAD");
        let found = match asked.method {
            "GET" | "HEAD" => files.find(asked.target, now).map_err(|missing| match missing {
                Missing::Bad => 400,
                Missing::NotFound => 404,
            }),
            _ => Err(405),
        };
        self.input.drain(..length);
        match found {
            Ok(served) => {
                head::write(&mut self.output, 200, served.size, served.kind, date, keep_alive);
                self.closing = !keep_alive;
                self.file = (!is_head && served.size > 0).then_some((served, 0));
            }
            Err(status) => self.refuse(status, date, keep_alive, is_head),
        }
        true
    }

    fn refuse(&mut self, status: u16, date: &str, keep_alive: bool, is_head: bool) {
        let page = format!("{status}\n");
        head::write(&mut self.output, status, page.len() as u64, "text/plain", date, keep_alive);
        if !is_head {
            self.output.extend_from_slice(page.as_bytes());
        }
        self.closing = !keep_alive;
        if self.closing {
            self.input.clear();
        }
    }

    /// Sends what is to be sent; false where the socket is full.
    fn flush(&mut self) -> io::Result<bool> {
        while self.sent < self.output.len() {
            let more = self.file.is_some();
            match socket::send_with(&self.socket, &self.output[self.sent..], more) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        self.output.clear();
        self.sent = 0;
        while let Some((served, at)) = &mut self.file {
            match files::send(&self.socket, &served.file, *at, served.size - *at) {
                // The file was cut under us; the client must see that its answer is short.
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    *at += n as u64;
                    if *at == served.size {
                        self.file = None;
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Reads and forgets until the client closes: closing with bytes unread would reset the connection, and with it
    /// the answer on its way.
    fn drain(&mut self) -> io::Result<Turn> {
        loop {
            match socket::discard(&self.socket, 1 << 20) {
                Ok(0) => return Ok(Turn::Closed),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(Turn::Open),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}
