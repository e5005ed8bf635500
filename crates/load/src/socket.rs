//! Nonblocking TCP sockets: opened, connected, read and written without an allocation.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::LoadError;

/// Opens sockets to one address.
pub(crate) struct Dialler {
    to: SockAddr,
    domain: Domain,
    /// A target in 127/8 can be reached from any address of that net, each with its own 28,000 ports.
    loopback: bool,
    /// Index of the source address now used; 0 is the kernel's choice.
    source: u8,
    /// How often no port was left.
    pub ports_exhausted: u64,
}

impl Dialler {
    pub fn new(to: SocketAddr) -> Self {
        let loopback = matches!(to.ip(), IpAddr::V4(ip) if ip.is_loopback());
        Self { to: to.into(), domain: Domain::for_address(to), loopback, source: 0, ports_exhausted: 0 }
    }

    /// A socket on its way to the target; most often the connection is not there yet.
    pub fn dial(&mut self) -> io::Result<OwnedFd> {
        let mut tried = 0;
        loop {
            match self.try_dial() {
                // Closed connections hold their port for a minute (TIME_WAIT): take the next source address.
                Err(e) if e.raw_os_error() == Some(libc::EADDRNOTAVAIL) => {
                    self.ports_exhausted += 1;
                    if !self.loopback || tried == 200 {
                        return Err(e);
                    }
                    tried += 1;
                    self.source = self.source % 200 + 1;
                }
                other => return other,
            }
        }
    }

    fn try_dial(&self) -> io::Result<OwnedFd> {
        let socket = Socket::new(self.domain, Type::STREAM.nonblocking().cloexec(), None)?;
        socket.set_tcp_nodelay(true)?;
        if self.source > 0 {
            let fd = socket.as_raw_fd();
            let on: libc::c_int = 1;
            // Leaves the choice of the port to `connect`, where only the whole pair of addresses must be unique.
            // SAFETY: the option's value is an int that outlives the call. A kernel without the option picks
            // the port at bind, which is only less sparing.
            unsafe {
                let value = (&raw const on).cast();
                libc::setsockopt(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, value, size_of_val(&on) as u32)
            };
            socket.bind(&SocketAddr::from((Ipv4Addr::new(127, 0, 1, self.source), 0)).into())?;
        }
        match socket.connect(&self.to) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
            _ => Ok(socket.into()),
        }
    }
}

/// The error that ended a connection attempt, if any.
pub(crate) fn pending_error(fd: &OwnedFd) -> Option<io::Error> {
    socket2::SockRef::from(fd).take_error().unwrap_or_else(Some)
}

/// Writes without ever raising SIGPIPE.
pub(crate) fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    send_with(fd, bytes, false)
}

/// As [`send`]; `more` says that more follows at once and need not travel apart.
pub(crate) fn send_with(fd: &OwnedFd, bytes: &[u8], more: bool) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
    // SAFETY: the slice is valid for its length.
    count(unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

pub(crate) fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the slice is valid for its length and exclusively ours.
    count(unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) })
}

/// Takes up to `most` bytes off the connection without copying them (`MSG_TRUNC` of tcp(7)).
pub(crate) fn discard(fd: &OwnedFd, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC the kernel writes nothing to the pointer of a TCP socket.
    count(unsafe { libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC) })
}

fn count(n: isize) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

/// Makes room for `sockets` more descriptors: the soft limit is raised up to the hard one.
pub(crate) fn allow_open(sockets: u64) -> Result<(), LoadError> {
    // The tables, the standard streams, the event queues and what the caller has open.
    let needed = sockets + 128;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return Err(LoadError::system("getrlimit"));
        }
        if limit.rlim_cur >= needed {
            return Ok(());
        }
        if limit.rlim_max < needed {
            return Err(LoadError::Host {
                what: format!("{sockets} connections need {needed} open files, {} are allowed", limit.rlim_max),
                remedy: format!("raise the hard limit (`ulimit -Hn {needed}` as root) or lower `connections`"),
            });
        }
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(libc::RLIMIT_NOFILE, &limit) != 0 {
            return Err(LoadError::system("setrlimit"));
        }
    }
    Ok(())
}
