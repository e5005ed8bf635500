//! The kernel's ring: everything due is handed over in one `io_uring_enter`; where nothing has come back by then, a
//! second one waits. One call for both was measured to halve the rate of a loop device at depth 1: the kernel's worker
//! then starts on another core instead of on this one, as soon as the first call returns. Files are registered, and
//! buffers where they are few enough to be pinned. No polling kernel thread: it burns power.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::types::{Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use iojoule_record::{Op, clock};

use crate::LoadError;
use crate::block::backend::{Backend, Done};
use crate::block::buffers::Buffers;
use crate::block::source::Io;
use crate::block::target::Target;

/// Buffers are pinned up to this many bytes in all: 64 MiB of outstanding requests, and what may be in stock for them.
const PINNED: usize = 72 << 20;
/// `_IO(0x12, 0)`: discard on the ring (Linux 6.12).
const BLOCK_URING_CMD_DISCARD: u32 = 0x1200;
/// A wait without a deadline ends at the latest after this long. A timeout in the ring does that: one on each wait would
/// set up a timer for each request.
const BEAT_NS: i64 = 50_000_000;
/// From here on user data is no slot: the completion of a cancel, or of a beat.
const CANCEL: u64 = 1 << 40;
const BEAT: u64 = CANCEL + 1;

pub(crate) struct Ring {
    ring: IoUring,
    buffers: Arc<Buffers>,
    pinned: bool,
    devices: Vec<bool>,
    data_only: bool,
    beat: Timespec,
    beating: bool,
}

impl Ring {
    /// Of the calling thread, which must be the one to use it. `data_only` makes a flush an `fdatasync`.
    pub fn new(target: &Target, slots: u32, buffers: Arc<Buffers>, data_only: bool) -> Result<Self, LoadError> {
        let system = |doing| move |source| LoadError::System { doing, source };
        let ring = build(slots).map_err(system("io_uring_setup"))?;
        let files: Vec<_> = target.files.iter().filter_map(|place| Some(place.file.as_ref()?.as_raw_fd())).collect();
        ring.submitter().register_files(&files).map_err(system("registering files with io_uring"))?;
        let pinned = buffers.bytes() <= PINNED && {
            // SAFETY: the buffers outlive the ring, which holds on to them.
            unsafe { ring.submitter().register_buffers(&buffers.vectors()) }.is_ok()
        };
        let beat = Timespec::new().nsec(BEAT_NS as u32);
        let devices = target.files.iter().map(|place| place.is_device).collect();
        Ok(Self { ring, buffers, pinned, devices, data_only, beat, beating: false })
    }

    fn entry(&self, buffer: u32, io: &Io) -> squeue::Entry {
        let file = Fixed(io.file);
        let (at, index) = (self.buffers.at(buffer), buffer as u16);
        match io.op {
            Op::Write if self.pinned => opcode::WriteFixed::new(file, at, io.bytes, index).offset(io.offset).build(),
            Op::Write => opcode::Write::new(file, at, io.bytes).offset(io.offset).build(),
            Op::Flush => {
                let flags = if self.data_only { FsyncFlags::DATASYNC } else { FsyncFlags::empty() };
                opcode::Fsync::new(file).flags(flags).build()
            }
            Op::Trim if self.devices[io.file as usize] => {
                // Start and length of the range lie where the kernel reads `addr` and `addr3`.
                let mut length = [0; 16];
                length[..8].copy_from_slice(&u64::from(io.bytes).to_ne_bytes());
                opcode::UringCmd16::new(file, BLOCK_URING_CMD_DISCARD).addr(Some(io.offset)).cmd(length).build()
            }
            Op::Trim => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                opcode::Fallocate::new(file, u64::from(io.bytes)).offset(io.offset).mode(mode).build()
            }
            _ if self.pinned => opcode::ReadFixed::new(file, at, io.bytes, index).offset(io.offset).build(),
            _ => opcode::Read::new(file, at, io.bytes).offset(io.offset).build(),
        }
    }

    /// One `io_uring_enter`: hands over what is in line and waits for `want` completions; for `wait_ns` at most, or, where
    /// none is said, until the beat.
    fn call(&mut self, want: usize, wait_ns: Option<i64>) -> Result<(), LoadError> {
        let done = match wait_ns {
            None => self.ring.submitter().submit_and_wait(want),
            Some(ns) => {
                let time = Timespec::new().nsec(ns.clamp(0, 999_999_999) as u32);
                self.ring.submitter().submit_with_args(want, &SubmitArgs::new().timespec(&time))
            }
        };
        match done {
            Ok(_) => Ok(()),
            // Nothing came in time, a signal came, or completions must be taken first: the loop comes back.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {
                Ok(())
            }
            Err(source) => Err(LoadError::System { doing: "io_uring_enter", source }),
        }
    }
}

