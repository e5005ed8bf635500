//! Reading ahead: after a read the drive goes on reading until its segment, track or limit is full or a command stops it.
//! Nothing runs between commands: how far it has come is worked out when somebody asks.

use iojoule_units::{ModelNs, Nanos};

use crate::disk_model::DiskModel;
use crate::mechanics::{Arm, Mechanics};
use crate::power::PowerState;

/// A read-ahead under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAhead {
    pub segment: usize,
    /// The address to read next.
    pub next: u64,
    /// When the one before it had been read, or the arm was over a new track.
    pub at: ModelNs,
    pub limit: u64,
    /// Up to this address it is not to be stopped by a command that finds nothing in its segment.
    pub least: u64,
    /// When the arm is (or was) over the track.
    there: ModelNs,
}

/// How a read-ahead stands at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It has read all it wanted, and ended then.
    Ended(ModelNs),
    /// It goes on; the sector or seek it is at ends then.
    GoesOn(ModelNs),
}

impl ReadAhead {
    pub(crate) fn new(segment: usize, next: u64, at: ModelNs, limit: u64) -> Self {
        Self { segment, next, at, limit, least: next, there: at }
    }

    /// Goes on to `now`.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        with: &DiskModel,
        arm: &mut Arm,
        now: ModelNs,
        book: &mut impl FnMut(PowerState, ModelNs),
    ) -> Progress {
        let geometry = &with.mechanics.geometry;
        loop {
            if self.next >= self.limit {
                return Progress::Ended(self.at);
            }
            if self.at >= now {
                book(PowerState::Seek, self.there.min(now));
                return Progress::GoesOn(self.at);
            }
            let spot = geometry.spot_near(arm.track, self.next);
            if spot.track != arm.track {
                if !with.may_cross(spot.cylinder == arm.cylinder) {
                    self.limit = self.next;
                    return Progress::Ended(self.at);
                }
                self.at = with.mechanics.reach(arm, self.at, &spot, crate::Op::Read);
                self.there = self.at;
                continue;
            }
            book(PowerState::Seek, self.there.min(now));
            let begin = with.mechanics.next_pass(arm, self.at, spot.angle);
            book(PowerState::RotateWait, begin.min(now));
            if begin >= now {
                return Progress::GoesOn(begin);
            }
            let wanted = (self.limit - self.next).min(u64::from(spot.left));
            let end = begin + Mechanics::pass(&spot, geometry.slots(&spot, self.next, wanted));
            book(PowerState::Read, end.min(now));
            if end <= now {
                self.next += wanted;
                self.at = end;
                continue;
            }
            let passed = (((now - begin).0 as u64) << 32) / spot.sector_q;
            let read = geometry.sectors_in(&spot, self.next, passed).min(wanted - 1);
            let slots = geometry.slots(&spot, self.next, read);
            self.next += read;
            self.at = begin + Mechanics::pass(&spot, slots);
            self.there = self.at;
            return Progress::GoesOn(self.at + Nanos((spot.sector_q >> 32) as i64 + 1));
        }
    }
}
