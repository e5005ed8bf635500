//! A block trace as a source of requests. Each is planned at `epoch + (its time − the first one's) / speedup`, an absolute
//! instant: a late request does not move those behind it. The first request that is played is the origin, so that
//! nobody waits for an idle start. A thread reads ahead of the plan, a few batches however long the trace.

use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use crate::LoadError;
use crate::block::config::{AtCap, ReplayLoad};
use crate::block::replay_rows::{ROWS, Rows};
use crate::block::replay_survey::{Mapping, ReplayFacts, survey};
use crate::block::source::{Io, Next, Remains, Source};
use crate::block::target::Target;
use crate::schedule::scale;

/// Batches decoded ahead. One more is being filled and one played.
const AHEAD: usize = 6;
/// When to look again where the reader has fallen behind.
const READER_NS: i64 = 200_000;

/// A trace opened, looked through and read ahead, so that its first requests are there when the clock starts.
pub(crate) struct Replay {
    /// Requests that will be issued.
    pub requests: u64,
    /// Bytes of the largest read or write among them.
    pub largest: u32,
    pub facts: ReplayFacts,
    requested: Requests,
}

impl Replay {
    /// `target` gives the files and their sizes. Reads the trace once; whatever of it cannot be played there is an
    /// error now.
    pub fn open(load: &ReplayLoad, target: &Target) -> Result<Self, LoadError> {
        if load.as_fast_as_possible && load.at_cap != AtCap::Block {
            return Err(LoadError::config(
                "at_cap",
                "as fast as possible is always at the cap, and can only block there",
            ));
        }
        if load.writes && !target.writable {
            return Err(LoadError::config("writes", "the target is not open for writing"));
        }
        let mapping = Mapping::new(load, target)?;
        let (facts, warnings) = survey(load, &mapping)?;
        let (full, batches) = sync_channel(AHEAD);
        let (empties, empty) = sync_channel(AHEAD + 2);
        for _ in 0..AHEAD + 2 {
            let _ = empties.try_send(Vec::with_capacity(ROWS));
        }
        let plan = Plan { load: load.clone(), mapping, origin_ns: facts.origin_ns, speedup: facts.speedup };
        let reader = std::thread::Builder::new()
            .name("trace".into())
            .spawn(move || plan.read(&full, &empty))
            .map_err(|source| LoadError::System { doing: "starting the reader of the trace", source })?;
        let batch = batches.recv().unwrap_or_default();
        let requested = Requests {
            epoch_ns: 0,
            timed: facts.speedup.is_some(),
            batch,
            row: 0,
            batches,
            empties,
            reader,
            taken: 0,
            requests: facts.requests,
            left_out: facts.left_out,
            warnings,
        };
        Ok(Self { requests: facts.requests, largest: facts.largest_bytes, facts, requested })
    }

    /// The one engine thread's requests; the first is planned at host time `epoch_ns`.
    pub fn source(self, epoch_ns: i64) -> Requests {
        Requests { epoch_ns, ..self.requested }
    }
}

/// What the reading thread needs.
struct Plan {
    load: ReplayLoad,
    mapping: Mapping,
    origin_ns: i64,
    /// None where no request has a time.
    speedup: Option<f64>,
}