impl Backend for Ring {
    const MOVES_DATA: bool = true;

    #[inline]
    fn push(&mut self, slot: u32, buffer: u32, io: &Io) {
        let entry = self.entry(buffer, io).user_data(u64::from(slot));
        // SAFETY: buffer and file live as long as the ring; the queue has as many entries as there are slots, so it
        // cannot be full.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        debug_assert!(pushed.is_ok());
    }

    #[inline]
    fn submit(&mut self) -> Result<Option<i64>, LoadError> {
        if self.ring.submission().is_empty() {
            return Ok(None);
        }
        let before = clock::now().0;
        self.call(0, None)?;
        Ok(Some(clock::now().0 - before))
    }

    #[inline]
    fn news(&mut self) -> bool {
        self.ready() > 0 || self.ring.submission().taskrun()
    }

    #[inline]
    fn wait(&mut self, wait_ns: i64) -> Result<(), LoadError> {
        if wait_ns > 0 && self.ready() == 0 {
            if wait_ns >= BEAT_NS && !self.beating {
                let entry = opcode::Timeout::new(&self.beat).build().user_data(BEAT);
                // SAFETY: the kernel reads the time while the request is handed over, in the call below.
                self.beating = unsafe { self.ring.submission().push(&entry) }.is_ok();
            }
            self.call(1, (wait_ns < BEAT_NS).then_some(wait_ns))?;
        } else if self.ring.submission().taskrun() {
            self.call(0, None)?;
        }
        Ok(())
    }

    #[inline]
    fn ready(&mut self) -> usize {
        self.ring.completion().len()
    }

    #[inline]
    fn pop(&mut self) -> Option<Done> {
        loop {
            let entry = self.ring.completion().next()?;
            if entry.user_data() < CANCEL {
                return Some(Done { slot: entry.user_data() as u32, result: entry.result(), times: None });
            }
            self.beating &= entry.user_data() != BEAT;
        }
    }

    fn stop(&mut self, outstanding: usize) -> bool {
        if outstanding == 0 {
            return true;
        }
        let all = io_uring::types::CancelBuilder::any();
        let entry = opcode::AsyncCancel2::new(all).build().user_data(CANCEL);
        // SAFETY: the request names no memory.
        let _ = unsafe { self.ring.submission().push(&entry) };
        let until = clock::now().0 + 1_000_000_000;
        let mut left = outstanding;
        while left > 0 && clock::now().0 < until {
            if self.call(1, Some(BEAT_NS / 5)).is_err() {
                break;
            }
            left -= self.ring.completion().filter(|entry| entry.user_data() < CANCEL).count().min(left);
        }
        if left > 0 {
            // What the kernel may still write to is never given back.
            std::mem::forget(self.buffers.clone());
        }
        left == 0
    }
}

/// A ring whose completions are dealt with when the one thread that uses it asks for them, or what an older kernel knows
/// of that.
fn build(slots: u32) -> io::Result<IoUring> {
    let mut newest = IoUring::builder();
    newest.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_submit_all();
    let mut newer = IoUring::builder();
    newer.setup_coop_taskrun().setup_taskrun_flag();
    // One more for the beat, so that the queue is never full.
    let (entries, mut last) = (slots + 1, None);
    for builder in [newest, newer, IoUring::builder()] {
        match builder.build(entries) {
            Ok(ring) => return Ok(ring),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// Devices can be trimmed on the ring (Linux 6.12).
pub(crate) fn discards() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split(['.', '-', '\n']).map_while(|part| part.parse::<u32>().ok());
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (6, 12)
}

/// Why the kernel denies a ring to this process, if it does.
pub(crate) fn denied() -> Option<io::Error> {
    build(2).and_then(|ring| ring.submitter().submit()).err()
}
