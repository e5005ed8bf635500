//! What a log holds: counts, span, rates. One pass; memory does not grow with the log.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::WeblogError;
use super::distinct::{Distinct, hash};
use super::input::{FileRead, Piece, names, read_lines};
use super::line::{Broken, Line, Tail};
use super::material::{Hours, Words};
use super::statics::is_static;
use super::time::iso;

pub use super::material::HourRow;

/// Line numbers kept for each reason.
const KEPT_NUMBERS: usize = 10;
/// A file with this many lines that hold NUL bytes and no good line is not a log.
const BINARY_LINES: u64 = 1000;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InfoOptions {
    pub paths: Vec<PathBuf>,
}

/// How many lines are broken for one reason, and which come first (numbers from 1, over all inputs).
#[derive(Clone, Debug, Default, Serialize)]
pub struct BrokenLines {
    pub count: u64,
    pub first_lines: Vec<u64>,
}

/// The answer of [`info`]. `requests` counts every parsed line; `objects` are distinct targets, path and query as
/// logged; `bytes` sums the logged sizes.
#[derive(Clone, Debug, Serialize)]
pub struct Info {
    pub files: Vec<FileRead>,
    pub lines: u64,
    pub parsed: u64,
    pub malformed: u64,
    pub malformed_by_reason: BTreeMap<&'static str, BrokenLines>,
    pub requests: u64,
    /// Parsed lines whose request field is not `METHOD target HTTP/x`.
    pub odd_request: u64,
    pub bytes: u64,
    pub sizes_missing: u64,
    pub clients: u64,
    pub objects: u64,
    /// Whether `clients` and `objects` are exact; beyond 3.5 million they are estimates (standard error 0.4 %).
    pub clients_exact: bool,
    pub objects_exact: bool,
    pub first: String,
    pub last: String,
    pub span_s: i64,
    pub methods: BTreeMap<String, u64>,
    pub statuses: BTreeMap<String, u64>,
    pub http_versions: BTreeMap<String, u64>,
    /// `common`, `combined`, and `extra`: combined with further fields.
    pub formats: BTreeMap<&'static str, u64>,
    /// What the log's clock is ahead of UTC, and how many lines say so.
    pub zones: BTreeMap<String, u64>,
    pub rate_per_hour: Vec<HourRow>,
    /// Requests in hours beyond the table's limit.
    pub requests_in_hours_not_shown: u64,
    pub static_requests: u64,
    pub static_share: f64,
    /// Lines with a stamp earlier than that of the line before.
    pub out_of_order: u64,
    pub truncated: bool,
    pub truncated_reason: Option<String>,
}

/// Reads the logs once and counts. Broken lines are counted, not fatal, unless all are.
pub fn info(options: &InfoOptions, stop: &AtomicBool) -> Result<Info, WeblogError> {
    let mut count = Counts::new();
    let files = read_lines(&options.paths, stop, |number, piece| {
        count.piece(number, piece);
        let binary = &count.broken[Broken::Binary as usize];
        if count.parsed == 0 && binary.count >= BINARY_LINES {
            return Err(all_broken(&options.paths, number, &count.broken));
        }
        Ok(())
    })?;
    if count.parsed == 0 {
        for file in &files {
            file.damaged()?;
        }
        let lines = files.iter().map(|f| f.lines).sum();
        return Err(match lines {
            0 => WeblogError::Empty { files: names(&options.paths) },
            lines => all_broken(&options.paths, lines, &count.broken),
        });
    }
    Ok(count.answer(files))
}

pub(crate) fn all_broken(paths: &[PathBuf], lines: u64, broken: &[BrokenLines]) -> WeblogError {
    let counts: Vec<String> = by_reason(broken).iter().map(|(reason, of)| format!("{} {reason}", of.count)).collect();
    let binary = if broken[Broken::Binary as usize].count > 0 { "; it looks binary" } else { "" };
    WeblogError::AllBroken { files: names(paths), lines, detail: format!(" ({}){binary}", counts.join(", ")) }
}

pub(crate) fn by_reason(broken: &[BrokenLines]) -> BTreeMap<&'static str, BrokenLines> {
    Broken::NAMES.iter().zip(broken).filter(|(_, b)| b.count > 0).map(|(name, b)| (*name, b.clone())).collect()
}

impl BrokenLines {
    pub(crate) fn none() -> Vec<Self> {
        vec![Self::default(); Broken::COUNT]
    }

    pub(crate) fn add(&mut self, number: u64) {
        self.count += 1;
        if self.first_lines.len() < KEPT_NUMBERS {
            self.first_lines.push(number);
        }
    }
}

