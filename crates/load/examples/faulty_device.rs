//! A disk that errs on command, for tests: a FUSE mount with a file `device`, kept in memory, and a file `control`
//! that holds its faults, one a line, and tells how often each has struck. The kinds are those of Bairavasundaram et
//! al., FAST 2008 (latent sector errors, bit rot, lost, misplaced and torn writes), and what a failing bus adds.
//!
//! `faulty_device MOUNTPOINT BYTES` runs until it is unmounted. A line of `control` is `KIND FROM TO [NUMBER]`: the
//! fault strikes requests that touch the bytes `[FROM, TO)`. Kinds: see [`Kind`]; `vanish` ends the process at once.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

const DEVICE: INodeNo = INodeNo(2);
const CONTROL: INodeNo = INodeNo(3);
const TTL: Duration = Duration::ZERO;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The request fails with this errno; NUMBER is the errno.
    FailRead,
    FailWrite,
    /// Half of the request is done, and said to be.
    ShortRead,
    ShortWrite,
    /// The answer comes NUMBER milliseconds late.
    Slow,
    /// The lowest bit of the byte FROM is read turned over.
    Flip,
    /// A write is acknowledged and not stored.
    Lost,
    /// A write is stored NUMBER bytes further on.
    Misplaced,
    /// A read gives what the bytes held when the fault was set.
    Stale,
    /// No answer ever comes.
    Hang,
}

const KINDS: [(&str, Kind); 10] = [
    ("fail-read", Kind::FailRead),
    ("fail-write", Kind::FailWrite),
    ("short-read", Kind::ShortRead),
    ("short-write", Kind::ShortWrite),
    ("slow", Kind::Slow),
    ("flip", Kind::Flip),
    ("lost", Kind::Lost),
    ("misplaced", Kind::Misplaced),
    ("stale", Kind::Stale),
    ("hang", Kind::Hang),
];

struct Fault {
    kind: Kind,
    from: usize,
    to: usize,
    number: usize,
    /// The bytes when the fault was set, of a stale range.
    old: Vec<u8>,
    hits: u64,
}

struct Disk {
    bytes: Vec<u8>,
    faults: Vec<Fault>,
}

/// What becomes of a request.
enum Fate {
    Done(usize),
    Fails(Errno),
    Hangs,
}

impl Disk {
    /// The faults a request on `[from, to)` meets; counted only where they are of `kinds`.
    fn meets(&mut self, from: usize, to: usize, kinds: &[Kind]) -> Vec<(Kind, usize, usize)> {
        let struck = self.faults.iter_mut().filter(|f| f.from < to && from < f.to && kinds.contains(&f.kind));
        struck
            .map(|f| {
                f.hits += 1;
                (f.kind, f.from, f.number)
            })
            .collect()
    }

    fn read(&mut self, from: usize, size: usize) -> (Vec<u8>, Fate, Duration) {
        let to = (from + size).min(self.bytes.len());
        let from = from.min(to);
        let mut data = self.bytes[from..to].to_vec();
        let (mut fate, mut delay) = (Fate::Done(data.len()), Duration::ZERO);
        for fault in self.faults.iter().filter(|f| f.kind == Kind::Stale) {
            for at in from.max(fault.from)..to.min(fault.to) {
                data[at - from] = fault.old[at - fault.from];
            }
        }
        let kinds = [Kind::FailRead, Kind::ShortRead, Kind::Slow, Kind::Flip, Kind::Stale, Kind::Hang];
        for (kind, start, number) in self.meets(from, to, &kinds) {
            match kind {
                Kind::FailRead => fate = Fate::Fails(Errno::from_i32(number as i32)),
                Kind::ShortRead => fate = Fate::Done(data.len() / 2),
                Kind::Slow => delay = Duration::from_millis(number as u64),
                Kind::Flip if (from..to).contains(&start) => data[start - from] ^= 1,
                Kind::Hang => fate = Fate::Hangs,
                _ => {}
            }
        }
        (data, fate, delay)
    }

    fn write(&mut self, from: usize, data: &[u8]) -> (Fate, Duration) {
        let to = from + data.len();
        if to > self.bytes.len() {
            return (Fate::Fails(Errno::ENOSPC), Duration::ZERO);
        }
        let (mut place, mut length) = (Some(from), data.len());
        let (mut fails, mut delay) = (None, Duration::ZERO);
        let kinds = [Kind::FailWrite, Kind::ShortWrite, Kind::Slow, Kind::Lost, Kind::Misplaced, Kind::Hang];
        for (kind, _, number) in self.meets(from, to, &kinds) {
            match kind {
                Kind::FailWrite => fails = Some(Fate::Fails(Errno::from_i32(number as i32))),
                Kind::ShortWrite => length /= 2,
                Kind::Slow => delay = Duration::from_millis(number as u64),
                Kind::Lost => place = None,
                Kind::Misplaced => place = Some((from + number) % (self.bytes.len() - data.len() + 1)),
                Kind::Hang => fails = Some(Fate::Hangs),
                _ => {}
            }
        }
        if let Some(fate) = fails {
            return (fate, delay);
        }
        if let Some(place) = place {
            self.bytes[place..place + length].copy_from_slice(&data[..length]);
        }
        (Fate::Done(length), delay)
    }

