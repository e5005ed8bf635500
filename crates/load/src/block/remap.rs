//! Brings the addresses of a trace onto a target of another size. Pages of 4 KiB are what is moved: a request keeps
//! its place inside its page, so that what was aligned stays aligned.

use iojoule_record::Op;

use crate::block::config::{Align, Remap};

const PAGE: u64 = 4096;
/// The most the kernel transfers in one call (`MAX_RW_COUNT`).
pub(crate) const MOST: u64 = 0x7fff_f000;

/// Where a request of the trace goes on its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub offset: u64,
    pub bytes: u32,
    /// It goes elsewhere than the trace says.
    pub remapped: bool,
    /// It would have crossed the end and was moved back to end there.
    pub moved_back: bool,
    /// Bytes that whole blocks made it longer by; it may also begin earlier.
    pub rounded: Option<u64>,
}

/// Why a request has no place on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Not whole blocks of this many bytes.
    Misaligned(u64),
    /// Its end lies beyond a target of this many bytes.
    Beyond(u64),
    /// Longer than the target or than one call can be.
    TooLong(u64),
}

/// One file of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground {
    /// Its size.
    pub bytes: u64,
    /// Offsets and sizes must be multiples of it: what `O_DIRECT` asks for; 1 where nothing does.
    pub block_bytes: u32,
    /// Size of what the trace was taken on, for [`Remap::Scale`].
    pub trace_bytes: u64,
}

impl Ground {
    /// Whole pages, so that wrapping and scaling keep alignment; whole blocks where there is not one page.
    fn usable(&self) -> (u64, u64) {
        let block = u64::from(self.block_bytes.max(1));
        let unit = PAGE.next_multiple_of(block);
        let unit = if self.bytes >= unit { unit } else { block };
        (self.bytes - self.bytes % unit, unit)
    }

