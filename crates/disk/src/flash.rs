//! A flash drive, simple and stated. Pages lie on the channels in turn: page `p` on channel `p mod channels`; channels
//! work side by side, each does one page at a time, in the order of the commands. After a command's overhead:
//!
//! - a page is read in `read_page_us + transfer_page_us`; its data then go over the interface, one command behind the
//!   other; data of reads and of writes do not wait for each other;
//! - a page is written in `transfer_page_us + program_page_us`, once its data came over the interface; the command
//!   ends when the last page is programmed, since there is no write cache. A page written in part is read first;
//! - erasing is charged evenly: `erase_block_us / block_pages` for every page programmed. A write that does not
//!   continue the last one programs `random_write_amplification` pages for each of its own, and reads those it copies.
//!
//! The figures are those of Agrawal et al., "Design tradeoffs for SSD performance", USENIX ATC 2008, table 1.

use iojoule_units::ModelNs;

use crate::power::{Ledger, PowerState};
use crate::spec::{DriveSpec, FlashSpec};
use crate::{Command, DiskError, Op, Service};

/// The figures in whole nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct FlashModel {
    pub sectors: u64,
    pub slots: u32,
    channels: u64,
    page_sectors: u64,
    overhead: i64,
    interface_sector: i64,
    /// A page's time on its channel, after the data are there.
    read_page: i64,
    write_page: i64,
    /// As `write_page`, for a write that does not continue the last one.
    write_page_apart: i64,
    /// Before a page that is written in part.
    read_before: i64,
}

impl FlashModel {
    pub fn new(spec: &DriveSpec, flash: &FlashSpec) -> Result<Self, DiskError> {
        let refuse = |key: &str, value: f64, why: &str| DiskError::Value {
            drive: spec.name.clone(),
            key: format!("flash.{key}"),
            value: value.to_string(),
            why: why.into(),
        };
        for (key, count, most) in [
            ("channels", flash.channels, 1 << 16),
            ("page_sectors", flash.page_sectors, 1 << 16),
            ("block_pages", flash.block_pages, 1 << 20),
            ("slots", flash.slots, 1 << 16),
        ] {
            if count == 0 || count > most {
                return Err(refuse(key, f64::from(count), &format!("must be from 1 to {most}")));
            }
        }
        if flash.sectors == 0 || flash.sectors > 1 << 48 {
            return Err(refuse("sectors", flash.sectors as f64, "must be from 1 to 2^48"));
        }
        for (key, us) in [
            ("read_page_us", flash.read_page_us),
            ("program_page_us", flash.program_page_us),
            ("erase_block_us", flash.erase_block_us),
            ("transfer_page_us", flash.transfer_page_us),
            ("overhead_us", flash.overhead_us),
            ("interface_sector_us", flash.interface_sector_us),
        ] {
            if !(0.0..=1e7).contains(&us) {
                return Err(refuse(key, us, "must be from 0 to 10 s, in microseconds"));
            }
        }
        let amplification = flash.random_write_amplification;
        if !(1.0..=1000.0).contains(&amplification) {
            return Err(refuse("random_write_amplification", amplification, "must be from 1 to 1000"));
        }
        let ns = |us: f64| (us * 1e3).round() as i64;
        let programmed = flash.program_page_us + flash.erase_block_us / f64::from(flash.block_pages);
        let copied = (amplification - 1.0) * (flash.read_page_us + programmed);
        Ok(Self {
            sectors: flash.sectors,
            slots: flash.slots,
            channels: u64::from(flash.channels),
            page_sectors: u64::from(flash.page_sectors),
            overhead: ns(flash.overhead_us),
            interface_sector: ns(flash.interface_sector_us),
            read_page: ns(flash.read_page_us + flash.transfer_page_us),
            write_page: ns(flash.transfer_page_us + programmed),
            write_page_apart: ns(flash.transfer_page_us + programmed + copied),
            read_before: ns(flash.read_page_us),
        })
    }
}

/// A flash drive at work.
#[derive(Clone, Debug)]
pub(crate) struct Flash {
    /// When each channel is free.
    channels: Vec<i64>,
    /// When each of the commands under way ends.
    slots: Vec<i64>,
    /// When the interface is free for data of reads, of writes.
    out: i64,
    inward: i64,
    /// When the last read and the last write end.
    reading: i64,
    writing: i64,
    /// Where the last write ended.
    written: u64,
}

