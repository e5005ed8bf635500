//! The file that remembers which generation of each block was sent and which was acknowledged: one word a block,
//! mapped into memory, so that what an engine thread notes is in the page cache at that instant and outlives the
//! process, however it ends.
//!
//! Layout: a header (magic, version, block size, seed, identity, number of files, their sizes), padded to whole pages;
//! then the words of the first file's blocks, of the second's, … in the byte order of the host. The seed is kept for the
//! reader only: other requests may be drawn over what earlier ones wrote.

use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::SystemTime;

use memmap2::MmapRaw;

use crate::LoadError;

const MAGIC: u64 = u64::from_ne_bytes(*b"IOJSTATE");
const VERSION: u64 = 1;
const PAGE: u64 = 4096;
/// Numbers of the header before the sizes of the files.
const FIELDS: usize = 6;

pub(super) struct State {
    path: PathBuf,
    map: MmapRaw,
    /// Words before the first block's.
    skipped: usize,
    /// Told apart from every other state ever made, also of the same seed.
    pub identity: u64,
    /// Held open for its lock: two loads with one state would confuse each other.
    _file: File,
}

impl State {
    /// Opens the state at `path`, or makes it; `files` are the sizes of the target's files in bytes.
    pub fn open(path: &Path, files: &[u64], block_bytes: u64, seed: u64) -> Result<Self, LoadError> {
        let blocks: u64 = files.iter().map(|bytes| bytes / block_bytes).sum();
        let header_bytes = ((FIELDS + files.len()) as u64 * 8).next_multiple_of(PAGE);
        let bytes = header_bytes + blocks * 8;
        let (file, identity) = match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => {
                lock(&file, path)?;
                let found = header(&file).map_err(|e| LoadError::file(path, e))?;
                let identity = accept(path, &found, files, block_bytes, bytes)?;
                (file, identity)
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => make(path, files, block_bytes, seed, bytes)?,
            Err(e) => return Err(LoadError::file(path, e)),
        };
        let map = MmapRaw::map_raw(&file).map_err(|e| LoadError::file(path, e))?;
        Ok(Self { path: path.to_owned(), map, skipped: (header_bytes / 8) as usize, identity, _file: file })
    }

    /// One word each block, of all files in their order.
    #[inline]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the map is aligned to pages, writable, as long as `self`, and touched by nothing but atomics;
        // `open` made its length a multiple of eight and at least `skipped` words.
        let all = unsafe { std::slice::from_raw_parts(self.map.as_mut_ptr().cast::<AtomicU64>(), self.map.len() / 8) };
        &all[self.skipped..]
    }

    pub fn save(&self) -> Result<(), LoadError> {
        self.map.flush().map_err(|e| LoadError::file(&self.path, e))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn lock(file: &File, path: &Path) -> Result<(), LoadError> {
    // SAFETY: a call on an open descriptor.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if e.kind() == io::ErrorKind::WouldBlock => Err(LoadError::Host {
            what: format!("{} is in use by another load", path.display()),
            remedy: "wait for it to end, or name another `verify.state`".into(),
        }),
        e => Err(LoadError::file(path, e)),
    }
}

/// What an existing file begins with, and its length.
struct Header {
    fields: Vec<u64>,
    sizes: Vec<u64>,
    length: u64,
}

fn header(file: &File) -> io::Result<Header> {
    let length = file.metadata()?.len();
    let mut fields = vec![0; FIELDS * 8];
    if length < fields.len() as u64 {
        return Ok(Header { fields: vec![0; FIELDS], sizes: Vec::new(), length });
    }
    file.read_exact_at(&mut fields, 0)?;
    let fields = numbers(&fields);
    // More sizes than there is room for stand in no header of ours.
    let count = if fields[0] == MAGIC { fields[5].min(length / 8 - FIELDS as u64) } else { 0 };
    let mut sizes = vec![0; count as usize * 8];
    file.read_exact_at(&mut sizes, FIELDS as u64 * 8)?;
    Ok(Header { fields, sizes: numbers(&sizes), length })
}

fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
}

/// The identity of an existing state, where it is one of this target.
fn accept(path: &Path, found: &Header, files: &[u64], block_bytes: u64, bytes: u64) -> Result<u64, LoadError> {
    let refuse = |reason: String| {
        let advice = "go on with what it was made for, or name another file";
        Err(LoadError::config("verify.state", format!("{} {reason}; {advice}", path.display())))
    };
    let [magic, version, blocks, _seed, identity, ..] = found.fields[..] else { unreachable!("{FIELDS} fields") };
    if magic != MAGIC {
        return refuse("is no state of a verification".into());
    }
    if version != VERSION {
        return refuse(format!("is of version {version}, not {VERSION}"));
    }
    if blocks != block_bytes {
        return refuse(format!("was made for blocks of {blocks} bytes, not {block_bytes}"));
    }
    if found.sizes != files {
        return refuse(format!("was made for files of {:?} bytes, not {files:?}", found.sizes));
    }
    if found.length != bytes {
        return refuse(format!("is {} bytes long instead of {bytes}", found.length));
    }
    Ok(identity)
}

/// Lays out a new state under a name beside, so that one that was never finished is not taken for one.
fn make(path: &Path, files: &[u64], block_bytes: u64, seed: u64, bytes: u64) -> Result<(File, u64), LoadError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part);
    let file = open.map_err(|e| LoadError::file(&part, e))?;
    lock(&file, path)?;
    // Keyed by the operating system's random numbers.
    let identity = RandomState::new().hash_one((SystemTime::now(), seed));
    let mut header = vec![MAGIC, VERSION, block_bytes, seed, identity, files.len() as u64];
    header.extend(files);
    let header: Vec<u8> = header.into_iter().flat_map(u64::to_ne_bytes).collect();
    let laid = file.set_len(0).and_then(|()| reserve(&file, bytes)).and_then(|()| file.write_all_at(&header, 0));
    match laid.and_then(|()| std::fs::rename(&part, path)) {
        Ok(()) => Ok((file, identity)),
        Err(e) => {
            // The first error is the one to tell.
            let _ = std::fs::remove_file(&part);
            Err(match e.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => LoadError::Host {
                    what: format!("{} needs {bytes} bytes", path.display()),
                    remedy: "make room, name a `verify.state` elsewhere, or choose larger blocks".into(),
                },
                _ => LoadError::file(path, e),
            })
        }
    }
}

/// The space is taken at once where the file system can: a full disk would otherwise show as a deadly signal at the
/// first touch of a page.
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    // SAFETY: a call on an open descriptor.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, bytes as libc::off_t) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        e if matches!(e.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => Ok(()),
        e => Err(e),
    }
}