    /// Where a read, write or trim of `bytes` (not 0) at `offset` goes.
    pub fn place(&self, op: Op, offset: u64, bytes: u64, remap: Remap, align: Align) -> Result<Placed, Misfit> {
        let block = u64::from(self.block_bytes.max(1));
        let most = if op == Op::Trim { u64::from(u32::MAX) - PAGE } else { MOST };
        if bytes > most {
            return Err(Misfit::TooLong(most));
        }
        let end = offset.checked_add(bytes).ok_or(Misfit::Beyond(self.bytes))?;
        let (start, end, rounded) = if offset.is_multiple_of(block) && bytes.is_multiple_of(block) {
            (offset, end, None)
        } else if align == Align::Round {
            let (start, end) = (offset - offset % block, end.checked_next_multiple_of(block));
            let end = end.ok_or(Misfit::Beyond(self.bytes))?;
            (start, end, Some(end - start - bytes))
        } else {
            return Err(Misfit::Misaligned(block));
        };
        let (usable, unit) = self.usable();
        let bytes = end - start;
        if remap != Remap::Refuse && bytes > usable {
            return Err(Misfit::TooLong(usable));
        }
        let goal = match remap {
            Remap::Refuse if end > self.bytes => return Err(Misfit::Beyond(self.bytes)),
            Remap::Refuse => start,
            Remap::Wrap => start % usable,
            Remap::Scale => {
                let page = u128::from(start / unit) * u128::from(usable / unit);
                // Beyond a told size there is nothing to scale to; the end is as near as it gets.
                let page = page / u128::from((self.trace_bytes.div_ceil(unit)).max(1));
                u64::try_from(page).map_or(usable, |page| page.saturating_mul(unit).saturating_add(start % unit))
            }
        };
        let moved_back = remap != Remap::Refuse && goal > usable - bytes;
        let place = if moved_back { (usable - bytes) / block * block } else { goal };
        let bytes = bytes as u32;
        Ok(Placed { offset: place, bytes, remapped: place != start, moved_back, rounded })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ground(bytes: u64, block_bytes: u32, trace_bytes: u64) -> Ground {
        Ground { bytes, block_bytes, trace_bytes }
    }

    #[test]
    fn what_fits_is_left_where_it_is_by_every_rule() {
        let ground = ground(1 << 20, 512, 1 << 20);
        for remap in [Remap::Refuse, Remap::Wrap, Remap::Scale] {
            let placed = ground.place(Op::Read, 66_048, 1536, remap, Align::Refuse).unwrap();
            let as_it_was = Placed { offset: 66_048, bytes: 1536, remapped: false, moved_back: false, rounded: None };
            assert_eq!(placed, as_it_was);
        }
    }

    #[test]
    fn a_request_beyond_the_end_is_refused_and_one_up_to_it_is_not() {
        let ground = ground(10_000, 1, 0);
        assert!(ground.place(Op::Read, 9_000, 1_000, Remap::Refuse, Align::Refuse).is_ok());
        assert_eq!(ground.place(Op::Read, 9_000, 1_001, Remap::Refuse, Align::Refuse), Err(Misfit::Beyond(10_000)));
        assert_eq!(ground.place(Op::Read, u64::MAX, 2, Remap::Wrap, Align::Refuse), Err(Misfit::Beyond(10_000)));
    }

    #[test]
    fn wrapping_is_the_remainder_and_a_crossing_request_is_moved_back() {
        let ground = ground((1 << 20) + 100, 512, 0);
        let at = |offset, bytes| {
            let placed = ground.place(Op::Read, offset, bytes, Remap::Wrap, Align::Refuse).unwrap();
            (placed.offset, placed.moved_back)
        };
        assert_eq!(at(3 * (1 << 20) + 512, 512), (512, false));
        assert_eq!(at((1 << 20) - 512, 1024), ((1 << 20) - 1024, true));
    }

    #[test]
    fn blocks_that_are_not_whole_are_refused_or_rounded_outwards() {
        let ground = ground(1 << 20, 4096, 0);
        let place = |align| ground.place(Op::Read, 4608, 3584, Remap::Refuse, align);
        assert_eq!(place(Align::Refuse), Err(Misfit::Misaligned(4096)));
        let placed = place(Align::Round).unwrap();
        assert_eq!((placed.offset, placed.bytes, placed.rounded), (4096, 4096, Some(512)));
    }

    #[test]
    fn more_than_one_call_can_move_is_refused() {
        let ground = ground(1 << 40, 1, 0);
        assert_eq!(ground.place(Op::Read, 0, 1 << 31, Remap::Refuse, Align::Refuse), Err(Misfit::TooLong(MOST)));
        assert!(ground.place(Op::Trim, 0, 1 << 31, Remap::Refuse, Align::Refuse).is_ok());
    }

    fn trace() -> impl Strategy<Value = (u64, u64)> {
        (0u64..1 << 44, prop_oneof![Just(1u64), 1u64..256, Just(100_000)]).prop_map(|(at, n)| (at * 512, n * 512))
    }

    fn target() -> impl Strategy<Value = (u64, u32)> {
        (prop_oneof![4096u64..1 << 20, 4096u64..1 << 44], prop_oneof![Just(1u32), Just(512), Just(4096)])
    }

    proptest! {
        #[test]
        fn a_remapped_request_lies_on_the_target_whole_and_aligned(
            (offset, bytes) in trace(), (size, block) in target(), trace_bytes in 1u64..1 << 50, scale in any::<bool>(),
        ) {
            let ground = ground(size, block, trace_bytes);
            let remap = if scale { Remap::Scale } else { Remap::Wrap };
            match ground.place(Op::Read, offset, bytes, remap, Align::Round) {
                Ok(placed) => {
                    prop_assert!(placed.offset + u64::from(placed.bytes) <= size);
                    prop_assert!(placed.offset.is_multiple_of(u64::from(block)));
                    prop_assert!(u64::from(placed.bytes).is_multiple_of(u64::from(block)));
                    prop_assert_eq!(u64::from(placed.bytes), bytes + placed.rounded.unwrap_or(0));
                    if placed.rounded.is_none() && !placed.moved_back {
                        prop_assert_eq!(placed.offset % 4096, offset % 4096);
                    }
                }
                Err(misfit) => prop_assert!(matches!(misfit, Misfit::TooLong(most) if bytes + 8192 > most)),
            }
        }

        #[test]
        fn scaling_keeps_the_order_of_pages(
            a in 0u64..1 << 44, b in 0u64..1 << 44, (size, block) in target(), trace_bytes in 4096u64..1 << 44,
        ) {
            let ground = ground(size, block, trace_bytes);
            let page = |at: u64| {
                ground.place(Op::Read, at / 4096 * 4096, 4096, Remap::Scale, Align::Refuse).unwrap().offset
            };
            prop_assert!(page(a.min(b)) <= page(a.max(b)));
        }

        #[test]
        fn scaling_reaches_both_ends(pages in 2u64..1 << 30, trace_pages in 2u64..1 << 30) {
            let ground = ground(pages * 4096, 512, trace_pages * 4096);
            let at = |page: u64| {
                ground.place(Op::Read, page * 4096, 4096, Remap::Scale, Align::Refuse).unwrap().offset / 4096
            };
            prop_assert_eq!(at(0), 0);
            let last = at(trace_pages - 1);
            prop_assert!(last < pages && last + pages.div_ceil(trace_pages) >= pages);
        }
    }
}
