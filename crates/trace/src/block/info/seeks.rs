//! Seek locality L (Yu et al., OSDI 2000, Table 3): the mean distance of random seeks over the mean distance seen. A
//! distance is |start − end of the request before| in bytes of address; between two uniform places in a data set of S
//! bytes its mean is S/3. Once for each device by itself, and once with all devices put one behind the other.

use std::collections::BTreeMap;

/// Distances over the concatenation, exact in one pass although the sizes of devices are known only at its end: a seek
/// from a lower to a higher device is the difference of their bases, plus the address on the higher, minus that on the
/// lower. So it is enough to count how often each base is added and taken off.
#[derive(Clone, Debug, Default)]
pub(crate) struct Concatenated {
    last: Option<(u32, u64)>,
    /// Times each device was the higher end of a seek, less the times it was the lower.
    bases: BTreeMap<u32, i64>,
    /// Sum of all distances without the bases.
    sum: i128,
    seeks: u64,
}

impl Concatenated {
    pub fn seek(&mut self, device: u32, start: u64, end: u64) {
        if let Some((before, from)) = self.last.replace((device, end)) {
            self.seeks += 1;
            let ahead = i128::from(start) - i128::from(from);
            if device == before {
                self.sum += ahead.abs();
            } else {
                let (higher, lower) = if device > before { (device, before) } else { (before, device) };
                self.sum += if device > before { ahead } else { -ahead };
                *self.bases.entry(higher).or_default() += 1;
                *self.bases.entry(lower).or_default() -= 1;
            }
        }
    }

    /// Mean distance in bytes; `None` for fewer than two requests. `devices` are numbers and sizes in bytes, in the order
    /// in which the devices lie.
    pub fn mean(&self, devices: impl Iterator<Item = (u32, u64)>) -> Option<f64> {
        let (mut base, mut sum) = (0i128, self.sum);
        for (number, bytes) in devices {
            sum += base * i128::from(self.bases.get(&number).copied().unwrap_or(0));
            base += i128::from(bytes);
        }
        (self.seeks > 0).then(|| sum as f64 / self.seeks as f64)
    }
}

/// Distances on one device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seeks {
    last_end: Option<u64>,
    sum: u128,
    seeks: u64,
}

impl Seeks {
    /// Whether this request starts where the one before it on this device ended.
    pub fn seek(&mut self, start: u64, end: u64) -> bool {
        let Some(from) = self.last_end.replace(end) else { return false };
        self.sum += u128::from(start.abs_diff(from));
        self.seeks += 1;
        start == from
    }

    pub fn mean(&self) -> Option<f64> {
        (self.seeks > 0).then(|| self.sum as f64 / self.seeks as f64)
    }
}

/// L of `data_bytes` of address space; `None` where nothing moved.
pub(crate) fn locality(data_bytes: u128, mean_seek: Option<f64>) -> Option<f64> {
    mean_seek.filter(|mean| *mean > 0.0).map(|mean| data_bytes as f64 / 3.0 / mean)
}
