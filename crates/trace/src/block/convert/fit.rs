//! Requests of a large device on a smaller or larger one.

use iojoule_units::SECTOR;
use serde::Deserialize;

use super::super::{Record, TraceError};

/// What becomes of addresses beyond the new end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// The address modulo the size: keeps what is near together, and puts unrelated places on top of each other.
    Wrap,
    /// All addresses in proportion, on whole sectors: keeps the order of places and changes their distance.
    Scale,
    /// An error.
    Refuse,
}

/// The device requests are fitted to.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    pub how: How,
    /// Its size.
    pub bytes: u64,
}

pub(crate) struct Fitter {
    how: How,
    bytes: u64,
    /// Sizes of the old devices by number.
    sizes: Vec<(u32, u64)>,
    moved: u64,
}

impl Fitter {
    /// `sizes` of the old devices, by number; needed to scale only.
    pub fn new(fit: &Fit, sizes: Vec<(u32, u64)>) -> Result<Self, TraceError> {
        if fit.bytes < SECTOR {
            return Err(TraceError::Option(format!("remap: a device of {} bytes holds no sector", fit.bytes)));
        }
        Ok(Self { how: fit.how, bytes: fit.bytes, sizes, moved: 0 })
    }

    /// `number` counts the requests of the input from 0.
    pub fn fit(&mut self, record: &mut Record, number: u64) -> Result<(), TraceError> {
        let (size, Record { offset, bytes, device, .. }) = (self.bytes, *record);
        let refused = |reason: &str| {
            Err(TraceError::Option(format!(
                "remap: request {} ({bytes} bytes at {offset} of device {device}) {reason} of {} bytes",
                number + 1,
                size
            )))
        };
        let Some(room) = self.bytes.checked_sub(record.bytes) else { return refused("is longer than the device") };
        let offset = match self.how {
            How::Refuse if record.offset > room => return refused("lies beyond the device"),
            How::Refuse => record.offset,
            How::Wrap => record.offset % self.bytes,
            How::Scale => {
                let size = self.sizes.iter().find(|(device, _)| *device == record.device).map_or(0, |(_, size)| *size);
                let scaled = u128::from(record.offset) * u128::from(self.bytes) / u128::from(size.max(1));
                u64::try_from(scaled).unwrap_or(u64::MAX) / SECTOR * SECTOR
            }
        };
        // A request does not cross the end: it is moved before it.
        let offset = if offset > room { room / SECTOR * SECTOR } else { offset };
        self.moved += u64::from(offset != record.offset);
        record.offset = offset;
        Ok(())
    }

    pub fn warnings(&self) -> Option<String> {
        let what = match self.how {
            How::Wrap => "wrapped",
            How::Scale => "scaled",
            How::Refuse => return None,
        };
        (self.moved > 0).then(|| format!("{} requests {what} onto {} bytes", self.moved, self.bytes))
    }
}