struct Counts {
    broken: Vec<BrokenLines>,
    parsed: u64,
    odd: u64,
    bytes: u64,
    sizes_missing: u64,
    clients: Distinct,
    objects: Distinct,
    first: i64,
    last: i64,
    before: i64,
    out_of_order: u64,
    statics: u64,
    formats: [u64; 3],
    statuses: Vec<u64>,
    methods: Words,
    versions: Words,
    zones: BTreeMap<i32, u64>,
    zone: (i32, u64),
    hours: Hours,
}

impl Counts {
    fn new() -> Self {
        Self {
            broken: BrokenLines::none(),
            parsed: 0,
            odd: 0,
            bytes: 0,
            sizes_missing: 0,
            clients: Distinct::new(),
            objects: Distinct::new(),
            first: i64::MAX,
            last: i64::MIN,
            before: i64::MIN,
            out_of_order: 0,
            statics: 0,
            formats: [0; 3],
            statuses: vec![0; 1000],
            methods: Words::default(),
            versions: Words::default(),
            zones: BTreeMap::new(),
            zone: (0, 0),
            hours: Hours::default(),
        }
    }

    fn piece(&mut self, number: u64, piece: Piece<'_>) {
        let parsed = match piece {
            Piece::Line(line) => Line::parse(line),
            Piece::TooLong => Err(Broken::TooLong),
            Piece::CutOff => Err(Broken::CutOff),
        };
        match parsed {
            Ok(line) => self.line(&line),
            Err(why) => self.broken[why as usize].add(number),
        }
    }

    fn line(&mut self, line: &Line<'_>) {
        self.parsed += 1;
        match line.request_line() {
            Some(request) => {
                self.objects.add(hash(request.target));
                self.methods.add(request.method);
                self.versions.add(request.version);
                self.statics += u64::from(is_static(&request));
            }
            None => self.odd += 1,
        }
        self.clients.add(hash(line.host));
        self.bytes = self.bytes.saturating_add(line.size.unwrap_or(0));
        self.sizes_missing += u64::from(line.size.is_none());
        self.statuses[usize::from(line.status)] += 1;
        self.formats[match line.tail {
            Tail::Common => 0,
            Tail::Combined { .. } => 1,
            Tail::Extra { .. } => 2,
        }] += 1;
        let now = line.time.utc_s;
        self.first = self.first.min(now);
        self.last = self.last.max(now);
        self.out_of_order += u64::from(now < self.before);
        self.before = now;
        self.hours.add(now.div_euclid(3600), line.size.unwrap_or(0));
        if line.time.offset_s != self.zone.0 {
            *self.zones.entry(self.zone.0).or_default() += self.zone.1;
            self.zone = (line.time.offset_s, 0);
        }
        self.zone.1 += 1;
    }

    fn answer(mut self, files: Vec<FileRead>) -> Info {
        *self.zones.entry(self.zone.0).or_default() += self.zone.1;
        let truncated_reason = files.iter().find_map(|f| f.damaged().err()).map(|e| e.to_string());
        let formats = ["common", "combined", "extra"].into_iter().zip(self.formats).filter(|(_, n)| *n > 0);
        let status = |(code, n): (usize, u64)| (if code == 0 { "-".into() } else { code.to_string() }, n);
        let zone = |(s, n): (&i32, &u64)| {
            (format!("{}{:02}{:02}", if *s < 0 { '-' } else { '+' }, s.abs() / 3600, s.abs() / 60 % 60), *n)
        };
        Info {
            lines: files.iter().map(|f| f.lines).sum(),
            parsed: self.parsed,
            malformed: self.broken.iter().map(|b| b.count).sum(),
            malformed_by_reason: by_reason(&self.broken),
            requests: self.parsed,
            odd_request: self.odd,
            bytes: self.bytes,
            sizes_missing: self.sizes_missing,
            clients: self.clients.count(),
            objects: self.objects.count(),
            clients_exact: self.clients.is_exact(),
            objects_exact: self.objects.is_exact(),
            first: iso(self.first),
            last: iso(self.last),
            span_s: self.last - self.first,
            methods: self.methods.counts(),
            statuses: self.statuses.into_iter().enumerate().filter(|(_, n)| *n > 0).map(status).collect(),
            http_versions: self.versions.counts(),
            formats: formats.collect(),
            zones: self.zones.iter().filter(|(_, n)| **n > 0).map(zone).collect(),
            requests_in_hours_not_shown: self.hours.not_shown,
            rate_per_hour: self.hours.rows(),
            static_requests: self.statics,
            static_share: self.statics as f64 / self.parsed as f64,
            out_of_order: self.out_of_order,
            truncated: truncated_reason.is_some(),
            truncated_reason,
            files,
        }
    }
}
