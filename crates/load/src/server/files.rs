//! From the path of a request to an open file. The kernel itself keeps the lookup inside the root
//! (`openat2` with `RESOLVE_BENEATH`), so that neither `..` nor a link can lead out.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;

/// Files one thread keeps open.
pub(crate) const CACHED: usize = 1024;
/// A file is looked up anew after this long, so that a changed tree is seen.
const FRESH_NS: i64 = 1_000_000_000;

/// A regular file, ready to be sent.
pub(crate) struct Served {
    pub file: OwnedFd,
    pub size: u64,
    pub kind: &'static str,
}

/// Why a path has no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The path itself is broken: 400.
    Bad,
    /// Nothing is there that may be served: 404.
    NotFound,
}

/// Opens files under one root and keeps the last ones open.
pub(crate) struct Files<'a> {
    root: &'a OwnedFd,
    open: HashMap<Vec<u8>, (i64, Rc<Served>)>,
}

impl<'a> Files<'a> {
    pub fn new(root: &'a OwnedFd) -> Self {
        Self { root, open: HashMap::new() }
    }

    /// The file `target` of a request line names.
    pub fn find(&mut self, target: &str, now: i64) -> Result<Rc<Served>, Missing> {
        if let Some((looked, served)) = self.open.get(target.as_bytes())
            && now - looked < FRESH_NS
        {
            return Ok(served.clone());
        }
        let served = Rc::new(self.look(target)?);
        if self.open.len() >= CACHED {
            // Seldom, and cheaper than keeping an order among all files at every request.
            self.open.clear();
        }
        self.open.insert(target.as_bytes().to_vec(), (now, served.clone()));
        Ok(served)
    }

    fn look(&self, target: &str) -> Result<Served, Missing> {
        let path = target.split(['?', '#']).next().unwrap_or("");
        let path = decoded(path.strip_prefix('/').ok_or(Missing::Bad)?).ok_or(Missing::Bad)?;
        let as_folder = path.is_empty() || path.ends_with(b"/");
        let name = if as_folder { [&path[..], b"index.html"].concat() } else { path };
        let file = self.open_beneath(&name)?;
        let state = state(&file)?;
        match state.st_mode & libc::S_IFMT {
            libc::S_IFREG => Ok(Served { file, size: state.st_size as u64, kind: kind(&name) }),
            libc::S_IFDIR if !as_folder => {
                let name = [&name[..], b"/index.html"].concat();
                let file = self.open_beneath(&name)?;
                let state = self::state(&file)?;
                let regular = state.st_mode & libc::S_IFMT == libc::S_IFREG;
                regular.then(|| Served { file, size: state.st_size as u64, kind: kind(&name) }).ok_or(Missing::NotFound)
            }
            _ => Err(Missing::NotFound),
        }
    }

    fn open_beneath(&self, name: &[u8]) -> Result<OwnedFd, Missing> {
        let name = CString::new(name).map_err(|_| Missing::Bad)?;
        // SAFETY: open_how is plain integers, for which zero is valid.
        let mut how: libc::open_how = unsafe { MaybeUninit::zeroed().assume_init() };
        // Nonblocking, because a FIFO in the tree would hold up the whole server.
        how.flags = (libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK) as u64;
        how.resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_MAGICLINKS;
        // SAFETY: the name ends with a zero byte, the structure has the size given, both outlive the call.
        let fd = unsafe {
            let how = &raw const how;
            libc::syscall(libc::SYS_openat2, self.root.as_raw_fd(), name.as_ptr(), how, size_of::<libc::open_how>())
        };
        if fd < 0 {
            return Err(Missing::NotFound);
        }
        // SAFETY: the call succeeded, so the descriptor is open and ours.
        Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
    }
}

fn state(file: &OwnedFd) -> Result<libc::stat, Missing> {
    let mut state = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: fstat fills the structure where it returns 0.
    unsafe {
        match libc::fstat(file.as_raw_fd(), state.as_mut_ptr()) {
            0 => Ok(state.assume_init()),
            _ => Err(Missing::NotFound),
        }
    }
}

/// Sends up to `left` bytes of `file` from `offset`; 0 where the file has become shorter.
pub(crate) fn send(socket: &OwnedFd, file: &OwnedFd, offset: u64, left: u64) -> io::Result<usize> {
    let mut offset = offset as libc::off_t;
    let most = left.min(1 << 20) as usize;
    // SAFETY: both descriptors are open and the offset outlives the call.
    match unsafe { libc::sendfile(socket.as_raw_fd(), file.as_raw_fd(), &mut offset, most) } {
        n if n < 0 => Err(io::Error::last_os_error()),
        n => Ok(n as usize),
    }
}

/// Percent-decoding, RFC 3986 §2.1; `None` where a `%` is followed by no number or a zero byte results.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'%' => {
                let digit = |b: Option<u8>| (b? as char).to_digit(16);
                (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8
            }
            other => other,
        };
        if byte == 0 {
            return None;
        }
        out.push(byte);
    }
    Some(out)
}

fn kind(name: &[u8]) -> &'static str {
    let extension = name.rsplit(|b| *b == b'.').next().unwrap_or(b"");
    match extension.to_ascii_lowercase().as_slice() {
        b"html" | b"htm" => "text/html",
        b"css" => "text/css",
        b"js" => "text/javascript",
        b"json" => "application/json",
        b"txt" => "text/plain",
        b"xml" => "application/xml",
        b"gif" => "image/gif",
        b"jpg" | b"jpeg" => "image/jpeg",
        b"png" => "image/png",
        b"svg" => "image/svg+xml",
        b"pdf" => "application/pdf",
        b"mpg" | b"mpeg" => "video/mpeg",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_are_decoded_or_refused() {
        assert_eq!(decoded("a%20b%2F").unwrap(), b"a b/");
        for bad in ["%", "%2", "%zz", "a%00b"] {
            assert!(decoded(bad).is_none(), "{bad}");
        }
    }
}
