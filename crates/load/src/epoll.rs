//! The kernel's event queue with deadlines in nanoseconds: `epoll_pwait2` (Linux 5.11), because `epoll_wait`
//! rounds to whole milliseconds. Edge-triggered, so that a connection is registered once and never again.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::LoadError;

/// Events taken in one call. Small, so that a due request waits behind few answers.
const EVENTS: usize = 64;

pub(crate) const READABLE: u32 = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
pub(crate) const WRITABLE: u32 = (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) as u32;
/// The other side has closed or reset.
pub(crate) const ENDED: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

pub(crate) struct Epoll {
    queue: OwnedFd,
    events: [libc::epoll_event; EVENTS],
    count: usize,
}

impl Epoll {
    pub fn new() -> Result<Self, LoadError> {
        // SAFETY: no pointer is passed; a descriptor that is not negative is ours.
        let queue = unsafe {
            match libc::epoll_create1(libc::EPOLL_CLOEXEC) {
                -1 => return Err(LoadError::system("epoll_create1")),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        let mut epoll = Self { queue, events: [libc::epoll_event { events: 0, u64: 0 }; EVENTS], count: 0 };
        match epoll.wait(0) {
            Err(e) if e.raw_os_error() == Some(libc::ENOSYS) => Err(LoadError::Host {
                what: "the kernel has no epoll_pwait2".into(),
                remedy: "run Linux 5.11 or newer".into(),
            }),
            _ => Ok(epoll),
        }
    }

    /// Watches `socket` for everything, once and for all; `token` comes back with its events.
    pub fn watch(&self, socket: &OwnedFd, token: u64) -> io::Result<()> {
        let interest = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        self.add(socket, token, interest)
    }

    /// Watches `socket` with an `interest` of the caller's choice.
    pub fn add(&self, socket: &OwnedFd, token: u64, interest: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest, u64: token };
        // SAFETY: both descriptors are open and the event outlives the call.
        match unsafe { libc::epoll_ctl(self.queue.as_raw_fd(), libc::EPOLL_CTL_ADD, socket.as_raw_fd(), &mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits up to `ns` for events; [`event`](Self::event) gives them. A signal ends the wait early.
    pub fn wait(&mut self, ns: i64) -> io::Result<usize> {
        let ns = ns.max(0);
        let timeout = libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 };
        self.count = 0;
        // SAFETY: the event array is as long as said and lives in `self`; the timeout outlives the call; no
        // signal mask is given.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.queue.as_raw_fd(),
                self.events.as_mut_ptr(),
                EVENTS as libc::c_int,
                &timeout as *const libc::timespec,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if n < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(0) } else { Err(error) };
        }
        self.count = n as usize;
        Ok(self.count)
    }

    /// Token and flags of the `i`-th event of the last wait.
    pub fn event(&self, i: usize) -> (u64, u32) {
        debug_assert!(i < self.count);
        let event = self.events[i];
        (event.u64, event.events)
    }
}

/// Wake-ups of this thread come when asked for, not up to 50 µs later (`PR_SET_TIMERSLACK`).
pub(crate) fn wake_exactly() {
    // SAFETY: a plain setting of the calling thread. It can only fail on kernels without high-resolution timers,
    // and then the lateness it would cost is in the record.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong, 0) };
}

/// Processor time of the calling thread in nanoseconds.
pub(crate) fn thread_cpu_ns() -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec and the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}
