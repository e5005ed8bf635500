//! Many jobs over all cores. Every point that finishes is one line of a file, written at once; a sweep that was killed
//! goes on with the points that have none.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::{Control, Job, Kind, Policies, SimError, Summary, simulate};

/// One job of a sweep. `key` names everything the result depends on: with another key it is another point.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    pub index: u64,
    pub key: String,
    pub job: Job,
}

/// One line of the file of results.
#[derive(Serialize)]
struct Line<'a> {
    index: u64,
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a Summary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// How many points a sweep finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    pub finished: u64,
    /// Of these, points whose design or trace is at fault; their lines say why.
    pub failed: u64,
}

/// Simulates `points` on `threads` threads and adds a line to `results` for each. Points of a stopped sweep that have not
/// finished leave no line. The lines stand in the order in which points finish; what they say does not depend on it.
pub fn sweep(
    points: &[Point],
    results: &Path,
    threads: usize,
    policies: &dyn Policies,
    stop: &AtomicBool,
    control: &Control,
) -> Result<Swept, SimError> {
    let lines = Mutex::new(Lines::open(results)?);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()
        .map_err(|e| SimError::Internal(format!("cannot start threads: {e}")))?;
    let (next, failed) = (AtomicUsize::new(0), AtomicU64::new(0));
    // One point's fault is that point's; what cannot be written ends the sweep.
    let broken = AtomicBool::new(false);
    let work = || -> Result<(), SimError> {
        while !broken.load(Relaxed) {
            let Some(point) = points.get(next.fetch_add(1, Relaxed)) else { break };
            let outcome = simulate(&point.job, policies, stop, &Control::default());
            let (summary, error) = match &outcome {
                Ok(summary) => (Some(summary), None),
                Err(error) if matches!(error.kind(), Kind::Interrupted | Kind::Output) => return outcome.map(drop),
                Err(error) => (None, Some(error.to_string())),
            };
            failed.fetch_add(u64::from(error.is_some()), Relaxed);
            let line = Line { index: point.index, key: &point.key, summary, error };
            lines.lock().unwrap_or_else(PoisonError::into_inner).add(&line)?;
            control.requests.fetch_add(1, Relaxed);
        }
        Ok(())
    };
    let outcomes = pool.broadcast(|_| work().inspect_err(|_| broken.store(true, Relaxed)));
    outcomes.into_iter().collect::<Result<(), SimError>>()?;
    Ok(Swept { finished: control.requests.load(Relaxed), failed: failed.into_inner() })
}

/// A file that is added to line by line.
struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    /// Opens the file behind its last whole line: a line that a kill cut short is taken off.
    fn open(path: &Path) -> Result<Self, SimError> {
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |at| at as u64 + 1);
            file.set_len(whole)?;
            file.seek(SeekFrom::Start(whole))?;
            Ok(file)
        };
        let file = open().map_err(|e| SimError::output(path, e))?;
        Ok(Self { path: path.to_owned(), file })
    }

    fn add(&mut self, line: &Line<'_>) -> Result<(), SimError> {
        let mut text = serde_json::to_vec(line).map_err(|e| SimError::Internal(e.to_string()))?;
        text.push(b'\n');
        self.file.write_all(&text).map_err(|e| SimError::output(&self.path, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_a_kill_cut_short_is_taken_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        std::fs::write(&path, "{\"index\":0}\n{\"index\":1,\"ke").unwrap();
        let line = Line { index: 2, key: "k", summary: None, error: None };
        Lines::open(&path).unwrap().add(&line).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"index\":0}\n{\"index\":2,\"key\":\"k\"}\n");
    }
}
