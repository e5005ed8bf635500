//! What is counted of one device.

use iojoule_record::Op;
use serde::Serialize;

use super::footprint::Footprint;
use super::recent::Recent;
use super::seeks::{Seeks, locality};
use crate::block::Record;

#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u128,
    pub write_bytes: u128,
    /// Reads and writes that start where the request before on this device ended.
    pub sequential_reads: u64,
    pub sequential_writes: u64,
    /// Reads of what was written less than an hour before.
    pub rereads: u64,
    /// Size of the device where it is known, else the highest address touched.
    pub data_bytes: u64,
    pub seeks: Seeks,
    pub footprint: Footprint,
    recent: Recent,
}

/// One device of a trace; shares are of its own I/Os.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceSummary {
    pub device: u32,
    pub ios: u64,
    pub reads: f64,
    pub read_bytes: u128,
    pub write_bytes: u128,
    pub data_bytes: u64,
    pub footprint_bytes: u64,
    pub sequential: f64,
    pub mean_seek_bytes: Option<f64>,
    pub seek_locality: Option<f64>,
}

impl Device {
    pub fn new(block: u64) -> Self {
        Self {
            reads: 0,
            writes: 0,
            read_bytes: 0,
            write_bytes: 0,
            sequential_reads: 0,
            sequential_writes: 0,
            rereads: 0,
            data_bytes: 0,
            seeks: Seeks::default(),
            footprint: Footprint::default(),
            recent: Recent::new(block),
        }
    }

    /// Counts one read or write.
    pub fn add(&mut self, record: &Record) {
        let end = record.offset.saturating_add(record.bytes);
        let follows = u64::from(self.seeks.seek(record.offset, end));
        self.data_bytes = self.data_bytes.max(end);
        self.footprint.touch(record.offset, record.bytes);
        if record.op == Op::Read {
            self.reads += 1;
            self.read_bytes += u128::from(record.bytes);
            self.sequential_reads += follows;
            self.rereads += u64::from(self.recent.touches(record.at, record.offset, record.bytes));
        } else {
            self.writes += 1;
            self.write_bytes += u128::from(record.bytes);
            self.sequential_writes += follows;
            self.recent.write(record.at, record.offset, record.bytes);
        }
    }

    pub fn ios(&self) -> u64 {
        self.reads + self.writes
    }

    pub fn locality(&self) -> Option<f64> {
        locality(u128::from(self.data_bytes), self.seeks.mean())
    }

    pub fn summary(&self, device: u32) -> DeviceSummary {
        let ios = self.ios() as f64;
        DeviceSummary {
            device,
            ios: self.ios(),
            reads: self.reads as f64 / ios,
            read_bytes: self.read_bytes,
            write_bytes: self.write_bytes,
            data_bytes: self.data_bytes,
            footprint_bytes: self.footprint.bytes(),
            sequential: (self.sequential_reads + self.sequential_writes) as f64 / ios,
            mean_seek_bytes: self.seeks.mean(),
            seek_locality: self.locality(),
        }
    }
}
