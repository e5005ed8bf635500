//! Which format a file has: told by its contents; the name decides between formats that look the same.

use std::path::{Path, PathBuf};

use super::super::fault::{Fault, Stop};
use super::super::parse::{Line, Names, Parse};
use super::super::source::{HEAD, Source};
use super::super::{Options, TraceError};
use super::{Format, Open, Setup, TABLE, known, named};

/// Lines looked at.
const LINES: usize = 50;
/// At least this share of them fits a format of lines.
const FITS: f64 = 0.5;

/// The beginning of a file, after decompression.
pub(crate) struct Head<'a> {
    pub bytes: &'a [u8],
    /// All of the file is here.
    pub whole: bool,
}

impl<'a> Head<'a> {
    /// The first whole lines.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> {
        let text = match memchr::memrchr(b'\n', self.bytes) {
            Some(_) if self.whole => self.bytes,
            Some(last) => &self.bytes[..last],
            None => self.bytes,
        };
        let lines = text.split(|&c| c == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        lines.filter(|line| !line.is_empty()).take(LINES)
    }
}

/// How the first lines fit a format.
pub(crate) struct Fit {
    /// Share of the lines.
    pub share: f64,
    /// Requests a second by the times as they were read; `None` where all are at one time.
    pub rate: Option<f64>,
}

/// How the first lines fit `line`.
pub(crate) fn fit(head: &Head<'_>, mut line: impl Line) -> Fit {
    let (mut good, mut all) = (0u32, 0u32);
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for text in head.lines() {
        match line.parse(text) {
            Ok(Some(record)) => {
                (good, all) = (good + 1, all + 1);
                (first, last) = (first.min(record.at.0), last.max(record.at.0));
            }
            Ok(None) => {}
            Err(_) => all += 1,
        }
    }
    let share = if good == 0 { 0.0 } else { f64::from(good) / f64::from(all) };
    Fit { share, rate: (first < last).then(|| f64::from(good) * 1e9 / (last - first) as f64) }
}

/// The share of the first lines that `line` takes.
pub(crate) fn fits(head: &Head<'_>, line: impl Line) -> f64 {
    fit(head, line).share
}

fn recognise(path: &Path, head: &Head<'_>) -> Result<&'static Format, TraceError> {
    let scores: Vec<(f64, &'static Format)> =
        TABLE.iter().map(|format| ((format.likeness)(head), *format)).filter(|(score, _)| *score >= FITS).collect();
    let best = scores.iter().map(|(score, _)| *score).fold(0.0, f64::max);
    let candidates: Vec<&'static Format> = scores.iter().filter(|(s, _)| *s == best).map(|(_, f)| *f).collect();
    match candidates[..] {
        [] => Err(TraceError::Unknown { path: path.to_owned(), known: known() }),
        [format] => Ok(format),
        _ => {
            let name = bare_name(path);
            let by_name = |f: &&Format| f.extensions.iter().any(|end| name.ends_with(end));
            let mut named = candidates.iter().copied().filter(by_name);
            match (named.next(), named.next()) {
                (Some(format), None) => Ok(format),
                _ => {
                    let candidates = candidates.iter().map(|f| f.name).collect::<Vec<_>>().join(", ");
                    Err(TraceError::Ambiguous { path: path.to_owned(), candidates })
                }
            }
        }
    }
}

/// The file's name in small letters without what a compressor put behind it.
fn bare_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let ends = [".gz", ".zst", ".bz2", ".xz"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name).to_owned()
}

/// One opened input.
pub(crate) struct Opened {
    pub path: PathBuf,
    pub format: &'static Format,
    pub compression: &'static str,
    pub parse: Box<dyn Parse>,
}

/// Begins to read every file in its format.
pub(crate) fn open_all(sources: Vec<Source>, options: &Options, names: &Names) -> Result<Vec<Opened>, TraceError> {
    let given = match options.format.as_deref() {
        None => None,
        Some(name) => Some(
            named(name)
                .ok_or_else(|| TraceError::Option(format!("format: {name:?} is not known; one of {}", known())))?,
        ),
    };
    let mut seen = Vec::new();
    for source in sources {
        seen.push(look(source, given)?);
    }
    let mut opened: Vec<Opened> = Vec::new();
    while !seen.is_empty() {
        let Looked { source, format } = seen.remove(0);
        let (path, compression) = (source.path.clone(), source.compression);
        let setup = Setup { names, unit: options.time_unit.unwrap_or(format.unit) };
        let parse = match format.open {
            Open::Stream(open) => open(source, &setup),
            Open::File(open) => open(&path),
            Open::Together(open) => {
                let mut sources = vec![source];
                if let Some(run) = run_of(&path) {
                    let same = |other: &Looked| {
                        other.format.name == format.name && run_of(&other.source.path) == Some(run.clone())
                    };
                    let (of_run, others) = seen.into_iter().partition(same);
                    seen = others;
                    sources.extend(Vec::<Looked>::into_iter(of_run).map(|l| l.source));
                }
                open(sources, &setup)
            }
        };
        let parse = parse.map_err(|stop| match stop {
            Stop::Io(e) => TraceError::io(&path, e),
            Stop::Broken(Fault(reason)) | Stop::Lost(Fault(reason)) => {
                TraceError::Bad { path: path.clone(), place: "at its beginning".into(), reason: reason.into_owned() }
            }
        })?;
        opened.push(Opened { path, format, compression, parse });
    }
    Ok(opened)
}

/// A file whose format is known.
struct Looked {
    source: Source,
    format: &'static Format,
}

fn look(mut source: Source, given: Option<&'static Format>) -> Result<Looked, TraceError> {
    let (path, compression) = (source.path.clone(), source.compression);
    let path = path.as_path();
    let damaged = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::IsADirectory => TraceError::io(path, e),
        _ => TraceError::Bad {
            path: path.to_owned(),
            place: "at its beginning".into(),
            reason: format!("{} contents: {}", compression, crate::input::reason(&e)),
        },
    };
    let bytes = source.peek(HEAD).map_err(damaged)?;
    if bytes.is_empty() {
        return Err(TraceError::Empty { path: path.to_owned() });
    }
    let head = Head { bytes, whole: bytes.len() < HEAD };
    let format = match given {
        Some(format) => format,
        None => recognise(path, &head)?,
    };
    if matches!(format.open, Open::File(_)) && compression != "plain" {
        let reason = format!("the {} inside of {compression} cannot be read; decompress it first", format.name);
        return Err(TraceError::Bad { path: path.to_owned(), place: "at its beginning".into(), reason });
    }
    Ok(Looked { source, format })
}

/// The name that the files of one run share: `x.blktrace` of `x.blktrace.3`.
fn run_of(path: &Path) -> Option<PathBuf> {
    let name = path.to_str()?;
    let ends = [".gz", ".zst", ".bz2", ".xz"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let (run, cpu) = name.rsplit_once('.')?;
    (!cpu.is_empty() && cpu.bytes().all(|c| c.is_ascii_digit())).then(|| run.into())
}
