//! What a synthetic trace is asked to be.

use serde::{Deserialize, Serialize};

use iojoule_units::SECTOR;

use crate::block::TraceError;

/// A synthetic trace. Shares are fractions from 0 to 1 of all I/Os, unless said otherwise.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SynthConfig {
    /// The same configuration and seed give the same records.
    pub seed: u64,
    pub ios: u64,
    /// From the start to the end of the arrivals.
    pub duration_s: f64,
    /// Divides all times: 2 halves the times between arrivals and doubles the rate.
    pub scale_rate: f64,
    /// Keeps this fraction of the duration and of the I/Os; the rate stays.
    pub length: f64,
    /// Size of the data set, one address space of one device; rounded down to whole sectors.
    pub data_bytes: u64,
    pub reads: f64,
    /// Writes that nobody waits for.
    pub async_writes: f64,
    /// The asynchronous writes come in rounds of a sync daemon, this often; `None` strews them among the others.
    pub flush_period_s: Option<f64>,
    /// L of Table 3 of Yu et al. (OSDI 2000): `data_bytes / 3` over the mean distance from the end of a request to the
    /// start of the next.
    pub seek_locality: f64,
    /// I/Os that are reads of what was written less than an hour (of time before `scale_rate`) before.
    pub read_after_write_1h: f64,
    /// Reads, as a share of reads, that start where the request before ended; and writes, as a share of writes.
    pub sequential_reads: f64,
    pub sequential_writes: f64,
    /// The bias of the b-model: 0.5 is Poisson; the nearer to 1, the burstier.
    pub burstiness: f64,
    /// How far the rate swings around its mean over a day, 0 to 1; it is highest at 15:00 of a trace that starts at 0:00.
    pub swing: f64,
    /// Exponent of Zipf's law over the regions of the data set; 0 is uniform.
    pub zipf: f64,
    /// Requests of one size and how many of them, in any unit. Each starts at a multiple of the largest power of two that
    /// divides its size, unless it follows another.
    pub sizes: Vec<Size>,
}

/// Requests of one size.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// A multiple of 512.
    pub bytes: u64,
    pub weight: f64,
}

impl Default for SynthConfig {
    /// A hundred thousand uniform random reads of 4 KiB in 1,000 s, Poisson, over 1 GiB.
    fn default() -> Self {
        Self {
            seed: 0,
            ios: 100_000,
            duration_s: 1000.0,
            scale_rate: 1.0,
            length: 1.0,
            data_bytes: 1 << 30,
            reads: 1.0,
            async_writes: 0.0,
            flush_period_s: None,
            seek_locality: 1.0,
            read_after_write_1h: 0.0,
            sequential_reads: 0.0,
            sequential_writes: 0.0,
            burstiness: 0.5,
            swing: 0.0,
            zipf: 0.0,
            sizes: vec![Size { bytes: 4096, weight: 1.0 }],
        }
    }
}

impl SynthConfig {
    /// I/Os after `length`.
    pub fn kept_ios(&self) -> u64 {
        (self.ios as f64 * self.length).round() as u64
    }

    /// Duration after `length` and before `scale_rate`, in ns.
    pub(crate) fn kept_ns(&self) -> i64 {
        (self.duration_s * self.length * 1e9).round() as i64
    }

    /// Whether the numbers make sense each by itself; what they ask of the addresses together is seen where they are drawn.
    pub(crate) fn check(&self) -> Result<(), TraceError> {
        let refuse = |text: String| Err(TraceError::Option(text));
        for (name, share) in [
            ("reads", self.reads),
            ("async_writes", self.async_writes),
            ("read_after_write_1h", self.read_after_write_1h),
            ("sequential_reads", self.sequential_reads),
            ("sequential_writes", self.sequential_writes),
            ("swing", self.swing),
        ] {
            if !(0.0..=1.0).contains(&share) {
                return refuse(format!("{name}: {share} is not between 0 and 1"));
            }
        }
        for (name, value, least, most) in [
            ("duration_s", self.duration_s, 1e-3, 1e9),
            ("scale_rate", self.scale_rate, 1e-6, 1e6),
            ("length", self.length, 1e-9, 1.0),
            ("seek_locality", self.seek_locality, 1e-3, 1e9),
            ("burstiness", self.burstiness, 0.5, 0.99),
            ("zipf", self.zipf, 0.0, 5.0),
            ("flush_period_s", self.flush_period_s.unwrap_or(30.0), 1e-3, 1e6),
        ] {
            if !(least..=most).contains(&value) {
                return refuse(format!("{name}: {value} is not between {least} and {most}"));
            }
        }
        if self.kept_ios() == 0 {
            return refuse("ios: nothing is left of it; ios times length is at least 1".into());
        }
        if self.reads + self.async_writes > 1.0 + 1e-9 || self.async_writes >= 1.0 {
            return refuse(
                "reads and async_writes: together they are at most 1, and somebody waits for something".into(),
            );
        }
        if self.read_after_write_1h > self.reads || (self.read_after_write_1h > 0.0 && self.reads >= 1.0) {
            return refuse("read_after_write_1h: it is part of the reads, and needs writes".into());
        }
        if self.sizes.is_empty() || self.sizes.iter().any(|s| !(s.weight > 0.0 && s.weight.is_finite())) {
            return refuse("sizes: at least one, each of a weight above 0".into());
        }
        if let Some(size) =
            self.sizes.iter().find(|s| s.bytes == 0 || s.bytes % SECTOR != 0 || s.bytes > self.data_bytes / 2)
        {
            let bytes = size.bytes;
            return refuse(format!("sizes: {bytes} is not a multiple of {SECTOR} up to half of data_bytes"));
        }
        Ok(())
    }
}