impl Flash {
    pub fn new(with: &FlashModel) -> Self {
        let (channels, slots) = (vec![0; with.channels as usize], vec![0; with.slots as usize]);
        Self { channels, slots, out: 0, inward: 0, reading: 0, writing: 0, written: 0 }
    }

    /// Begins a command at `now`, when one of the slots is free.
    pub fn start(&mut self, with: &FlashModel, now: ModelNs, command: Command, ledger: &mut Ledger) -> Service {
        self.settle(now, ledger);
        ledger.book(PowerState::Idle, now);
        let (from, sectors) = (command.lba.0, u64::from(command.sectors.max(1)));
        let end = from + sectors;
        let start = now.0 + with.overhead;
        let done = match command.op {
            Op::Read => self.read(with, start, from, end),
            Op::Write => self.write(with, start, from, end),
        };
        let until = if command.op == Op::Read { &mut self.reading } else { &mut self.writing };
        *until = done.max(*until);
        if let Some(slot) = self.slots.iter_mut().min() {
            *slot = done;
        }
        let free = self.slots.iter().copied().min().unwrap_or(done);
        Service { done: ModelNs(done), ready: ModelNs(free.max(now.0)), cached: false }
    }

    fn read(&mut self, with: &FlashModel, start: i64, from: u64, end: u64) -> i64 {
        let (mut first, mut last) = (i64::MAX, start);
        for page in from / with.page_sectors..=(end - 1) / with.page_sectors {
            let channel = &mut self.channels[(page % with.channels) as usize];
            *channel = start.max(*channel) + with.read_page;
            first = first.min(*channel);
            last = last.max(*channel);
        }
        // Pages go out as they come; the last cannot go before it is there.
        let all = (end - from) as i64 * with.interface_sector;
        let one = all.min(with.page_sectors as i64 * with.interface_sector);
        self.out = (first.max(self.out) + all).max(last + one);
        self.out
    }

    fn write(&mut self, with: &FlashModel, start: i64, from: u64, end: u64) -> i64 {
        let cost = if from == self.written { with.write_page } else { with.write_page_apart };
        self.written = end;
        let mut done = start;
        let mut arrived = start.max(self.inward);
        for page in from / with.page_sectors..=(end - 1) / with.page_sectors {
            let (low, high) = (page * with.page_sectors, (page + 1) * with.page_sectors);
            let part = end.min(high) - from.max(low);
            arrived += part as i64 * with.interface_sector;
            let before = if part < with.page_sectors { with.read_before } else { 0 };
            let channel = &mut self.channels[(page % with.channels) as usize];
            *channel = arrived.max(*channel) + before + cost;
            done = done.max(*channel);
        }
        self.inward = arrived;
        done
    }

    /// When the last command ends.
    pub fn busy_until(&self) -> ModelNs {
        ModelNs(self.reading.max(self.writing))
    }

    /// Books what was done up to `now`: writing while a write is under way, else reading while a read is. What follows
    /// is the caller's.
    pub fn settle(&self, now: ModelNs, ledger: &mut Ledger) {
        ledger.book(PowerState::Write, ModelNs(self.writing).min(now));
        ledger.book(PowerState::Read, ModelNs(self.reading).min(now));
    }

    /// As [`Flash::settle`] up to `now` or to the end of all commands, whichever is later; that instant.
    pub fn stop(&self, now: ModelNs, ledger: &mut Ledger) -> ModelNs {
        let end = self.busy_until().max(now);
        self.settle(end, ledger);
        end
    }
}

#[cfg(test)]
mod tests {
    use iojoule_units::{Lba, Nanos};

    use super::*;

    fn drive() -> (FlashModel, Flash, Ledger) {
        let spec = DriveSpec::preset("slc-ssd-2008").unwrap();
        let crate::DriveKind::Flash(flash) = &spec.kind else { panic!() };
        let with = FlashModel::new(&spec, flash).unwrap();
        let flash = Flash::new(&with);
        (with, flash, Ledger::default())
    }

    fn command(op: Op, lba: u64, sectors: u32) -> Command {
        Command { op, lba: Lba(lba), sectors, on_track: false }
    }

