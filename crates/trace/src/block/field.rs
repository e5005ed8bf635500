//! The fields of a text line: whole numbers, and times as exact integers of nanoseconds.

use super::TimeUnit;
use super::fault::Fault;
use memchr::memchr;

/// What stands between two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Between {
    Comma,
    /// Any run of blanks and tabs.
    Space,
}

/// The fields of one line, from the left.
pub(crate) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    between: Between,
}

impl<'a> Fields<'a> {
    #[inline]
    pub fn new(line: &'a [u8], between: Between) -> Self {
        let mut fields = Self { rest: Some(line), between };
        if between == Between::Space {
            fields.skip_blanks();
        }
        fields
    }

    fn skip_blanks(&mut self) {
        if let Some(rest) = self.rest {
            let rest = rest.trim_ascii_start();
            self.rest = (!rest.is_empty()).then_some(rest);
        }
    }

    /// The next field; `None` behind the last.
    #[inline]
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        match self.between {
            Between::Comma => {
                let (field, rest) = match memchr(b',', rest) {
                    Some(at) => (&rest[..at], Some(&rest[at + 1..])),
                    None => (rest, None),
                };
                self.rest = rest;
                Some(field.trim_ascii())
            }
            Between::Space => {
                let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                self.rest = Some(&rest[end..]);
                self.skip_blanks();
                Some(&rest[..end])
            }
        }
    }

    /// The next field, which the format has: `what` names it.
    #[inline]
    pub fn word(&mut self, what: &'static str) -> Result<&'a [u8], Fault> {
        self.next().ok_or_else(|| Fault::new(format!("the line ends before {what}")))
    }

    #[inline]
    pub fn whole(&mut self, what: &'static str) -> Result<u64, Fault> {
        whole(self.word(what)?, what)
    }

    /// A device number.
    #[inline]
    pub fn device(&mut self, what: &'static str) -> Result<u32, Fault> {
        let number = self.whole(what)?;
        u32::try_from(number).map_err(|_| Fault::new(format!("{what} {number} is above {}", u32::MAX)))
    }

    /// A time in `unit`, in nanoseconds.
    #[inline]
    pub fn time(&mut self, what: &'static str, unit: TimeUnit) -> Result<i64, Fault> {
        time(self.word(what)?, what, unit)
    }

    /// Nothing may follow.
    #[inline]
    pub fn end(&mut self) -> Result<(), Fault> {
        match self.next() {
            None => Ok(()),
            Some(more) => Err(Fault::new(format!("{} follows behind the last field", shown(more)))),
        }
    }
}

/// A field as messages show it.
pub(crate) fn shown(field: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(field).chars().take(40).collect();
    format!("{text:?}")
}

#[inline]
pub(crate) fn whole(field: &[u8], what: &'static str) -> Result<u64, Fault> {
    digits(field).ok_or_else(|| Fault::new(format!("{what} is {}, not a whole number", shown(field))))
}

/// The number that `field` is in decimal, where it is nothing else and fits.
#[inline]
pub(crate) fn digits(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    let mut number = 0u64;
    // Nineteen digits cannot overflow.
    if field.len() <= 19 {
        for &c in field {
            let digit = c.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            number = number * 10 + u64::from(digit);
        }
        return Some(number);
    }
    for &c in field {
        let digit = c.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(number)
}

/// A time of `unit`, with or without decimals, in nanoseconds; what is finer than a nanosecond is rounded.
pub(crate) fn time(field: &[u8], what: &'static str, unit: TimeUnit) -> Result<i64, Fault> {
    if field.first() == Some(&b'-') {
        let reason = format!("{what} is {}: negative; no request comes before the trace", shown(field));
        return Err(Fault::new(reason));
    }
    let bad = || Fault::new(format!("{what} is {}, not a time in {}", shown(field), unit.name()));
    let (left, right) = match memchr(b'.', field) {
        Some(at) => (&field[..at], &field[at + 1..]),
        None => (field, &field[field.len()..]),
    };
    if field.iter().any(|c| matches!(c, b'e' | b'E')) {
        let value: f64 = std::str::from_utf8(field).ok().and_then(|t| t.parse().ok()).ok_or_else(bad)?;
        let ns = value * 10f64.powi(unit.digits() as i32);
        return if (0.0..9.2e18).contains(&ns) { Ok(ns.round() as i64) } else { Err(bad()) };
    }
    let places = unit.digits() as usize;
    let left = match left {
        b"" if !right.is_empty() => 0,
        _ => digits(left).ok_or_else(bad)?,
    };
    let (kept, finer) = right.split_at(right.len().min(places));
    let mut fraction = if kept.is_empty() { 0 } else { digits(kept).ok_or_else(bad)? };
    fraction *= 10u64.pow((places - kept.len()) as u32);
    if let Some(&next) = finer.first() {
        if !finer.iter().all(u8::is_ascii_digit) {
            return Err(bad());
        }
        fraction += u64::from(next >= b'5');
    }
    left.checked_mul(10u64.pow(unit.digits()))
        .and_then(|ns| ns.checked_add(fraction))
        .and_then(|ns| i64::try_from(ns).ok())
        .ok_or_else(|| Fault::new(format!("{what} is {} {}: beyond 292 years", shown(field), unit.name())))
}

/// The byte where sector `sector` of `size` bytes begins.
#[inline]
pub(crate) fn sectors(sector: u64, size: u64, what: &'static str) -> Result<u64, Fault> {
    sector.checked_mul(size).ok_or_else(|| Fault::new(format!("{what} {sector} is beyond any device")))
}
