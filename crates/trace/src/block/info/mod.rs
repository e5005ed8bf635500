//! What a block trace is like: the rows of Table 3 of Yu et al. (OSDI 2000), and distributions, in one pass.
//!
//! Only reads and writes are I/Os; trims and flushes are counted beside them and enter nothing else.
//!
//! 1. [`Collector`] takes records in the order of their arrival; [`Info`] is what it tells.
//! 2. `seeks`: seek locality, by device and over the concatenation of all devices.
//! 3. `recent`: which blocks were written within an hour. `footprint`: which sectors were ever touched.
//! 4. `sizes`, `gaps`: how large requests are, and when they come.

mod collector;
mod device;
mod footprint;
mod gaps;
pub(crate) mod recent;
mod seeks;
mod sizes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use iojoule_record::Op;
use serde::{Deserialize, Serialize};

pub use collector::Collector;
pub use device::DeviceSummary;
pub use gaps::GapSummary;
pub use sizes::{CommonSize, SizeClass, SizeSummary};

use super::{Notes, Options, Record, TraceError, open};

/// Records between two looks at the request to stop.
const LOOK: u64 = 1 << 16;

/// No command of a disk moves more: SCSI and NVMe count at most 2^32 blocks, hosts far less. What is touched is noted block
/// by block, so one absurd size would cost the memory of a disk.
const LARGEST: u64 = 4 << 30;

/// How a trace is looked at.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct InfoOptions {
    /// Bytes of the blocks by which "the same data" is told for `read_after_write_1h`.
    pub block_bytes: u64,
    /// Sizes of devices where they are known, by number; elsewhere the highest address touched stands for the size.
    pub device_bytes: BTreeMap<u32, u64>,
}

impl Default for InfoOptions {
    fn default() -> Self {
        Self { block_bytes: 4096, device_bytes: BTreeMap::new() }
    }
}

/// What a trace is like. Shares are fractions from 0 to 1 of `ios`, unless said otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    /// Reads and writes.
    pub ios: u64,
    /// From the first to the last of them.
    pub duration_s: f64,
    /// `ios / duration_s`.
    pub rate_per_s: Option<f64>,
    /// Size of the data set: of each device its size where known, else the highest address touched; all added.
    pub data_bytes: u128,
    /// Distinct sectors touched, in bytes.
    pub footprint_bytes: u128,
    pub reads: Option<f64>,
    /// Writes whose issuer did not wait; `None` where any write does not say.
    pub async_writes: Option<f64>,
    /// Table 3's L with all devices put one behind the other: `data_bytes / 3` over the mean distance.
    pub seek_locality: Option<f64>,
    /// The same by device, each against its own size and its own request before; mean weighted by requests.
    pub seek_locality_per_device: Option<f64>,
    pub mean_seek_bytes: Option<f64>,
    /// I/Os that are reads of a block written less than an hour before.
    pub read_after_write_1h: Option<f64>,
    /// Granularity of `read_after_write_1h`.
    pub block_bytes: u64,
    /// I/Os that start where the request before on their device ended.
    pub sequential: Option<f64>,
    /// The same of reads alone and of writes alone, as shares of those.
    pub sequential_reads: Option<f64>,
    pub sequential_writes: Option<f64>,
    pub read_ios: u64,
    pub write_ios: u64,
    pub read_bytes: u128,
    pub write_bytes: u128,
    pub trims: u64,
    pub flushes: u64,
    /// Mean of the responses the traced system measured, over the I/Os that have one.
    pub measured_response_mean_ms: Option<f64>,
    pub sizes: SizeSummary,
    pub inter_arrival: Option<GapSummary>,
    /// By number.
    pub devices: Vec<DeviceSummary>,
}

/// Reads a trace to its end.
///
/// # Errors
/// The reader's; [`TraceError::Option`] for a block size of 0 or a request above 4 GiB; [`TraceError::Stopped`].
pub fn info<I>(records: I, options: &InfoOptions, stop: &AtomicBool) -> Result<Info, TraceError>
where
    I: IntoIterator<Item = Result<Record, TraceError>>,
{
    let mut collector = collect(records, options, stop)?;
    options.device_bytes.iter().for_each(|(&device, &bytes)| collector.size(device, bytes));
    Ok(collector.info())
}

/// What traces named by their paths are like, and what was learnt while they were read.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    #[serde(flatten)]
    pub info: Info,
    pub trace: Notes,
}

/// Opens traces as [`open`] does and reads them to their end. Sizes of devices that the trace tells count as known.
///
/// # Errors
/// Those of [`open`] and [`info`].
pub fn info_of(
    paths: &[PathBuf],
    reading: &Options,
    options: &InfoOptions,
    stop: &AtomicBool,
) -> Result<Told, TraceError> {
    let mut reader = open(paths, reading)?;
    let mut collector = collect(reader.as_mut(), options, stop)?;
    let trace = reader.notes();
    for device in &trace.devices {
        collector.size(device.number, device.bytes.unwrap_or(0));
    }
    options.device_bytes.iter().for_each(|(&device, &bytes)| collector.size(device, bytes));
    Ok(Told { info: collector.info(), trace })
}

fn collect<I>(records: I, options: &InfoOptions, stop: &AtomicBool) -> Result<Collector, TraceError>
where
    I: IntoIterator<Item = Result<Record, TraceError>>,
{
    let mut collector = Collector::new(options)?;
    for (number, record) in (0u64..).zip(records) {
        if number % LOOK == 0 && stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped);
        }
        let record = record?;
        if record.bytes > LARGEST && matches!(record.op, Op::Read | Op::Write) {
            return Err(TraceError::Option(format!(
                "request {}: {} bytes at once, more than any disk takes; are sizes in another unit?",
                number + 1,
                record.bytes
            )));
        }
        collector.add(&record);
    }
    Ok(collector)
}

#[cfg(test)]
mod tests;
