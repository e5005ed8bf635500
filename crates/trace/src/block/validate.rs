//! DiskSim's validation trace: `R|W Hit|Miss|Doub|Trip sector sectors measured_us inter_us`, a closed loop with one
//! request outstanding. The next request is issued `inter_us` after this one completes, so a simulation must wait for
//! its own completion; only the measured disk's arrivals can be told from the file.
//!
//! Source: DiskSim 4.0, reader of the `validate` format (disksim_iotrace.c).

use std::path::Path;

use iojoule_record::Op;
use iojoule_units::{Lba, Nanos, SECTOR};

use super::fault::{Fault, Stop};
use super::field::{Between, Fields, sectors, shown};
use super::parse::Intake;
use super::source::Source;
use super::{Options, TimeUnit, TraceError};

/// One request of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub op: Op,
    pub lba: Lba,
    pub sectors: u64,
    /// What the real disk took.
    pub measured: Nanos,
    /// From the completion of this request to the issue of the next.
    pub inter: Nanos,
}

/// The requests of a validation trace, plain or compressed, in order; ends at the first error.
pub fn lines(path: &Path) -> Result<Steps, TraceError> {
    let mut source = Source::open(path, &Options::default())?;
    if source.peek(1).map_err(|e| TraceError::io(path, e))?.is_empty() {
        return Err(TraceError::Empty { path: path.to_owned() });
    }
    Ok(Steps { source, ended: false })
}

/// What [`lines`] gives.
pub struct Steps {
    source: Source,
    ended: bool,
}

impl Iterator for Steps {
    type Item = Result<Step, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let step = match self.source.line() {
                Ok(None) => break,
                Ok(Some(line)) if line.trim_ascii().is_empty() => continue,
                Ok(Some(line)) => step(line).map_err(Stop::Broken),
                Err(e) => Err(Stop::Io(e)),
            };
            return Some(step.map_err(|stop| {
                self.ended = true;
                let (path, place) = (self.source.path.clone(), format!("line {}", self.source.line_number()));
                match stop {
                    Stop::Broken(Fault(reason)) | Stop::Lost(Fault(reason)) => {
                        TraceError::Bad { path, place, reason: reason.into_owned() }
                    }
                    Stop::Io(e) => Intake::new(&path, &Options::default(), &[]).io(place, e),
                }
            }));
        }
        self.ended = true;
        None
    }
}

pub(crate) fn step(line: &[u8]) -> Result<Step, Fault> {
    let mut fields = Fields::new(line, Between::Space);
    let op = match fields.word("R or W")? {
        b"R" => Op::Read,
        b"W" => Op::Write,
        other => return Err(Fault::new(format!("{} stands where R or W does", shown(other)))),
    };
    let label = fields.word("Hit or Miss")?;
    if !label.first().is_some_and(u8::is_ascii_alphabetic) {
        return Err(Fault::new(format!("{} stands where Hit, Miss, Doub or Trip does", shown(label))));
    }
    let lba = fields.whole("the first sector")?;
    sectors(lba, SECTOR, "sector")?;
    let count = fields.whole("the number of sectors")?;
    sectors(count, SECTOR, "length")?;
    let measured = Nanos(fields.time("the measured time", TimeUnit::Microseconds)?);
    let inter = Nanos(fields.time("the time to the next request", TimeUnit::Microseconds)?);
    fields.end()?;
    Ok(Step { op, lba: Lba(lba), sectors: count, measured, inter })
}
