//! A seeded day of web traffic that never happened, as a Combined log: arrivals by `Curve`, objects by Zipf's
//! law (Breslau et al., INFOCOM 1999), sizes lognormal with a Pareto tail (Barford & Crovella, SIGMETRICS 1998, table 1),
//! requests in sessions of a client. The same options give the same bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::{Compression, GzBuilder};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

use super::WeblogError;
use super::arrivals::{Arrivals, Curve};
use super::site::{Session, Site};
use super::spread::uniform;
use super::time::{Stamp, iso};
use super::zipf::Zipf;
use crate::staged::Staged;

/// Share of requests that open a new session; a session has 12 requests on average.
const NEW_SESSION: f64 = 1.0 / 12.0;
/// Sessions open at once, at most; the oldest is closed for a new one.
const OPEN_SESSIONS: usize = 64;

/// What the log is to be like.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SynthOptions {
    /// Compressed where the name ends in `.gz`.
    pub output: PathBuf,
    #[serde(default)]
    pub force: bool,
    #[serde(default)]
    pub seed: u64,
    #[serde(default = "defaults::requests")]
    pub requests: u64,
    #[serde(default = "defaults::duration_s")]
    pub duration_s: f64,
    /// First instant, as for `prepare`; UTC where it names no zone.
    #[serde(default = "defaults::start")]
    pub start: String,
    #[serde(default = "defaults::clients")]
    pub clients: u32,
    #[serde(default = "defaults::objects")]
    pub objects: u32,
    /// Exponent of Zipf's law over objects.
    #[serde(default = "defaults::zipf")]
    pub zipf: f64,
    /// How far the rate swings around its mean over a day, 0 to 1; it is highest at 15:00.
    #[serde(default = "defaults::swing")]
    pub swing: f64,
}

mod defaults {
    pub fn requests() -> u64 {
        100_000
    }
    pub fn duration_s() -> f64 {
        86_400.0
    }
    pub fn start() -> String {
        "2026-01-01".into()
    }
    pub fn clients() -> u32 {
        2000
    }
    pub fn objects() -> u32 {
        2000
    }
    pub fn zipf() -> f64 {
        0.8
    }
    pub fn swing() -> f64 {
        0.7
    }
}

/// What was written.
#[derive(Clone, Debug, Serialize)]
pub struct Synthesised {
    pub output: PathBuf,
    pub requests: u64,
    pub bytes: u64,
    pub objects: u32,
    /// Bytes of all objects together.
    pub object_bytes: u64,
    pub first: String,
    pub last: String,
    pub seed: u64,
}

/// Writes the log under a temporary name and moves it into place.
pub fn synth(options: &SynthOptions, stop: &AtomicBool) -> Result<Synthesised, WeblogError> {
    let start = checked(options)?;
    let output = &options.output;
    if output.exists() && !options.force {
        return Err(WeblogError::Exists { path: output.clone() });
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(options.seed);
    let site = Site::new(options.objects, &mut random);
    let popular = Zipf::new(options.objects, options.zipf);
    // Some clients come far more often than others, too.
    let frequent = Zipf::new(options.clients, 0.6);
    let curve = Curve { start_s: start, duration_s: options.duration_s, swing: options.swing };
    let staged = Staged::new(output);
    let broken = |e| WeblogError::io(output, e);
    let mut out = Output::create(output, &staged).map_err(broken)?;
    let mut arrivals = Arrivals::new(curve, options.requests);
    let mut sessions: Vec<Session> = Vec::new();
    let (mut bytes, mut first, mut last, mut line) = (0, None, 0, Vec::new());
    while let Some(at_s) = arrivals.next(&mut random) {
        if stop.load(Ordering::Relaxed) {
            return Err(WeblogError::Stopped);
        }
        let utc_s = start + at_s as i64;
        let opens = sessions.is_empty() || uniform(&mut random) < NEW_SESSION;
        let at = if !opens {
            ((uniform(&mut random) * sessions.len() as f64) as usize).min(sessions.len() - 1)
        } else {
            if sessions.len() == OPEN_SESSIONS {
                sessions.remove(0);
            }
            sessions.push(Session::new(frequent.draw(&mut random)));
            sessions.len() - 1
        };
        line.clear();
        let object = popular.draw(&mut random);
        bytes += site.answer(&mut sessions[at], object, Stamp { utc_s, offset_s: 0 }, &mut random, &mut line);
        out.writer().write_all(&line).map_err(broken)?;
        first.get_or_insert(utc_s);
        last = utc_s;
    }
    out.finish().map_err(broken)?;
    staged.publish(WeblogError::io)?;
    Ok(Synthesised {
        output: output.clone(),
        requests: options.requests,
        bytes,
        objects: options.objects,
        object_bytes: site.bytes(),
        first: iso(first.unwrap_or(start)),
        last: iso(last),
        seed: options.seed,
    })
}

/// The start in UTC seconds, where all options make sense.
fn checked(options: &SynthOptions) -> Result<i64, WeblogError> {
    let refuse = |text: String| Err(WeblogError::Option(text));
    if options.requests == 0 || options.clients == 0 || options.objects == 0 {
        return refuse("requests, clients and objects are at least 1".into());
    }
    if !(options.duration_s >= 1.0 && options.duration_s <= 3650.0 * 86_400.0) {
        return refuse(format!("duration_s: {} is not between a second and ten years", options.duration_s));
    }
    if !(0.0..=1.0).contains(&options.swing) || !(0.0..=5.0).contains(&options.zipf) {
        return refuse("swing is between 0 and 1, zipf between 0 and 5".into());
    }
    super::select::instant(&options.start)
        .map_or_else(|| refuse(format!("start: {:?} is not a date", options.start)), Ok)
}

enum Output {
    Plain(BufWriter<File>),
    Gzip(Box<flate2::write::GzEncoder<BufWriter<File>>>),
}

impl Output {
    fn create(output: &std::path::Path, staged: &Staged) -> std::io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 18, File::create_new(&staged.temporary)?);
        Ok(match output.extension().is_some_and(|e| e == "gz") {
            // No time in the header: the same seed gives the same bytes.
            true => Self::Gzip(Box::new(GzBuilder::new().mtime(0).write(file, Compression::new(6)))),
            false => Self::Plain(file),
        })
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(file) => file,
            Self::Gzip(file) => file.as_mut(),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish()?.flush(),
        }
    }
}

#[cfg(test)]
#[path = "synth_tests.rs"]
mod tests;
