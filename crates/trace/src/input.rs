//! A file, plain or compressed, as a stream of bytes. The compression is told from the first bytes, not from the name;
//! members and frames written one behind the other are read on.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCK: usize = 256 * 1024;

/// The contents of `path` after decompression, and what they were compressed with: `plain`, `gzip`, `zstd`, `bzip2` or
/// `xz`. `progress` counts the bytes taken from the file.
pub(crate) fn open(path: &Path, progress: Arc<AtomicU64>) -> io::Result<(&'static str, Box<dyn Read + Send>)> {
    decode(Counted { file: File::open(path)?, progress })
}

/// The contents of `file`, as [`open`] gives them.
pub(crate) fn decode(mut file: impl Read + Send + 'static) -> io::Result<(&'static str, Box<dyn Read + Send>)> {
    let mut magic = [0u8; 6];
    let mut have = 0;
    while have < magic.len() {
        match file.read(&mut magic[have..])? {
            0 => break,
            n => have += n,
        }
    }
    // Put the bytes back in front, so that a pipe can be read too.
    let source = io::Cursor::new(magic[..have].to_vec()).chain(file);
    Ok(match &magic {
        [0x1f, 0x8b, ..] => {
            ("gzip", Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(BLOCK, source))))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => ("zstd", Box::new(zstd::Decoder::new(source)?)),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            ("bzip2", Box::new(bzip2::bufread::MultiBzDecoder::new(BufReader::with_capacity(BLOCK, source))))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            ("xz", Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(BufReader::with_capacity(BLOCK, source))))
        }
        _ => ("plain", Box::new(source)),
    })
}

/// What went wrong inside compressed contents, in words.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the file ends early (truncated)".into(),
        _ => error.to_string(),
    }
}

struct Counted {
    file: File,
    progress: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(into)?;
        self.progress.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
