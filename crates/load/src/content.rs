//! The content tree of a replay: every object of a prepared web log as a file of its size, filled with bytes that no
//! compressor, no deduplication and no clever controller can make smaller. The same seed and object give the same
//! bytes. Generator: xoshiro256++, Blackman and Vigna, ACM TOMS 47(4), 2021.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

use crate::LoadError;
use crate::columns::{sizes, strings, unsigned};

/// Bytes generated and written at a time.
const BLOCK: usize = 1 << 20;
/// Names of files that could not be placed, as far as the summary lists them.
const LISTED: usize = 100;

/// What was made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ContentSummary {
    /// Files the tree now has of the table.
    pub files: u64,
    /// Of those, files that were there already with the right size.
    pub kept: u64,
    /// Bytes written.
    pub bytes: u64,
    pub seconds: f64,
    /// Files that cannot exist beside the others: a name is too long, or a folder and a file at once.
    pub unplaceable: u64,
    /// The first of them.
    pub unplaceable_files: Vec<String>,
    /// True where `stop` ended the work early; a later call goes on.
    pub stopped: bool,
}

/// Incompressible bytes.
pub struct Noise(Xoshiro256PlusPlus);

impl Noise {
    /// The bytes of `object` under `seed`.
    pub fn new(seed: u64, object: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ object.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    pub fn fill(&mut self, block: &mut [u8]) {
        let (words, rest) = block.as_chunks_mut::<8>();
        words.iter_mut().for_each(|word| *word = self.0.next_u64().to_le_bytes());
        let last = self.0.next_u64().to_le_bytes();
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// Makes every object of the `objects` table a file under `root`. Files that have their size already are kept, so
/// that an interrupted call can be repeated; a file appears under its name only when it is whole. A name that
/// leads out of `root` is an error before anything is written of it.
pub fn build_content(objects: &Path, root: &Path, seed: u64, stop: &AtomicBool) -> Result<ContentSummary, LoadError> {
    let begin = Instant::now();
    fs::create_dir_all(root).map_err(|e| LoadError::file(root, e))?;
    let root = root.canonicalize().map_err(|e| LoadError::file(root, e))?;
    let mut tree = Tree { root, seed, block: vec![0; BLOCK], made: HashSet::new(), summary: ContentSummary::default() };
    let file = File::open(objects).map_err(|e| LoadError::file(objects, e))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(|builder| builder.build());
    'table: for record in reader.map_err(|e| LoadError::table(objects, e))? {
        let record = record.map_err(|e| LoadError::table(objects, e))?;
        let object = unsigned(&record, "object", objects)?;
        let (name, size) = (strings(&record, "file", objects)?, sizes(&record, "size", objects)?);
        for i in 0..record.num_rows() {
            if stop.load(Relaxed) {
                tree.summary.stopped = true;
                break 'table;
            }
            tree.place(object[i], name.at(i), size[i], stop)?;
        }
    }
    tree.summary.seconds = begin.elapsed().as_secs_f64();
    Ok(tree.summary)
}

struct Tree {
    root: PathBuf,
    seed: u64,
    block: Vec<u8>,
    /// Folders known to exist and to lie under the root.
    made: HashSet<PathBuf>,
    summary: ContentSummary,
}

impl Tree {
    fn place(&mut self, object: u32, name: &str, size: u64, stop: &AtomicBool) -> Result<(), LoadError> {
        let path = self.root.join(inside(name)?);
        let clash = match self.write(object, &path, size, stop) {
            Ok(()) => return Ok(()),
            Err(e) => e,
        };
        match clash.kind() {
            ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidFilename
            | ErrorKind::DirectoryNotEmpty => {
                self.summary.unplaceable += 1;
                if self.summary.unplaceable_files.len() < LISTED {
                    self.summary.unplaceable_files.push(name.to_owned());
                }
                Ok(())
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Err(LoadError::Host {
                what: format!("no space is left under {} after {} files", self.root.display(), self.summary.files),
                remedy: format!("free {size} bytes and more, or choose another folder; what is there is kept"),
            }),
            _ => Err(LoadError::file(&path, clash)),
        }
    }

    fn write(&mut self, object: u32, path: &Path, size: u64, stop: &AtomicBool) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.root);
        if !self.made.contains(folder) {
            fs::create_dir_all(folder)?;
            // A link inside the root may lead out of it.
            if !folder.canonicalize()?.starts_with(&self.root) {
                return Err(io::Error::other("lies behind a link that leads out of the content folder"));
            }
            self.made.insert(folder.to_owned());
        }
        match fs::symlink_metadata(path) {
            Ok(there) if there.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(there) if there.is_file() && there.len() == size => {
                self.summary.files += 1;
                self.summary.kept += 1;
                return Ok(());
            }
            _ => {}
        }
        let part = folder.join(format!(".{object}.iojoule-part"));
        let whole = self.generate(object, &part, size, stop).and_then(|whole| {
            if whole {
                fs::rename(&part, path)?;
            }
            Ok(whole)
        });
        match whole {
            Ok(true) => {
                self.summary.files += 1;
                self.summary.bytes += size;
                Ok(())
            }
            Ok(false) => fs::remove_file(&part),
            Err(e) => {
                // The first error is the one to tell.
                let _ = fs::remove_file(&part);
                Err(e)
            }
        }
    }

    /// False where `stop` came in between.
    fn generate(&mut self, object: u32, part: &Path, size: u64, stop: &AtomicBool) -> io::Result<bool> {
        let mut file = File::create(part)?;
        let mut noise = Noise::new(self.seed, u64::from(object));
        let mut left = size;
        while left > 0 {
            if stop.load(Relaxed) {
                return Ok(false);
            }
            let step = left.min(BLOCK as u64) as usize;
            noise.fill(&mut self.block[..step]);
            file.write_all(&self.block[..step])?;
            left -= step as u64;
        }
        Ok(true)
    }
}

/// `name` as a relative path that stays where it is put.
fn inside(name: &str) -> Result<PathBuf, LoadError> {
    let path = PathBuf::from(name);
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || name.is_empty() || name.contains('\0') {
        let reason = format!("{name:?} does not stay inside the content folder");
        return Err(LoadError::config("objects.file", reason));
    }
    Ok(path)
}
