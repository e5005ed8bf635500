//! From logs to a replay table: the master log and request log of WebClient (Wang et al., "PARAID", and its measurement
//! framework, §4.4) in one Parquet file, with names that tell nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use super::WeblogError;
use super::info::{BrokenLines, by_reason};
use super::input::{FileRead, Piece, read_lines};
use super::keeper::Keeper;
use super::key::key_for;
use super::line::Line;
use super::names::Names;
use super::prepare_options::PrepareOptions;
use super::sort::{Kept, Merged};
use super::spread::offsets_ns;
use super::table::{ReplayWriter, write_objects};
use super::time::iso;
use crate::staged::Staged;

/// What was written and what was left out.
#[derive(Clone, Debug, Serialize)]
pub struct Prepared {
    pub output: PathBuf,
    pub objects_output: PathBuf,
    pub key_file: Option<PathBuf>,
    pub files: Vec<FileRead>,
    pub lines: u64,
    pub parsed: u64,
    pub malformed: u64,
    pub malformed_by_reason: BTreeMap<&'static str, BrokenLines>,
    pub requests: u64,
    pub objects: u64,
    pub clients: u64,
    /// Bytes of all objects together: the size of the content tree.
    pub content_bytes: u64,
    /// Parsed lines that are not in the table, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Kept lines whose stamp is earlier than that of the kept line before.
    pub out_of_order: u64,
    pub sizes_missing: u64,
    pub first: String,
    pub last: String,
    pub span_ns: i64,
    pub names: Names,
    pub warnings: Vec<String>,
}

/// Reads the logs (twice where a rule must know a host's whole behaviour) and writes both tables.
pub fn prepare(options: &PrepareOptions, stop: &AtomicBool) -> Result<Prepared, WeblogError> {
    let output = &options.output;
    let objects_output = objects_beside(output);
    for path in [output, &objects_output] {
        if path.exists() && !options.force {
            return Err(WeblogError::Exists { path: path.clone() });
        }
    }
    let key = key_for(options.names, options.key_file.as_deref(), output)?;
    let folder = output.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut keeper = Keeper::new(options, &key, folder)?;
    if keeper.rules.must_learn() {
        read_lines(&options.paths, stop, |_, piece| {
            if let Piece::Line(text) = piece
                && let Ok(line) = Line::parse(text)
            {
                keeper.rules.learn(&line);
            }
            Ok(())
        })?;
    }
    let files = read_lines(&options.paths, stop, |number, piece| keeper.piece(number, piece))?;
    if !options.allow_damaged {
        files.iter().try_for_each(FileRead::damaged)?;
    }
    let lines: u64 = files.iter().map(|f| f.lines).sum();
    keeper.nothing_kept(&options.paths, lines)?;

    let (first, last) = (keeper.first, keeper.last);
    let last_ns = match options.spread {
        true => offsets_ns(options.seed, last, keeper.in_last).last().copied().unwrap_or(0),
        false => 0,
    };
    let span_ns = (last - first) * 1_000_000_000 + last_ns;
    let metadata = metadata(options, &keeper, span_ns);
    let staged_objects = Staged::new(&objects_output);
    let content_bytes = write_objects(&staged_objects.temporary, &keeper.objects)?;
    let staged = Staged::new(output);
    let mut table = ReplayWriter::create(&staged.temporary, &metadata, &keeper.objects.list, &keeper.methods)?;
    let sorted = keeper.sorter.finish().map_err(|e| WeblogError::io(folder, e))?;
    let seed = options.spread.then_some(options.seed);
    place(sorted, seed, stop, |second, offset, kept| table.push((second - first) * 1_000_000_000 + offset, kept))
        .map_err(|e| if let WeblogError::Io { source, .. } = e { WeblogError::io(folder, source) } else { e })?;
    table.close()?;
    key.store()?;
    staged_objects.publish(WeblogError::io)?;
    staged.publish(WeblogError::io)?;

    let mut warnings = Vec::new();
    if options.names == Names::Sha1 {
        warnings
            .push("SHA-1 of a bare name can be undone by hashing guessed names; use hmac to hand the table on".into());
    }
    warnings
        .extend(files.iter().filter_map(|f| f.damaged().err()).map(|e| format!("{e}; the table holds what was read")));
    Ok(Prepared {
        output: output.clone(),
        objects_output,
        key_file: key.path(),
        files,
        lines,
        parsed: keeper.parsed,
        malformed: keeper.broken.iter().map(|b| b.count).sum(),
        malformed_by_reason: by_reason(&keeper.broken),
        requests: keeper.kept,
        objects: keeper.objects.list.len() as u64,
        clients: keeper.clients.len() as u64,
        content_bytes,
        left_out: keeper.left_out,
        out_of_order: keeper.out_of_order,
        sizes_missing: keeper.sizes_missing,
        first: iso(first),
        last: iso(last),
        span_ns,
        names: options.names,
        warnings,
    })
}

fn objects_beside(output: &Path) -> PathBuf {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".parquet").unwrap_or(&name);
    output.with_file_name(format!("{}.objects.parquet", stem.strip_suffix(".replay").unwrap_or(stem)))
}

fn metadata(options: &PrepareOptions, keeper: &Keeper<'_>, span_ns: i64) -> Vec<(String, String)> {
    let source: Vec<String> =
        options.paths.iter().map(|p| p.file_name().unwrap_or(p.as_os_str()).to_string_lossy().into_owned()).collect();
    [
        ("kind", "replay".into()),
        ("version", "1".into()),
        ("epoch_utc_ns", (i128::from(keeper.first) * 1_000_000_000).to_string()),
        ("span_ns", span_ns.to_string()),
        ("names", options.names.name().into()),
        ("seed", options.seed.to_string()),
        ("spread", options.spread.to_string()),
        ("left_out", serde_json::json!(keeper.left_out).to_string()),
        ("source", serde_json::json!(source).to_string()),
    ]
    .into_iter()
    .map(|(key, value): (&str, String)| (format!("iojoule.{key}"), value))
    .collect()
}

/// Hands on each request with its second and its offset inside it.
fn place(
    mut sorted: Merged,
    seed: Option<u64>,
    stop: &AtomicBool,
    mut each: impl FnMut(i64, i64, Kept) -> Result<(), WeblogError>,
) -> Result<(), WeblogError> {
    let read = |sorted: &mut Merged| sorted.next().map_err(|e| WeblogError::io(Path::new(""), e));
    let mut next = read(&mut sorted)?;
    let mut group = Vec::new();
    while let Some(head) = next {
        if stop.load(Ordering::Relaxed) {
            return Err(WeblogError::Stopped);
        }
        group.clear();
        while let Some(kept) = next.filter(|k| k.utc_s == head.utc_s) {
            group.push(kept);
            next = read(&mut sorted)?;
        }
        let offsets = seed.map_or_else(|| vec![0; group.len()], |seed| offsets_ns(seed, head.utc_s, group.len()));
        for (&kept, offset) in group.iter().zip(offsets) {
            each(head.utc_s, offset, kept)?;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
