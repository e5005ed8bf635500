//! Takes a trace record by record and keeps what [`Info`] is made of.

use std::collections::BTreeMap;

use iojoule_record::Op;

use super::device::Device;
use super::gaps::Gaps;
use super::seeks::{Concatenated, locality};
use super::sizes::Sizes;
use super::{Info, InfoOptions};
use crate::block::{Record, TraceError};

/// Memory grows with the footprint, the number of devices and the blocks written in an hour; not with the trace.
#[derive(Clone, Debug)]
pub struct Collector {
    options: InfoOptions,
    devices: BTreeMap<u32, Device>,
    concatenated: Concatenated,
    sizes: Sizes,
    gaps: Gaps,
    asynchronous: u64,
    /// Writes that do not say whether they were waited for.
    unsaid: u64,
    trims: u64,
    flushes: u64,
    responses: u64,
    response_ns: i128,
}

impl Collector {
    /// # Errors
    /// [`TraceError::Option`] for a block size of 0.
    pub fn new(options: &InfoOptions) -> Result<Self, TraceError> {
        if options.block_bytes == 0 {
            return Err(TraceError::Option("block_bytes: a block has at least one byte".into()));
        }
        Ok(Self {
            options: options.clone(),
            devices: BTreeMap::new(),
            concatenated: Concatenated::default(),
            sizes: Sizes::default(),
            gaps: Gaps::default(),
            asynchronous: 0,
            unsaid: 0,
            trims: 0,
            flushes: 0,
            responses: 0,
            response_ns: 0,
        })
    }

    /// Takes one record; times never decrease. Memory and time grow with its bytes.
    pub fn add(&mut self, record: &Record) {
        match record.op {
            Op::Read => {}
            Op::Write => match record.asynchronous {
                Some(asynchronous) => self.asynchronous += u64::from(asynchronous),
                None => self.unsaid += 1,
            },
            Op::Trim => {
                self.trims += 1;
                return;
            }
            _ => {
                self.flushes += 1;
                return;
            }
        }
        self.gaps.arrival(record.at);
        self.sizes.add(record.bytes);
        self.concatenated.seek(record.device, record.offset, record.offset.saturating_add(record.bytes));
        if let Some(response) = record.response {
            self.responses += 1;
            self.response_ns += i128::from(response.0);
        }
        let options = &self.options;
        let device = self.devices.entry(record.device).or_insert_with(|| Device::new(options.block_bytes));
        device.add(record);
    }

    /// A device has this size, whatever was touched of it; nothing where no request goes to it.
    pub fn size(&mut self, device: u32, bytes: u64) {
        if let Some(device) = self.devices.get_mut(&device) {
            device.data_bytes = device.data_bytes.max(bytes);
        }
    }

    /// What was seen until now.
    pub fn info(&self) -> Info {
        let sum = |of: fn(&Device) -> u64| self.devices.values().map(of).sum::<u64>();
        let sum_wide = |of: fn(&Device) -> u128| self.devices.values().map(of).sum::<u128>();
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let (reads, writes) = (sum(|d| d.reads), sum(|d| d.writes));
        let ios = reads + writes;
        let duration_s = self.gaps.duration().as_secs_f64();
        let data_bytes = sum_wide(|d| u128::from(d.data_bytes));
        let mean_seek_bytes = self.concatenated.mean(self.devices.iter().map(|(&number, d)| (number, d.data_bytes)));
        let sequential = (sum(|d| d.sequential_reads), sum(|d| d.sequential_writes));
        Info {
            ios,
            duration_s,
            rate_per_s: (duration_s > 0.0).then(|| ios as f64 / duration_s),
            data_bytes,
            footprint_bytes: sum_wide(|d| u128::from(d.footprint.bytes())),
            reads: share(reads, ios),
            async_writes: if self.unsaid == 0 { share(self.asynchronous, ios) } else { None },
            seek_locality: locality(data_bytes, mean_seek_bytes),
            seek_locality_per_device: self.weighted_locality(),
            mean_seek_bytes,
            read_after_write_1h: share(sum(|d| d.rereads), ios),
            block_bytes: self.options.block_bytes,
            sequential: share(sequential.0 + sequential.1, ios),
            sequential_reads: share(sequential.0, reads),
            sequential_writes: share(sequential.1, writes),
            read_ios: reads,
            write_ios: writes,
            read_bytes: sum_wide(|d| d.read_bytes),
            write_bytes: sum_wide(|d| d.write_bytes),
            trims: self.trims,
            flushes: self.flushes,
            measured_response_mean_ms: (self.responses > 0)
                .then(|| self.response_ns as f64 / self.responses as f64 / 1e6),
            sizes: self.sizes.summary(),
            inter_arrival: self.gaps.summary(),
            devices: self.devices.iter().map(|(&number, device)| device.summary(number)).collect(),
        }
    }

    /// Devices on which nothing moved have no L and do not count.
    fn weighted_locality(&self) -> Option<f64> {
        let parts = self.devices.values().filter_map(|d| d.locality().map(|l| (l, d.ios() as f64)));
        let (sum, weight) = parts.fold((0.0, 0.0), |(sum, weight), (l, ios)| (sum + l * ios, weight + ios));
        (weight > 0.0).then(|| sum / weight)
    }
}