    /// Takes the faults of `text` in place of those that were.
    fn command(&mut self, text: &str) -> Option<()> {
        let mut faults = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line == "vanish" {
                std::process::exit(3);
            }
            let mut words = line.split_whitespace();
            let name = words.next()?;
            let kind = KINDS.iter().find(|(known, _)| *known == name)?.1;
            let mut number = || words.next().map(str::parse::<usize>);
            let (from, to) = (number()?.ok()?, number()?.ok()?.min(self.bytes.len()));
            let number = number().map_or(Some(0), Result::ok)?;
            let old = if kind == Kind::Stale { self.bytes.get(from..to)?.to_vec() } else { Vec::new() };
            faults.push(Fault { kind, from, to, number, old, hits: 0 });
        }
        self.faults = faults;
        Some(())
    }

    fn report(&self) -> String {
        let mut text = String::new();
        for fault in &self.faults {
            let name = KINDS.iter().find(|(_, kind)| *kind == fault.kind).map_or("", |(name, _)| name);
            let _ = writeln!(text, "{name} {} {} {} hits={}", fault.from, fault.to, fault.number, fault.hits);
        }
        text
    }
}

struct Mount(Mutex<Disk>);

impl Mount {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn attr(&self, ino: INodeNo) -> Option<FileAttr> {
        let size = match ino {
            INodeNo::ROOT => 0,
            DEVICE => self.disk().bytes.len() as u64,
            CONTROL => self.disk().report().len() as u64,
            _ => return None,
        };
        Some(FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if ino == INodeNo::ROOT { FileType::Directory } else { FileType::RegularFile },
            perm: if ino == INodeNo::ROOT { 0o700 } else { 0o600 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            flags: 0,
            blksize: 4096,
        })
    }
}

/// Acts at once, or later on a thread of its own, so that a slow answer does not hold up the others.
fn after(delay: Duration, act: impl FnOnce() + Send + 'static) {
    if delay.is_zero() {
        act();
        return;
    }
    thread::spawn(move || {
        thread::sleep(delay);
        act();
    });
}

impl Filesystem for Mount {
    /// Requests past the page cache leave their caller at once, so that one without an answer does not keep the next.
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| std::io::Error::new(std::io::ErrorKind::Unsupported, "the kernel knows no FUSE_ASYNC_DIO"))
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let ino = match name.to_str() {
            Some("device") if parent == INodeNo::ROOT => DEVICE,
            Some("control") if parent == INodeNo::ROOT => CONTROL,
            _ => return reply.error(Errno::ENOENT),
        };
        match self.attr(ino) {
            Some(attr) => reply.entry(&TTL, &attr, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attr(ino) {
            Some(attr) => reply.attr(&TTL, &attr),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Only the truncation of `control` that opening it for writing brings; it changes nothing.
    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        fh: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.getattr(request, ino, fh, reply);
    }

    /// Past the page cache: it would read again what came short, and keep what the disk has since lost.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if ino == CONTROL {
            let report = self.disk().report();
            return reply.data(report.as_bytes().get(offset as usize..).unwrap_or_default());
        }
        let (data, fate, delay) = self.disk().read(offset as usize, size as usize);
        after(delay, move || match fate {
            Fate::Done(length) => reply.data(&data[..length]),
            Fate::Fails(errno) => reply.error(errno),
            Fate::Hangs => std::mem::forget(reply),
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if ino == CONTROL {
            let taken = std::str::from_utf8(data).ok().and_then(|text| self.disk().command(text));
            return match taken {
                Some(()) => reply.written(data.len() as u32),
                None => reply.error(Errno::EINVAL),
            };
        }
        let (fate, delay) = self.disk().write(offset as usize, data);
        after(delay, move || match fate {
            Fate::Done(length) => reply.written(length as u32),
            Fate::Fails(errno) => reply.error(errno),
            Fate::Hangs => std::mem::forget(reply),
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [(DEVICE, "device"), (CONTROL, "control")];
        for (next, (ino, name)) in (1..).zip(entries).skip(offset as usize) {
            if reply.add(ino, next, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1);
    let place = PathBuf::from(args.next().ok_or("give a mount point")?);
    let bytes = args.next().and_then(|b| b.to_str()?.parse().ok()).ok_or("give the bytes of the device")?;
    let disk = Disk { bytes: vec![0; bytes], faults: Vec::new() };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("faulty".into()), MountOption::RW];
    Ok(fuser::mount(Mount(Mutex::new(disk)), place, &config)?)
}
