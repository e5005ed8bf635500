//! Log files, plain or compressed, as a stream of lines in bounded memory.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use memchr::{memchr, memrchr};

use super::WeblogError;
use crate::input::{open, reason};

/// Longer lines are counted and skipped; Apache and nginx cut a request at 8 KiB by default.
pub const LINE_LIMIT: usize = 64 * 1024;
const BLOCK: usize = 256 * 1024;

/// One line of the input, without its line feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Line(&'a [u8]),
    /// A line longer than [`LINE_LIMIT`].
    TooLong,
    /// What stood behind the last line feed when damaged contents broke off.
    CutOff,
}

/// What was found in one file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct FileRead {
    pub path: PathBuf,
    /// `plain`, `gzip`, `zstd`, `bzip2` or `xz`.
    pub compression: &'static str,
    /// Number of its first line, counted over all inputs.
    pub first_line: u64,
    pub lines: u64,
    /// Bytes after decompression.
    pub bytes: u64,
    /// Why reading stopped early.
    pub damage: Option<String>,
}

impl FileRead {
    pub fn damaged(&self) -> Result<(), WeblogError> {
        self.damage.clone().map_or(Ok(()), |reason| {
            Err(WeblogError::Damaged {
                path: self.path.clone(),
                compression: self.compression,
                line: self.lines,
                offset: self.bytes,
                reason,
            })
        })
    }
}

/// Calls `each` with the number (from 1, over all files) and contents of every line. Damaged compressed contents end
/// their file and are told in its [`FileRead`]; a file that cannot be read at all is an error.
pub fn read_lines(
    paths: &[PathBuf],
    stop: &AtomicBool,
    mut each: impl FnMut(u64, Piece<'_>) -> Result<(), WeblogError>,
) -> Result<Vec<FileRead>, WeblogError> {
    if paths.is_empty() {
        return Err(WeblogError::Option("no log file named".into()));
    }
    let mut line = 0;
    paths
        .iter()
        .map(|path| {
            let (compression, source) = open(path, Arc::default()).map_err(|e| WeblogError::io(path, e))?;
            let mut file =
                FileRead { path: path.clone(), compression, first_line: line + 1, lines: 0, bytes: 0, damage: None };
            let end = cut(source, &mut file.bytes, stop, |piece| {
                line += 1;
                each(line, piece)
            });
            file.lines = line + 1 - file.first_line;
            match end {
                Ok(()) => {}
                Err(Stopped::Read(e)) if compression == "plain" => return Err(WeblogError::io(path, e)),
                Err(Stopped::Read(e)) => file.damage = Some(reason(&e)),
                Err(Stopped::Caller(e)) => return Err(e),
            }
            Ok(file)
        })
        .collect()
}

/// `a.log, b.log`, for messages.
pub(crate) fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

enum Stopped {
    Read(io::Error),
    Caller(WeblogError),
}

fn cut(
    mut source: Box<dyn Read>,
    bytes: &mut u64,
    stop: &AtomicBool,
    mut each: impl FnMut(Piece<'_>) -> Result<(), WeblogError>,
) -> Result<(), Stopped> {
    let mut block = vec![0u8; BLOCK + LINE_LIMIT];
    // `block[..kept]` is the begun line; `skipping` while a line beyond the limit goes on.
    let (mut kept, mut skipping) = (0, false);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Stopped::Caller(WeblogError::Stopped));
        }
        let read = match source.read(&mut block[kept..kept + BLOCK]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => {
                if kept > 0 || skipping {
                    each(Piece::CutOff).map_err(Stopped::Caller)?;
                }
                return Err(Stopped::Read(e));
            }
            Ok(0) if skipping => return each(Piece::TooLong).map_err(Stopped::Caller),
            Ok(0) if kept > 0 => return each(piece(&block[..kept])).map_err(Stopped::Caller),
            Ok(0) => return Ok(()),
            Ok(read) => read,
        };
        *bytes += read as u64;
        let end = kept + read;
        let Some(last) = memrchr(b'\n', &block[kept..end]).map(|at| kept + at) else {
            // No line feed: keep the line while it may still be short enough.
            kept = if skipping || end > LINE_LIMIT { 0 } else { end };
            skipping |= kept == 0;
            continue;
        };
        let mut text = &block[..=last];
        if skipping {
            let at = memchr(b'\n', text).unwrap_or(last);
            each(Piece::TooLong).map_err(Stopped::Caller)?;
            (skipping, text) = (false, &text[at + 1..]);
        }
        while let Some(at) = memchr(b'\n', text) {
            each(piece(&text[..at])).map_err(Stopped::Caller)?;
            text = &text[at + 1..];
        }
        block.copy_within(last + 1..end, 0);
        kept = end - (last + 1);
        if kept > LINE_LIMIT {
            (kept, skipping) = (0, true);
        }
    }
}

fn piece(line: &[u8]) -> Piece<'_> {
    if line.len() > LINE_LIMIT { Piece::TooLong } else { Piece::Line(line) }
}

#[cfg(test)]
#[path = "input_tests.rs"]
mod tests;
