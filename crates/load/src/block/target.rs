//! What is driven: block devices and files, opened once, seen as one address space one behind the other.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::LoadError;
use crate::block::config::{FileSpec, TargetSpec};

const BLKSSZGET: libc::Ioctl = 0x1268;
const BLKGETSIZE64: libc::Ioctl = 0x8008_1272_u32 as libc::Ioctl;

pub(crate) struct Target {
    pub files: Vec<Place>,
    /// `O_DIRECT`; none on the null target.
    pub direct: Option<bool>,
    pub writable: bool,
    /// Offsets and lengths must be multiples of it; 1 where buffered.
    pub align: u64,
}

/// One file or device of a target.
pub(crate) struct Place {
    pub path: PathBuf,
    /// None on the null target.
    pub file: Option<File>,
    /// Bytes used, from its start.
    pub bytes: u64,
    pub is_device: bool,
}

impl Target {
    /// Opens what `spec` names. Nothing is written or made here.
    pub fn open(spec: &TargetSpec) -> Result<Self, LoadError> {
        match spec {
            TargetSpec::Null { bytes } => {
                let null = Place { path: "null".into(), file: None, bytes: *bytes, is_device: false };
                Ok(Self { files: vec![null], direct: None, writable: true, align: 1 })
            }
            TargetSpec::Files { files, direct, writable } => {
                if files.is_empty() {
                    return Err(LoadError::config("target", "names no file"));
                }
                let (mut places, mut align) = (Vec::with_capacity(files.len()), 1);
                for spec in files {
                    let (place, block) = open(spec, *direct, *writable)?;
                    places.push(place);
                    align = align.max(block);
                }
                Ok(Self { files: places, direct: Some(*direct), writable: *writable, align })
            }
        }
    }

    pub fn is_null(&self) -> bool {
        self.direct.is_none()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|place| place.bytes).sum()
    }

    /// Refuses what the target could not do at any place: `value` is an offset or a length.
    pub fn check_aligned(&self, key: &'static str, value: u64) -> Result<(), LoadError> {
        if value.is_multiple_of(self.align) {
            return Ok(());
        }
        let reason = format!("{value} is no multiple of the {} bytes that direct access here asks for", self.align);
        Err(LoadError::config(key, reason))
    }
}

/// The file, and what direct access to it must be a multiple of (1 where buffered).
fn open(spec: &FileSpec, direct: bool, writable: bool) -> Result<(Place, u64), LoadError> {
    let path = &spec.path;
    let kind = std::fs::metadata(path).map_err(|e| LoadError::file(path, e))?.file_type();
    let is_device = kind.is_block_device();
    if !is_device && !kind.is_file() {
        return Err(LoadError::config("target", format!("{} is neither a file nor a block device", path.display())));
    }
    let mut flags = libc::O_CLOEXEC;
    if direct {
        flags |= libc::O_DIRECT;
    }
    if is_device && writable && !spec.held {
        // Of a device that is mounted, swapped on or part of another the kernel says EBUSY.
        flags |= libc::O_EXCL;
    }
    let opened = OpenOptions::new().read(true).write(writable).custom_flags(flags).open(path);
    let file = opened.map_err(|e| refusal(path, e, direct, is_device))?;
    let (size, block) = if is_device {
        (device_bytes(&file).map_err(|e| LoadError::file(path, e))?, logical_block(&file))
    } else {
        (file.metadata().map_err(|e| LoadError::file(path, e))?.len(), direct_alignment(&file))
    };
    let bytes = spec.bytes.unwrap_or(size);
    if bytes > size {
        let reason = format!("{} has {size} bytes and not {bytes}", path.display());
        return Err(LoadError::config("target", reason));
    }
    if bytes == 0 {
        return Err(LoadError::config("target", format!("{} is empty", path.display())));
    }
    let place = Place { path: path.clone(), file: Some(file), bytes, is_device };
    Ok((place, if direct { block } else { 1 }))
}

fn refusal(path: &Path, error: io::Error, direct: bool, is_device: bool) -> LoadError {
    let (what, remedy) = match error.raw_os_error() {
        Some(libc::EBUSY) if is_device => {
            (format!("{} is in use", path.display()), "unmount it or take it out of what holds it")
        }
        Some(libc::EINVAL) if direct => {
            (format!("the file system of {} has no direct access", path.display()), "set direct = false")
        }
        _ => return LoadError::file(path, error),
    };
    LoadError::Host { what, remedy: remedy.into() }
}

fn device_bytes(device: &File) -> io::Result<u64> {
    let mut bytes = 0_u64;
    // SAFETY: the kernel writes one u64 where the pointer leads.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKGETSIZE64, &mut bytes) } {
        0 => Ok(bytes),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Logical block size of a device; 512 where it will not tell.
fn logical_block(device: &File) -> u64 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int where the pointer leads.
    match unsafe { libc::ioctl(device.as_raw_fd(), BLKSSZGET, &mut bytes) } {
        0 if bytes > 0 => bytes as u64,
        _ => 512,
    }
}

/// What direct access to a file must be a multiple of, by `statx` (Linux 6.1); 512 where it does not tell.
fn direct_alignment(file: &File) -> u64 {
    // SAFETY: an all-zero statx is a valid one, the empty path with AT_EMPTY_PATH means the descriptor itself, and the
    // kernel writes inside the struct it was given.
    let stated = unsafe {
        let mut stated: libc::statx = std::mem::zeroed();
        let flags = libc::AT_EMPTY_PATH;
        let done = libc::statx(file.as_raw_fd(), c"".as_ptr(), flags, libc::STATX_DIOALIGN, &mut stated);
        (done == 0 && stated.stx_mask & libc::STATX_DIOALIGN != 0).then_some(stated.stx_dio_offset_align)
    };
    stated.filter(|align| *align > 0).map_or(512, u64::from)
}
