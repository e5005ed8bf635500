//! Histograms a second, in the log format of the HdrHistogram libraries (`HistogramLogReader` of Java, `hdrh` of
//! Python and others read it): one line of start, length, maximum and compressed histogram per second and phase, the
//! phase as the line's tag. Times of a line are nanoseconds.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::histogram::{Interval, Kind};
use crate::{RecordError, clock};

/// The logs of one run: `hist/completion_planned.hlog`, and `hist/lateness.hlog` from the first second on in which a
/// request was late.
pub struct IntervalLogs {
    folder: PathBuf,
    base_ns: i64,
    base_utc: SystemTime,
    logs: [(Kind, Option<File>); 2],
    serializer: V2DeflateSerializer,
}

impl IntervalLogs {
    /// Starts of intervals are told from now.
    pub fn new(folder: &Path) -> Self {
        let (base, utc_ns) = clock::utc_pair();
        Self {
            folder: folder.to_owned(),
            base_ns: base.0,
            base_utc: SystemTime::UNIX_EPOCH + Duration::from_nanos(utc_ns.max(0) as u64),
            logs: [(Kind::CompletionPlanned, None), (Kind::Lateness, None)],
            serializer: V2DeflateSerializer::new(),
        }
    }

    /// Host time the starts of intervals are counted from.
    pub fn base_ns(&self) -> i64 {
        self.base_ns
    }

    /// Adds the second from `start_ns` to `end_ns`.
    pub fn write(&mut self, intervals: &[Interval], start_ns: i64, end_ns: i64) -> Result<(), RecordError> {
        let since = |ns: i64, from: i64| Duration::from_nanos((ns - from).max(0) as u64);
        for (kind, log) in &mut self.logs {
            let of_kind = || intervals.iter().filter(|i| i.kind == *kind);
            // A plan that is kept to the nanosecond is no plan: a closed loop has no lateness.
            let worth = of_kind().any(|i| *kind != Kind::Lateness || i.histogram.max() > 1);
            if log.is_none() && !worth {
                continue;
            }
            let path = self.folder.join(format!("{}.hlog", kind.name()));
            let mut text = Vec::new();
            let mut builder = IntervalLogWriterBuilder::new();
            if log.is_none() {
                builder
                    .add_comment("[Histogram log format version 1.3]")
                    .add_comment(&format!(
                        "[{}, nanoseconds; one line a second and phase, the phase is its tag]",
                        kind.name()
                    ))
                    .add_comment(&format!("[Base on the monotonic clock: {} ns]", self.base_ns))
                    .with_start_time(self.base_utc)
                    .with_base_time(self.base_utc);
            }
            let failed = |reason: String| RecordError::Histogram { path: path.clone(), reason };
            let mut lines =
                builder.begin_log_with(&mut text, &mut self.serializer).map_err(|e| failed(e.to_string()))?;
            for interval in of_kind() {
                let (start, length) = (since(start_ns, self.base_ns), since(end_ns, start_ns));
                lines
                    .write_histogram(&interval.histogram, start, length, Tag::new(interval.phase.name()))
                    .map_err(|e| failed(e.to_string()))?;
            }
            let file = match log {
                Some(file) => file,
                None => log.insert(File::create(&path).map_err(|e| RecordError::io(&path, e))?),
            };
            file.write_all(&text).map_err(|e| RecordError::io(&path, e))?;
        }
        Ok(())
    }
}