impl Plan {
    /// Fills empty batches with requests at their times after the epoch, until the trace or the load ends.
    fn read(self, full: &SyncSender<Vec<Io>>, empty: &Receiver<Vec<Io>>) -> Result<(), LoadError> {
        let mut rows = Rows::open(&self.load)?;
        let mut seq = 0;
        while let Ok(mut batch) = empty.recv() {
            while batch.len() < ROWS {
                let Some(row) = rows.next()? else {
                    let _ = full.send(batch);
                    return Ok(());
                };
                let (file, placed) = self.mapping.place(&row, &self.load.trace)?;
                let planned_ns = self.speedup.map_or(Io::NOW, |s| scale(row.at_ns - self.origin_ns, s));
                batch.push(Io { seq, planned_ns, op: row.op, file, offset: placed.offset, bytes: placed.bytes });
                seq += 1;
            }
            if full.send(batch).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// The engine thread's end: takes batches and gives them back, and neither allocates nor frees.
pub(crate) struct Requests {
    epoch_ns: i64,
    timed: bool,
    batch: Vec<Io>,
    row: usize,
    batches: Receiver<Vec<Io>>,
    empties: SyncSender<Vec<Io>>,
    reader: JoinHandle<Result<(), LoadError>>,
    taken: u64,
    requests: u64,
    left_out: u64,
    warnings: Vec<String>,
}

impl Source for Requests {
    #[inline]
    fn next(&mut self, now: i64) -> Next {
        let io = loop {
            if let Some(io) = self.batch.get(self.row) {
                break *io;
            }
            match self.batches.try_recv() {
                Ok(batch) => {
                    let mut played = std::mem::replace(&mut self.batch, batch);
                    self.row = 0;
                    played.clear();
                    let _ = self.empties.try_send(played);
                }
                Err(TryRecvError::Empty) => return Next::At(now + READER_NS),
                Err(TryRecvError::Disconnected) => return Next::End,
            }
        };
        let planned_ns = if self.timed { self.epoch_ns + io.planned_ns } else { Io::NOW };
        if planned_ns > now {
            return Next::At(planned_ns);
        }
        self.row += 1;
        self.taken += 1;
        Next::Io(Io { planned_ns, ..io })
    }

    fn finish(self) -> Result<Remains, LoadError> {
        let Self { batches, empties, reader, taken, requests, left_out, warnings, .. } = self;
        // The reader waits for one or the other; without both it ends.
        drop((batches, empties));
        match reader.join() {
            Ok(read) => read?,
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(Remains { unplayed: requests.saturating_sub(taken), left_out, warnings })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::block::config::{Align, Remap};
    use crate::block::replay_rows::Row;
    use crate::block::replay_tables::{at, load, write};
    use crate::block::target::Place;

    const EPOCH: i64 = 5_000_000_000;

    fn target(sizes: &[u64], align: u64) -> Target {
        let place = |bytes: &u64| Place { path: "file".into(), file: None, bytes: *bytes, is_device: false };
        Target { files: sizes.iter().map(place).collect(), direct: Some(align > 1), writable: true, align }
    }

    /// Everything planned, taken as soon as it is due, and what is left at the end.
    fn play(load: &ReplayLoad, target: &Target) -> (Vec<Io>, Remains) {
        let mut source = Replay::open(load, target).unwrap().source(EPOCH);
        let (mut now, mut taken) = (EPOCH, Vec::new());
        loop {
            match source.next(now) {
                Next::Io(io) => taken.push(io),
                Next::At(due) => now = due,
                Next::End => return (taken, source.finish().unwrap()),
            }
        }
    }

    fn trace(rows: &[Row]) -> (tempfile::TempDir, ReplayLoad) {
        let folder = tempfile::tempdir().unwrap();
        let load = load(&write(folder.path(), rows));
        (folder, load)
    }

    fn refusal(load: &ReplayLoad, target: &Target) -> String {
        Replay::open(load, target).err().unwrap().to_string()
    }

    #[test]
    fn a_long_trace_comes_whole_and_in_order() {
        let rows: Vec<Row> = (0..50_000).map(|i| at(i * 1000, "read", (i as u64 % 100) * 512, 512)).collect();
        let (_folder, load) = trace(&rows);
        let (taken, remains) = play(&load, &target(&[1 << 20], 512));
        assert_eq!(remains, Remains::default());
        assert_eq!(taken.len(), rows.len());
        for (i, (io, row)) in taken.iter().zip(&rows).enumerate() {
            let wanted = Io {
                seq: i as u64,
                planned_ns: EPOCH + row.at_ns,
                op: row.op,
                file: 0,
                offset: row.offset,
                bytes: row.bytes as u32,
            };
            assert_eq!(*io, wanted);
        }
    }

    #[test]
    fn a_load_that_ends_early_leaves_the_rest_unplayed_and_the_reader_ends() {
        let rows: Vec<Row> = (0..100_000).map(|i| at(i, "read", 0, 512)).collect();
        let (_folder, load) = trace(&rows);
        let mut source = Replay::open(&load, &target(&[1 << 20], 1)).unwrap().source(EPOCH);
        assert!(matches!(source.next(EPOCH), Next::Io(_)));
        assert_eq!(source.finish().unwrap().unplayed, 99_999);
    }

    #[test]
    fn the_first_request_played_is_the_origin_and_the_idle_start_is_told() {
        let (_folder, load) = trace(&[at(0, "write", 0, 512), at(7_200_000_000_000, "read", 0, 512)]);
        let target = target(&[1 << 20], 1);
        assert_eq!(Replay::open(&load, &target).unwrap().facts.origin_ns, 7_200_000_000_000);
        let (taken, remains) = play(&load, &target);
        assert_eq!((taken[0].planned_ns, remains.left_out), (EPOCH, 1));
    }

    #[test]
    fn as_fast_as_possible_plans_nothing_and_cannot_drop() {
        let (_folder, load) = trace(&[at(0, "read", 0, 512), at(1 << 40, "read", 0, 512)]);
        let fast = ReplayLoad { as_fast_as_possible: true, ..load };
        let (taken, _) = play(&fast, &target(&[1 << 20], 1));
        assert!(taken.iter().all(|io| io.planned_ns == Io::NOW) && taken.len() == 2);
        let dropping = ReplayLoad { at_cap: AtCap::Drop, ..fast };
        assert!(refusal(&dropping, &target(&[1 << 20], 1)).starts_with("at_cap"));
    }

    #[test]
    fn a_replay_can_be_made_to_fit_a_time() {
        let (_folder, load) = trace(&[at(100, "read", 0, 512), at(1100, "read", 0, 512), at(4100, "read", 0, 512)]);
        let (taken, _) = play(&ReplayLoad { fit_ns: Some(1000), ..load }, &target(&[1 << 20], 1));
        let planned: Vec<i64> = taken.iter().map(|io| io.planned_ns - EPOCH).collect();
        assert_eq!(planned, [0, 250, 1000]);
    }

    #[test]
    fn an_address_beyond_the_target_is_refused_before_the_first_request_unless_it_is_remapped() {
        let mut rows: Vec<Row> = (0..10_000).map(|i| at(i, "read", 0, 512)).collect();
        rows.push(at(10_000, "read", 1 << 20, 512));
        let (_folder, load) = trace(&rows);
        let target = target(&[1 << 20], 512);
        let said = refusal(&load, &target);
        assert!(said.contains("row 10000") && said.contains("wrap"), "{said}");
        let wrapped = ReplayLoad { remap: Remap::Wrap, ..load.clone() };
        assert_eq!(Replay::open(&wrapped, &target).unwrap().facts.remapped, 1);
        let short = ReplayLoad { max_requests: Some(10_000), ..load };
        assert!(Replay::open(&short, &target).is_ok());
    }

    #[test]
    fn requests_of_half_a_block_are_refused_with_the_remedy_or_rounded_and_told() {
        let (_folder, load) = trace(&[at(0, "read", 512, 512), at(1, "read", 4096, 4096)]);
        let target = target(&[1 << 20], 4096);
        let said = refusal(&load, &target);
        assert!(said.contains("4096") && said.contains("direct = false") && said.contains("round"), "{said}");
        let (taken, remains) = play(&ReplayLoad { align: Align::Round, ..load }, &target);
        assert_eq!((taken[0].offset, taken[0].bytes), (0, 4096));
        assert!(remains.warnings[0].contains("1 of 2"), "{:?}", remains.warnings);
    }

    #[test]
    fn devices_named_are_played_on_the_files_in_their_order() {
        let of = |device: u32| Row { device, ..at(0, "read", 512, 512) };
        let (_folder, load) = trace(&[of(4), of(9), of(7), of(4)]);
        let (one, two) = (target(&[1 << 20], 1), target(&[1 << 20, 1 << 20], 1));
        let files = |load: &ReplayLoad, target: &Target| -> Vec<u32> {
            play(load, target).0.iter().map(|io| io.file).collect()
        };
        let named = ReplayLoad { devices: Some(vec![7, 4]), ..load.clone() };
        assert_eq!(files(&named, &two), [1, 0, 1]);
        assert_eq!(files(&named, &one), [0, 0, 0]);
        assert!(refusal(&load, &two).starts_with("devices: device 4"));
        let twice = ReplayLoad { devices: Some(vec![7, 7]), ..load };
        assert!(refusal(&twice, &two).contains("twice"));
    }

    #[test]
    fn scaling_goes_by_the_whole_trace_whatever_is_played_of_it() {
        let (_folder, load) = trace(&[at(0, "read", 1 << 20, 4096), at(1, "write", (4 << 20) - 4096, 4096)]);
        let scaled = ReplayLoad { remap: Remap::Scale, ..load };
        let (taken, _) = play(&scaled, &target(&[1 << 20], 4096));
        assert_eq!(taken[0].offset, 1 << 18);
    }

    #[test]
    fn times_that_cannot_be_meant_are_told() {
        // A tenth of a second between requests, read as seconds instead of microseconds.
        let rows: Vec<Row> = (0..200).map(|i| at(i * 100_000_000_000_000, "read", 0, 512)).collect();
        let (_folder, load) = trace(&rows);
        let source = Replay::open(&load, &target(&[1 << 20], 1)).unwrap().source(EPOCH);
        let warnings = source.finish().unwrap().warnings;
        assert!(warnings[0].contains("--time-unit"), "{warnings:?}");
    }

    #[test]
    fn a_trace_that_changes_underneath_ends_the_load_with_its_error() {
        let rows: Vec<Row> = (0..200_000).map(|i| at(i, "read", (i as u64) << 9, 512)).collect();
        let (folder, load) = trace(&rows);
        let mut source = Replay::open(&load, &target(&[1 << 30], 1)).unwrap().source(EPOCH);
        truncate(&folder.path().join("trace.parquet"));
        let mut now = EPOCH;
        while let next @ (Next::Io(_) | Next::At(_)) = source.next(now) {
            now = if let Next::At(due) = next { due } else { now };
        }
        assert!(source.finish().is_err());
    }

    fn truncate(path: &Path) {
        std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(64).unwrap();
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_request_is_planned_at_its_own_time_over_the_speedup(
            gaps in proptest::collection::vec(0i64..10_000_000, 1..200), speedup in 0.1f64..100.0,
        ) {
            let mut clock = 12_345;
            let rows: Vec<Row> = gaps.iter().map(|gap| { clock += gap; at(clock, "read", 0, 512) }).collect();
            let (_folder, load) = trace(&rows);
            let (taken, _) = play(&ReplayLoad { speedup, ..load }, &target(&[1 << 20], 1));
            for (io, row) in taken.iter().zip(&rows) {
                let exact = (row.at_ns - rows[0].at_ns) as f64 / speedup;
                prop_assert!(((io.planned_ns - EPOCH) as f64 - exact).abs() <= 0.5);
            }
        }
    }
}
