//! The event loop of one server thread. All threads accept from one listening socket; the kernel wakes one of them.

use std::io::ErrorKind;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use iojoule_record::clock;

use crate::LoadError;
use crate::epoll::Epoll;
use crate::server::exchange::{Exchange, Turn};
use crate::server::files::Files;
use crate::server::{MAX_CONNECTIONS, Server, head};

const LISTENER: u64 = u64::MAX;
/// The loop turns at least this often, to notice `stop` and to close idle connections.
const TURN_NS: i64 = 100_000_000;
const SECOND_NS: i64 = 1_000_000_000;
/// A connection on which nothing has happened for this long is closed.
const IDLE_NS: i64 = 75 * SECOND_NS;

pub(crate) fn run(server: &Server, stop: &AtomicBool) -> Result<(), LoadError> {
    let mut worker = Worker {
        server,
        epoll: Epoll::new()?,
        places: Vec::new(),
        free: Vec::new(),
        generation: 0,
        files: Files::new(&server.root),
        date: String::new(),
        second_ns: i64::MIN,
    };
    let interest = (libc::EPOLLIN | libc::EPOLLEXCLUSIVE) as u32;
    let watch = worker.epoll.add(&server.listener, LISTENER, interest);
    watch.map_err(|source| LoadError::System { doing: "watching the listening socket", source })?;
    while !stop.load(Relaxed) {
        worker.turn()?;
    }
    Ok(())
}

struct Worker<'a> {
    server: &'a Server,
    epoll: Epoll,
    places: Vec<Option<Exchange>>,
    free: Vec<usize>,
    generation: u32,
    files: Files<'a>,
    date: String,
    /// When the date was written and idle connections were looked for.
    second_ns: i64,
}

impl Worker<'_> {
    fn turn(&mut self) -> Result<(), LoadError> {
        let wait = self.epoll.wait(TURN_NS);
        let events = wait.map_err(|source| LoadError::System { doing: "epoll_pwait2", source })?;
        let now = clock::now().0;
        if now - self.second_ns.max(0) >= SECOND_NS || self.date.is_empty() {
            self.every_second(now);
        }
        let mut answered = 0;
        for i in 0..events {
            match self.epoll.event(i) {
                (LISTENER, _) => self.accept(now, &mut answered),
                (token, _) => {
                    let (slot, generation) = ((token & 0xffff_ffff) as usize, (token >> 32) as u32);
                    if self.places[slot].as_ref().is_some_and(|place| place.generation == generation) {
                        self.serve(slot, now, &mut answered);
                    }
                }
            }
        }
        if answered > 0 {
            self.server.answered.fetch_add(answered, Relaxed);
        }
        Ok(())
    }

    fn every_second(&mut self, now: i64) {
        self.second_ns = now;
        self.date = head::date(clock::utc_pair().1.div_euclid(SECOND_NS));
        for slot in 0..self.places.len() {
            if self.places[slot].as_ref().is_some_and(|place| now - place.active_ns > IDLE_NS) {
                self.places[slot] = None;
                self.free.push(slot);
            }
        }
    }

    fn accept(&mut self, now: i64, answered: &mut u64) {
        loop {
            let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
            // SAFETY: the peer's address is not asked for; a descriptor that is not negative is ours.
            let socket = unsafe {
                let (listener, null) = (self.server.listener.as_raw_fd(), std::ptr::null_mut());
                match libc::accept4(listener, null, std::ptr::null_mut(), flags) {
                    fd if fd < 0 => match std::io::Error::last_os_error().kind() {
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                        // Nobody waits; or no descriptor is left, and then the event comes again.
                        _ => return,
                    },
                    fd => OwnedFd::from_raw_fd(fd),
                }
            };
            if self.places.len() - self.free.len() >= MAX_CONNECTIONS {
                continue;
            }
            let slot = self.free.pop().unwrap_or_else(|| {
                self.places.push(None);
                self.places.len() - 1
            });
            self.generation = self.generation.wrapping_add(1) & 0x7fff_ffff;
            let token = (u64::from(self.generation) << 32) | slot as u64;
            // Answers are written whole; waiting for an acknowledgement would only delay them.
            let nodelay = socket2::SockRef::from(&socket).set_tcp_nodelay(true);
            if nodelay.and_then(|()| self.epoll.watch(&socket, token)).is_err() {
                self.free.push(slot);
                continue;
            }
            self.places[slot] = Some(Exchange::new(socket, self.generation, now));
            self.serve(slot, now, answered);
        }
    }

    fn serve(&mut self, slot: usize, now: i64, answered: &mut u64) {
        let Some(exchange) = &mut self.places[slot] else { return };
        match exchange.turn(&mut self.files, &self.date, now, answered) {
            Ok(Turn::Open) => {}
            Ok(Turn::Closed) | Err(_) => {
                self.places[slot] = None;
                self.free.push(slot);
            }
        }
    }
}
