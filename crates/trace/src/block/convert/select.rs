//! Which requests stay.

use iojoule_record::Op;
use iojoule_units::Nanos;
use serde::{Deserialize, Serialize};

use super::super::table::OPS;
use super::super::{Record, TraceError};

/// What is kept; the default keeps all.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// From this time on, in seconds after the first request; it becomes time 0.
    pub since_s: Option<f64>,
    /// Before this time, in seconds after the first request.
    pub until_s: Option<f64>,
    /// Numbers of devices.
    pub devices: Option<Vec<u32>>,
    /// `read`, `write`, `trim`, `flush`.
    pub ops: Option<Vec<String>>,
    /// Requests that lie wholly at or behind this byte of their device.
    pub from_byte: Option<u64>,
    /// Requests that end at or before this byte of their device.
    pub to_byte: Option<u64>,
}

/// Requests left out, by reason.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Left {
    pub outside_time: u64,
    pub other_device: u64,
    pub other_op: u64,
    pub outside_addresses: u64,
    pub thinned: u64,
    /// What the format written cannot say.
    pub inexpressible: u64,
}

impl Left {
    pub(crate) fn told(&self) -> String {
        let all = [
            (self.outside_time, "outside the time"),
            (self.other_device, "of other devices"),
            (self.other_op, "of other operations"),
            (self.outside_addresses, "outside the addresses"),
            (self.thinned, "thinned"),
            (self.inexpressible, "that the format cannot say"),
        ];
        let told: Vec<String> = all.iter().filter(|(n, _)| *n > 0).map(|(n, why)| format!("{n} {why}")).collect();
        if told.is_empty() { "none left out".into() } else { told.join(", ") }
    }
}

/// A checked [`Select`].
pub(crate) struct Chosen {
    since: Nanos,
    until: Nanos,
    devices: Option<Vec<u32>>,
    ops: [bool; OPS],
    from_byte: u64,
    to_byte: u64,
}

impl Chosen {
    pub fn new(select: &Select) -> Result<Self, TraceError> {
        let time = |seconds: Option<f64>, name: &str, default| match seconds {
            None => Ok(default),
            Some(s) if (0.0..9e9).contains(&s) => Ok(Nanos::from_secs_f64(s)),
            Some(s) => Err(TraceError::Option(format!("{name}: {s} s is no time of a trace"))),
        };
        let since = time(select.since_s, "since", Nanos::ZERO)?;
        let until = time(select.until_s, "until", Nanos(i64::MAX))?;
        if until <= since {
            return Err(TraceError::Option("until: not behind since; no request lies between".into()));
        }
        let mut ops = [select.ops.is_none(); OPS];
        for name in select.ops.iter().flatten() {
            let op = Op::NAMES[..OPS].iter().position(|known| known == name).ok_or_else(|| {
                TraceError::Option(format!("ops: {name:?} is not one of {}", Op::NAMES[..OPS].join(", ")))
            })?;
            ops[op] = true;
        }
        Ok(Self {
            since,
            until,
            devices: select.devices.clone(),
            ops,
            from_byte: select.from_byte.unwrap_or(0),
            to_byte: select.to_byte.unwrap_or(u64::MAX),
        })
    }

    /// Whether a request stays, on the window's clock from then on.
    #[inline]
    pub fn keeps(&self, record: &mut Record, left: &mut Left) -> bool {
        let reason = if record.at < self.since || record.at >= self.until {
            &mut left.outside_time
        } else if self.devices.as_ref().is_some_and(|wanted| !wanted.contains(&record.device)) {
            &mut left.other_device
        } else if !self.ops[record.op as usize] {
            &mut left.other_op
        } else if record.op != Op::Flush
            && (record.offset < self.from_byte || record.offset.saturating_add(record.bytes) > self.to_byte)
        {
            &mut left.outside_addresses
        } else {
            record.at = record.at - self.since;
            return true;
        };
        *reason += 1;
        false
    }

    /// No later request can stay.
    pub fn is_over(&self, at: Nanos) -> bool {
        at >= self.until
    }
}
