//! Transfers between medium and buffer, track by track: seek or switch, wait, pass. What the bus does meanwhile is told
//! to it ([`Outflow`]) or asked of it ([`Inflow`]).

use iojoule_units::{ModelNs, Nanos};

use crate::Op;
use crate::disk_model::DiskModel;
use crate::geometry::Spot;
use crate::mechanics::{Arm, Mechanics};
use crate::power::{Ledger, PowerState};
use crate::timing::Outflow;

/// A run of addresses to read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub lba: u64,
    pub sectors: u32,
    /// Stays on its track and goes on at the track's first sector behind its last: a rotational replica.
    pub on_track: bool,
}

/// A write's data as they arrive: the first sector is there `sector` after `first`, each further one `sector` later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inflow {
    pub first: ModelNs,
    pub sector: Nanos,
    /// The medium is not written before this.
    pub enough: ModelNs,
}

/// What a read did.
pub(crate) struct Done {
    pub at: ModelNs,
    /// The first address read, before the one asked for where free sectors are kept.
    pub from: u64,
}

impl Extent {
    /// The sectors on the track of the first one, and what is left behind it.
    #[inline]
    fn split(self, spot: &Spot, with: &Mechanics) -> (u32, Extent) {
        let here = self.sectors.min(spot.left);
        let next = if self.on_track { with.geometry.first_of(spot.track) } else { self.lba + u64::from(here) };
        (here, Extent { lba: next, sectors: self.sectors - here, on_track: self.on_track })
    }
}

impl DiskModel {
    /// Reads from `at` on; sectors go to `bus` as they come.
    pub(crate) fn read(
        &self,
        arm: &mut Arm,
        at: ModelNs,
        extent: Extent,
        bus: &mut Outflow,
        book: &mut Ledger,
    ) -> Done {
        let with = &self.mechanics;
        let (mut left, mut done) = (extent, Done { at, from: extent.lba });
        while left.sectors > 0 && left.lba < with.geometry.sectors() {
            let spot = with.geometry.spot_near(arm.track, left.lba);
            let (here, rest) = left.split(&spot, with);
            let there = with.reach(arm, done.at, &spot, Op::Read);
            book.book(PowerState::Seek, there);
            let begin = with.next_pass(arm, there, spot.angle);
            book.book(PowerState::RotateWait, begin);
            let mut in_order = here;
            if self.zero_latency[Op::Read as usize] && !extent.on_track {
                let lands = self.landing(arm, there, &spot);
                if lands > left.lba && lands < left.lba + u64::from(here) {
                    // The end of the request passed first; its beginning comes a rotation later.
                    in_order = (lands - left.lba) as u32;
                } else if self.read_free && left.lba == extent.lba {
                    done.from = if lands <= left.lba { lands } else { with.geometry.first_of(spot.track) };
                }
            }
            let end = begin + Mechanics::pass(&spot, with.geometry.slots(&spot, left.lba, u64::from(in_order)));
            book.book(PowerState::Read, end);
            bus.feed(begin + Mechanics::pass(&spot, 1), end, u64::from(in_order));
            if in_order < here {
                bus.feed(end, end, u64::from(here - in_order));
            }
            done.at = end;
            left = rest;
        }
        done
    }

    /// Writes from `at` on, each sector not before it has arrived; one that is late passes again a rotation later.
    pub(crate) fn write(&self, arm: &mut Arm, at: ModelNs, extent: Extent, data: Inflow, book: &mut Ledger) -> ModelNs {
        let with = &self.mechanics;
        let rotation = i64::from(with.rotation);
        let (mut at, mut left, mut arrives) = (at, extent, data.first);
        while left.sectors > 0 && left.lba < with.geometry.sectors() {
            let spot = with.geometry.spot_near(arm.track, left.lba);
            let (here, rest) = left.split(&spot, with);
            let there = with.reach(arm, at, &spot, Op::Write);
            book.book(PowerState::Seek, there);
            let mut begin = with.next_pass(arm, there, spot.angle);
            let slots = with.geometry.slots(&spot, left.lba, u64::from(here));
            let mut pass = Mechanics::pass(&spot, slots);
            // The bus keeps pace with the medium or falls behind it steadily: the first or the last sector decides.
            let first_due = (arrives + data.sector).max(data.enough);
            let last_due = arrives + Nanos(data.sector.0 * i64::from(here));
            let late = (first_due - begin).0.max((last_due - begin).0 - pass.0 + Mechanics::pass(&spot, 1).0);
            if late > 0 {
                begin = begin + Nanos((late + rotation - 1) / rotation * rotation);
            } else if self.zero_latency[Op::Write as usize] && !extent.on_track && last_due <= there {
                let lands = self.landing(arm, there, &spot);
                if lands > left.lba && lands < left.lba + u64::from(here) {
                    pass = Mechanics::pass(&spot, with.geometry.slots(&spot, left.lba, lands - left.lba));
                }
            }
            book.book(PowerState::RotateWait, begin);
            at = begin + pass;
            book.book(PowerState::Write, at);
            arrives = last_due;
            left = rest;
        }
        at
    }

    /// The first address of `spot`'s track to begin to pass from `there` on.
    fn landing(&self, arm: &Arm, there: ModelNs, spot: &Spot) -> u64 {
        let geometry = &self.mechanics.geometry;
        let (first, next) = (geometry.first_of(spot.track), geometry.first_of(spot.track + 1));
        let here = self.mechanics.angle(arm, there);
        let begin = geometry.angle_of(spot.track);
        let since = if here >= begin { here - begin } else { here + self.mechanics.rotation - begin };
        let nth = (u64::from(since) << 32).div_ceil(spot.sector_q);
        if first + nth < next { first + nth } else { first }
    }
}
