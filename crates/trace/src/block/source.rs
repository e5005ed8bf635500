//! The bytes of one trace file, cut into lines or records, with the place of what was taken last.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use memchr::memchr;

use super::{Options, TraceError};
use crate::input;

/// Longest line; the longest known format has lines of 200 bytes.
pub(crate) const LINE_LIMIT: usize = 64 * 1024;
/// Smallest room of the buffer: what is looked at to tell the format.
pub(crate) const HEAD: usize = 64 * 1024;

pub(crate) struct Source {
    pub path: PathBuf,
    pub compression: &'static str,
    read: Box<dyn Read + Send>,
    /// `block[at..end]` is read and not yet taken.
    block: Vec<u8>,
    at: usize,
    end: usize,
    ended: bool,
    /// Byte offset, after decompression, of what was taken last, and of `block[at]`.
    taken: u64,
    offset: u64,
    line: u64,
}

impl Source {
    pub fn open(path: &Path, options: &Options) -> Result<Self, TraceError> {
        let (compression, read) = input::open(path, options.progress.clone()).map_err(|e| TraceError::io(path, e))?;
        Self::new(path, compression, read)
    }

    /// Contents that are in memory, under a name.
    pub fn of_bytes(name: &Path, contents: Vec<u8>) -> Result<Self, TraceError> {
        let (compression, read) = input::decode(io::Cursor::new(contents)).map_err(|e| TraceError::io(name, e))?;
        Self::new(name, compression, read)
    }

    fn new(path: &Path, compression: &'static str, read: Box<dyn Read + Send>) -> Result<Self, TraceError> {
        let block = vec![0; 2 * HEAD];
        let mut source = Self {
            path: path.to_owned(),
            compression,
            read,
            block,
            at: 0,
            end: 0,
            ended: false,
            taken: 0,
            offset: 0,
            line: 0,
        };
        // Spreadsheets put a byte-order mark before text; the same bytes may begin a binary record.
        let head = source.peek(16).map_err(|e| TraceError::io(path, e))?;
        if head.strip_prefix(b"\xef\xbb\xbf").is_some_and(|text| text.is_ascii()) {
            source.take(3);
        }
        Ok(source)
    }

    /// Up to `limit` bytes that come next, without taking them; fewer at the end of the file.
    pub fn peek(&mut self, limit: usize) -> io::Result<&[u8]> {
        while self.end - self.at < limit && !self.ended {
            self.more()?;
        }
        Ok(&self.block[self.at..self.end.min(self.at + limit)])
    }

    /// The next line without its line end; `None` behind the last.
    #[inline]
    pub fn line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut looked = 0;
        let (length, skip) = loop {
            let rest = &self.block[self.at..self.end];
            if let Some(found) = memchr(b'\n', &rest[looked..]) {
                break (looked + found, looked + found + 1);
            }
            looked = rest.len();
            if self.ended {
                if looked == 0 {
                    return Ok(None);
                }
                break (looked, looked);
            }
            if looked > LINE_LIMIT {
                let reason = format!("line {} is longer than {LINE_LIMIT} bytes: not a text trace", self.line + 1);
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            self.more()?;
        };
        let from = self.at;
        self.take(skip);
        self.line += 1;
        let line = &self.block[from..from + length];
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// The next `length` bytes; `Ok(None)` where the file ends before them and nothing is left, [`Cut`] where it ends
    /// inside them.
    pub fn record(&mut self, length: usize) -> io::Result<Option<Result<&[u8], Cut>>> {
        let have = self.peek(length)?.len();
        if have == 0 {
            return Ok(None);
        }
        if have < length {
            return Ok(Some(Err(Cut { have })));
        }
        let from = self.at;
        self.take(length);
        Ok(Some(Ok(&self.block[from..from + length])))
    }

    /// Number of the line taken last, from 1.
    pub fn line_number(&self) -> u64 {
        self.line
    }

    /// Byte offset of what was taken last.
    pub fn taken_at(&self) -> u64 {
        self.taken
    }

    /// Byte offset of what comes next.
    pub fn next_at(&self) -> u64 {
        self.offset
    }

    fn take(&mut self, length: usize) {
        self.taken = self.offset;
        self.at += length;
        self.offset += length as u64;
    }

    fn more(&mut self) -> io::Result<()> {
        if self.at > 0 {
            self.block.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        if self.end == self.block.len() {
            self.block.resize(2 * self.block.len(), 0);
        }
        match self.read.read(&mut self.block[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.end += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

/// A record that the file ends inside of.
pub(crate) struct Cut {
    pub have: usize,
}
