//! What a format has to do: give the next request of a file. What is the same for all formats is done here: broken
//! records are refused or counted, addresses checked against the device.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use super::fault::{Fault, Stop};
use super::source::Source;
use super::{Options, Record, TraceError};

/// A request may stand this many places from where its time puts it; beyond that the trace must be sorted.
pub const WINDOW: usize = 16 * 1024;

/// The reader of one file (or of the files of one trace) in one format. Times are absolute, on the clock of the file.
pub(crate) trait Parse: Send {
    /// The next request in the order of the file; `None` behind the last.
    fn next(&mut self) -> Result<Option<Record>, Stop>;

    /// The line or byte offset of what was read last.
    fn place(&self) -> String;

    /// Sizes in bytes of the devices whose size the file tells, known once it was opened.
    fn sizes(&self) -> Vec<(u32, u64)> {
        Vec::new()
    }

    /// What a person should know about how this file was read, at its end.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Adds requests until there are `upto`; false at the end of the file.
    fn fill(&mut self, intake: &mut Intake, into: &mut Vec<Record>, upto: usize) -> Result<bool, TraceError> {
        while into.len() < upto {
            match self.next() {
                Ok(Some(record)) => match intake.check(&record) {
                    Ok(()) => into.push(record),
                    Err(Refusal::Late(floor)) => return Err(intake.disorder(self.place(), floor - record.at.0)),
                    Err(Refusal::Fault(fault)) => intake.broken(self.place(), fault, true)?,
                },
                Ok(None) => return Ok(false),
                Err(Stop::Broken(fault)) => intake.broken(self.place(), fault, true)?,
                Err(Stop::Lost(fault)) => intake.broken(self.place(), fault, false)?,
                Err(Stop::Io(e)) => return Err(intake.io(self.place(), e)),
            }
        }
        Ok(true)
    }
}

/// A format of one request a line.
pub(crate) trait Line: Send {
    /// The request of a line; `None` where the line is none (a comment, a header, another event).
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault>;
}

/// Reads a file line by line.
pub(crate) struct Lines<L> {
    pub source: Source,
    pub line: L,
}

impl<L: Line> Parse for Lines<L> {
    #[inline]
    fn next(&mut self) -> Result<Option<Record>, Stop> {
        while let Some(line) = self.source.line()? {
            if line.is_empty() {
                continue;
            }
            match self.line.parse(line) {
                Ok(None) => {}
                Ok(some) => return Ok(some),
                Err(fault) => return Err(Stop::Broken(fault)),
            }
        }
        Ok(None)
    }

    fn place(&self) -> String {
        format!("line {}", self.source.line_number())
    }
}

/// Numbers for devices that a format names by text, in order of appearance, the same for all files read together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    shared: Arc<Mutex<Shared>>,
    known: HashMap<Vec<u8>, u32>,
    last: (Vec<u8>, u32),
}

#[derive(Debug, Default)]
struct Shared {
    first: u32,
    names: Vec<String>,
}

/// Where numbers for names begin when other inputs number their devices themselves.
const APART: u32 = 1 << 16;

impl Names {
    /// Keeps the numbers to come apart from those other inputs bring with them.
    pub fn keep_apart(&self) {
        self.lock().first = APART;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of `name`.
    #[inline]
    pub fn number(&mut self, name: &[u8]) -> u32 {
        if self.last.0 != name || self.known.is_empty() {
            self.last = (name.to_owned(), self.look_up(name));
        }
        self.last.1
    }

    fn look_up(&mut self, name: &[u8]) -> u32 {
        if let Some(&number) = self.known.get(name) {
            return number;
        }
        let text = String::from_utf8_lossy(name);
        let mut all = self.lock();
        let place = all.names.iter().position(|known| *known == text).unwrap_or_else(|| {
            all.names.push(text.into_owned());
            all.names.len() - 1
        });
        let number = all.first + place as u32;
        drop(all);
        self.known.insert(name.to_owned(), number);
        number
    }

    /// Every name, with its number.
    pub fn all(&self) -> BTreeMap<u32, String> {
        let all = self.lock();
        (all.first..).zip(all.names.iter().cloned()).collect()
    }
}

/// What every request of one input passes on its way in.
pub(crate) struct Intake {
    pub path: std::path::PathBuf,
    keep_going: bool,
    sizes: BTreeMap<u32, u64>,
    all_sizes: Option<u64>,
    bounded: bool,
    /// No request before this time can be put in order any more.
    pub floor: i64,
    last: i64,
    pub records: u64,
    pub late: u64,
    pub skipped: u64,
    pub first_skipped: Option<String>,
}

enum Refusal {
    Late(i64),
    Fault(Fault),
}

impl Intake {
    pub fn new(path: &std::path::Path, options: &Options, own: &[(u32, u64)]) -> Self {
        let mut sizes: BTreeMap<u32, u64> = own.iter().copied().collect();
        sizes.extend(&options.device_bytes);
        Self {
            path: path.to_owned(),
            keep_going: options.keep_going,
            bounded: !sizes.is_empty() || options.all_device_bytes.is_some(),
            sizes,
            all_sizes: options.all_device_bytes,
            floor: i64::MIN,
            last: i64::MIN,
            records: 0,
            late: 0,
            skipped: 0,
            first_skipped: None,
        }
    }

    #[inline]
    fn check(&mut self, record: &Record) -> Result<(), Refusal> {
        let Some(end) = record.offset.checked_add(record.bytes) else {
            return Err(Refusal::Fault(Fault::new("the request ends beyond any device")));
        };
        if self.bounded
            && let Some(&size) = self.sizes.get(&record.device).or(self.all_sizes.as_ref())
            && end > size
        {
            let reason = format!(
                "bytes {} to {end} of device {} are beyond its end at {size}: another device, another unit of the \
                 address, or a damaged trace",
                record.offset, record.device
            );
            return Err(Refusal::Fault(Fault::new(reason)));
        }
        let at = record.at.0;
        if at < self.floor {
            return Err(Refusal::Late(self.floor));
        }
        self.late += u64::from(at < self.last);
        self.last = at;
        self.records += 1;
        Ok(())
    }

    fn broken(&mut self, place: String, fault: Fault, can_go_on: bool) -> Result<(), TraceError> {
        if !self.keep_going || !can_go_on {
            return Err(TraceError::Bad { path: self.path.clone(), place, reason: fault.0.into_owned() });
        }
        self.skipped += 1;
        self.first_skipped.get_or_insert_with(|| format!("{}: {place}: {}", self.path.display(), fault.0));
        Ok(())
    }

    fn disorder(&self, place: String, back: i64) -> TraceError {
        TraceError::Disorder { path: self.path.clone(), place, back_s: back as f64 / 1e9, window: WINDOW }
    }

    pub fn io(&self, place: String, error: std::io::Error) -> TraceError {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput => {
                let reason = format!("{}; the file is damaged behind this place", crate::input::reason(&error));
                TraceError::Bad { path: self.path.clone(), place: format!("after {place}"), reason }
            }
            _ => TraceError::io(&self.path, error),
        }
    }
}
