//! A static file server inside the engine, for machines without nginx: GET and HEAD, keep-alive, `sendfile`.
//! `files` opens what a path names and nothing outside the root, `head` reads requests and writes heads,
//! `exchange` is one connection, `worker` the event loop of one thread.

mod exchange;
mod files;
mod head;
mod worker;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crate::LoadError;
use crate::socket::allow_open;

/// Connections one thread keeps; further ones are closed at once.
pub(crate) const MAX_CONNECTIONS: usize = 8192;

/// Serves the files under one folder.
pub struct Server {
    listener: OwnedFd,
    local: SocketAddr,
    root: OwnedFd,
    threads: u32,
    answered: AtomicU64,
}

impl Server {
    /// Listens on `address` (port 0 lets the kernel choose). A port in use is an error of the machine.
    pub fn bind(address: SocketAddr, root: &Path, threads: u32) -> Result<Self, LoadError> {
        if threads == 0 {
            return Err(LoadError::config("threads", "0 is less than 1"));
        }
        allow_open(u64::from(threads) * (MAX_CONNECTIONS + files::CACHED) as u64)?;
        let folder = File::open(root).map_err(|e| LoadError::file(root, e))?;
        if !folder.metadata().map_err(|e| LoadError::file(root, e))?.is_dir() {
            return Err(LoadError::config("root", format!("{} is not a folder", root.display())));
        }
        let listen = || -> io::Result<(TcpListener, SocketAddr)> {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let local = listener.local_addr()?;
            Ok((listener, local))
        };
        let (listener, local) = listen().map_err(|e| LoadError::Host {
            what: format!("cannot listen on {address}: {e}"),
            remedy: "choose another port, or 0 for any".into(),
        })?;
        Ok(Self { listener: listener.into(), local, root: folder.into(), threads, answered: AtomicU64::new(0) })
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Requests answered so far.
    pub fn answered(&self) -> u64 {
        self.answered.load(Relaxed)
    }

    /// Serves until `stop` is set; looks at it ten times a second.
    pub fn run(&self, stop: &AtomicBool) -> Result<(), LoadError> {
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(|| worker::run(self, stop))).collect();
            let mut result = worker::run(self, stop);
            for other in others {
                result = result.and(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            result
        })
    }
}