    /// Agrawal et al. 2008, §2: 25 µs to the register and 100 µs out; 100 µs in and 200 µs to program; an erase of
    /// 1.5 ms over 64 pages.
    #[test]
    fn a_page_takes_the_published_times() {
        let (with, mut flash, mut ledger) = drive();
        let read = flash.start(&with, ModelNs(0), command(Op::Read, 8, 8), &mut ledger);
        assert_eq!(read.done, ModelNs(125_000));
        let write = flash.start(&with, ModelNs(200_000), command(Op::Write, 0, 8), &mut ledger);
        assert_eq!(write.done, ModelNs(200_000 + 300_000 + 23_438));
    }

    #[test]
    fn as_many_pages_as_channels_take_the_time_of_one_and_one_more_doubles_it() {
        let (with, mut flash, mut ledger) = drive();
        let eight = flash.start(&with, ModelNs(0), command(Op::Read, 0, 64), &mut ledger).done;
        assert_eq!(eight, ModelNs(125_000));
        let nine = flash.start(&with, eight, command(Op::Read, 0, 72), &mut ledger).done;
        assert_eq!(nine, ModelNs(eight.0 + 250_000));
    }

    #[test]
    fn commands_on_different_channels_run_side_by_side_until_the_slots_are_taken() {
        let (with, mut flash, mut ledger) = drive();
        for page in 0..7 {
            let service = flash.start(&with, ModelNs(0), command(Op::Read, page * 8, 8), &mut ledger);
            assert_eq!((service.done, service.ready), (ModelNs(125_000), ModelNs(0)));
        }
        let last = flash.start(&with, ModelNs(0), command(Op::Read, 56, 8), &mut ledger);
        assert_eq!((last.done, last.ready), (ModelNs(125_000), ModelNs(125_000)), "eight slots");
    }

    #[test]
    fn a_page_written_in_part_is_read_first() {
        let (with, mut flash, mut ledger) = drive();
        let whole = flash.start(&with, ModelNs(0), command(Op::Write, 0, 8), &mut ledger).done;
        let part = flash.start(&with, whole, command(Op::Write, 8, 4), &mut ledger).done;
        assert_eq!(part - whole, (whole - ModelNs(0)) + Nanos(25_000));
    }

    #[test]
    fn writing_at_random_pays_for_the_copies_and_writing_in_sequence_does_not() {
        let spec = DriveSpec::preset("slc-ssd-2008").unwrap();
        let crate::DriveKind::Flash(figures) = &spec.kind else { panic!() };
        let figures = FlashSpec { random_write_amplification: 3.0, ..figures.clone() };
        let with = FlashModel::new(&spec, &figures).unwrap();
        let (mut flash, mut ledger) = (Flash::new(&with), Ledger::default());
        let first = flash.start(&with, ModelNs(0), command(Op::Write, 0, 8), &mut ledger).done;
        let next = flash.start(&with, first, command(Op::Write, 8, 8), &mut ledger).done;
        assert_eq!(next - first, first - ModelNs(0), "both continue what was written before");
        let apart = flash.start(&with, next, command(Op::Write, 800, 8), &mut ledger).done;
        assert_eq!((apart - next).0, 323_438 + 2 * (25_000 + 200_000) + 46_875);
    }

    #[test]
    fn time_with_a_write_under_way_is_writing_with_only_reads_reading_and_else_idle() {
        let (with, mut flash, mut ledger) = drive();
        flash.start(&with, ModelNs(1_000), command(Op::Read, 0, 8), &mut ledger);
        flash.start(&with, ModelNs(51_000), command(Op::Write, 8, 8), &mut ledger);
        flash.start(&with, ModelNs(1_000_000), command(Op::Read, 0, 8), &mut ledger);
        assert_eq!(ledger.dwell(PowerState::Read), Nanos(50_000));
        assert_eq!(ledger.dwell(PowerState::Write), Nanos(323_438));
        assert_eq!(ledger.dwell(PowerState::Idle), Nanos(1_000_000 - 373_438));
    }

    #[test]
    fn impossible_figures_are_refused_by_key_and_value() {
        let spec = DriveSpec::preset("slc-ssd-2008").unwrap();
        let crate::DriveKind::Flash(figures) = &spec.kind else { panic!() };
        let none = FlashSpec { channels: 0, ..figures.clone() };
        let error = FlashModel::new(&spec, &none).unwrap_err().to_string();
        assert_eq!(error, "drive `slc-ssd-2008`: flash.channels = 0: must be from 1 to 65536");
        let early = FlashSpec { read_page_us: -1.0, ..figures.clone() };
        assert!(FlashModel::new(&spec, &early).is_err());
    }
}
