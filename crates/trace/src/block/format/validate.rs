//! DiskSim's validation trace as an open one: requests at the times the measured disk was asked, which its measured
//! times and pauses add up to. A simulation of the closed loop reads [`super::super::validate::lines`] instead.

use iojoule_units::{Nanos, SECTOR};

use super::super::fault::Fault;
use super::super::parse::{Line, Lines};
use super::super::validate::step;
use super::super::{Record, TimeUnit};
use super::{Format, Open, fits};

pub static FORMAT: Format = Format {
    name: "disksim-validate",
    title: "DiskSim validate (closed loop)",
    extensions: &[".validate"],
    unit: TimeUnit::Microseconds,
    unit_stated: true,
    names_devices: false,
    likeness: |head| fits(head, Loop::default()),
    open: Open::Stream(|source, _| Ok(Box::new(Lines { source, line: Loop::default() }))),
};

#[derive(Default)]
struct Loop {
    now: i64,
}

impl Line for Loop {
    fn parse(&mut self, line: &[u8]) -> Result<Option<Record>, Fault> {
        let step = step(line)?;
        let at = Nanos(self.now);
        self.now = self.now.saturating_add(step.measured.0).saturating_add(step.inter.0);
        let (offset, bytes) = (step.lba.0 * SECTOR, step.sectors * SECTOR);
        let response = Some(step.measured);
        Ok(Some(Record { at, device: 0, op: step.op, offset, bytes, asynchronous: Some(false), response }))
    }
}
