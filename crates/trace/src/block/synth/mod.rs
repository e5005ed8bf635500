//! Traces that never happened, with the statistics they are asked for: [`Synth`] draws them record by record, the same for
//! the same [`SynthConfig`].
//!
//! 1. `config`, `profile`: what is asked for; the traces of Table 3 of Yu et al. (OSDI 2000).
//! 2. `arrivals`, `daemon`: when requests come; `draw`: the draws all is made of.
//! 3. `regions`, `places`: where they go, so that L and the reads after writes come out.
//! 4. `write`: a synthetic trace as a file.

mod arrivals;
mod config;
mod daemon;
mod draw;
mod places;
mod profile;
mod regions;
mod write;

use iojoule_record::Op;
use iojoule_units::Nanos;

use super::{Record, TraceError};
use arrivals::Arrivals;
pub use config::{Size, SynthConfig};
use daemon::{Moment, Moments};
use draw::Draw;
use places::Places;
pub use profile::PROFILES;
pub use write::{SynthOptions, Synthesised, synth};

/// The records of a synthetic trace, drawn as they are asked for. Memory grows with the data set and an hour's writes, not
/// with the length.
#[derive(Clone, Debug)]
pub struct Synth {
    moments: Moments,
    places: Places,
    draw: Draw,
    /// Of requests that are not flushed: the share of reads, and that of asynchronous writes among their writes.
    reads: f64,
    strewn: f64,
    scale_rate: f64,
    first: Option<i64>,
    left: u64,
}

impl Synth {
    /// # Errors
    /// [`TraceError::Option`] for a number out of its range, or an L that the other numbers do not allow.
    pub fn new(config: &SynthConfig) -> Result<Self, TraceError> {
        config.check()?;
        let ios = config.kept_ios();
        let dirtied = match config.flush_period_s {
            Some(_) => (config.async_writes * ios as f64).round().min(ios as f64 - 1.0) as u64,
            None => 0,
        };
        let foreground = ios - dirtied;
        let draw = |stream| Draw::new(config.seed, stream);
        let arrivals = Arrivals::new(foreground, config.kept_ns(), config.burstiness, config.swing, draw(0));
        let period_ns = Nanos::from_secs_f64(config.flush_period_s.unwrap_or(30.0)).0;
        let reads = (config.reads * ios as f64 / foreground as f64).min(1.0);
        let strewn = match config.flush_period_s {
            None if config.reads < 1.0 => config.async_writes / (1.0 - config.reads),
            _ => 0.0,
        };
        Ok(Self {
            moments: Moments::new(arrivals, foreground, dirtied, period_ns, draw(1)),
            places: Places::new(config, draw(2))?,
            draw: draw(3),
            reads,
            strewn,
            scale_rate: config.scale_rate,
            first: None,
            left: ios,
        })
    }

    fn record(&mut self, moment: Moment) -> Record {
        // Places live on the time axis as it is before it is scaled: an hour of the original.
        let unscaled = Nanos(moment.at);
        let read = !moment.flushed && self.draw.coin(self.reads);
        let (op, placed, asynchronous) = if read {
            (Op::Read, self.places.read(unscaled), false)
        } else {
            let strewn = self.strewn > 0.0 && self.draw.coin(self.strewn);
            (Op::Write, self.places.write(unscaled), moment.flushed || strewn)
        };
        let since_first = moment.at - *self.first.get_or_insert(moment.at);
        let at =
            if self.scale_rate == 1.0 { since_first } else { (since_first as f64 / self.scale_rate).round() as i64 };
        Record {
            at: Nanos(at),
            device: 0,
            op,
            offset: placed.offset,
            bytes: placed.bytes,
            asynchronous: Some(asynchronous),
            response: None,
        }
    }
}

impl Iterator for Synth {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let moment = self.moments.next()?;
        self.left = self.left.saturating_sub(1);
        Some(self.record(moment))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

#[cfg(test)]
mod tests;
