//! Which span of the log is wanted. Times without a zone are read on the log's own clock.

use serde::{Deserialize, Serialize};

use super::WeblogError;
use super::time::{Stamp, seconds};

/// What may stay, before any cut rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// GET and HEAD of files and directories, without query, answered 200, 206 or 304: what the storage served.
    #[default]
    Static,
    /// Every GET and HEAD.
    Get,
    /// Every request for a path of this server.
    All,
}

/// A moment written by a person: the first second of what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    begin: i64,
    /// On UTC; else on the log's clock.
    utc: bool,
}

/// From one moment to another, and hours of the day.
#[derive(Clone, Debug)]
pub struct Span {
    since: Option<Moment>,
    until: Option<Moment>,
    hours: Option<[bool; 24]>,
}

impl Span {
    /// `since` is the first instant inside, `until` the first one outside: `2024-05-12`, `2024-05-12T06`,
    /// `2024-05-12T06:30` or `2024-05-12T06:30:00`, each but the first with or without `Z` or `+02:00`. `hours` are hours
    /// of the day on the log's clock.
    pub fn new(since: Option<&str>, until: Option<&str>, hours: Option<&[u8]>) -> Result<Self, WeblogError> {
        let moment = |text: Option<&str>, key: &str| {
            text.map(|text| {
                Moment::parse(text).ok_or_else(|| {
                    let shape = "a date such as 2024-05-12, 2024-05-12T06 or 2024-05-12T06:30:00+02:00";
                    WeblogError::Option(format!("{key}: {text:?} is not {shape}"))
                })
            })
            .transpose()
        };
        let hours = match hours {
            None => None,
            Some(list) => {
                let mut table = [false; 24];
                for &hour in list {
                    *table.get_mut(usize::from(hour)).ok_or_else(|| {
                        WeblogError::Option(format!("hours: {hour} is not an hour of the day (0 to 23)"))
                    })? = true;
                }
                Some(table)
            }
        };
        Ok(Self { since: moment(since, "since")?, until: moment(until, "until")?, hours })
    }

    pub fn contains(&self, stamp: Stamp) -> bool {
        let at = |moment: &Moment| if moment.utc { stamp.utc_s } else { stamp.local_s() };
        self.since.as_ref().is_none_or(|since| at(since) >= since.begin)
            && self.until.as_ref().is_none_or(|until| at(until) < until.begin)
            && self.hours.is_none_or(|table| table[(stamp.local_s().rem_euclid(86_400) / 3600) as usize])
    }
}

impl Moment {
    fn parse(text: &str) -> Option<Self> {
        let (local, zone) = match text.get(11..).and_then(|t| t.find(['Z', 'z', '+', '-'])) {
            Some(at) => (&text[..11 + at], Some(zone(&text[11 + at..])?)),
            None => (text, None),
        };
        let number = |range: std::ops::Range<usize>| {
            let digits = local.get(range)?;
            digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
        };
        let marks = local.bytes().enumerate().all(|(at, c)| match at {
            4 | 7 => c == b'-',
            10 => c == b'T' || c == b' ',
            13 | 16 => c == b':',
            _ => c.is_ascii_digit(),
        });
        let (hour, minute, second) = match local.len() {
            10 => (0, 0, 0),
            13 => (number(11..13)?, 0, 0),
            16 => (number(11..13)?, number(14..16)?, 0),
            19 => (number(11..13)?, number(14..16)?, number(17..19)?),
            _ => return None,
        };
        let begin = seconds(number(0..4)?.into(), number(5..7)?, number(8..10)?, hour, minute, second)?;
        let begin = begin - i64::from(zone.unwrap_or(0));
        marks.then_some(Self { begin, utc: zone.is_some() })
    }
}

/// The instant of a date as [`Span::new`] reads it; UTC where it names no zone.
pub(crate) fn instant(text: &str) -> Option<i64> {
    Moment::parse(text).map(|moment| moment.begin)
}

/// `Z`, `+0200` or `+02:00` in seconds.
fn zone(text: &str) -> Option<i32> {
    if matches!(text, "Z" | "z") {
        return Some(0);
    }
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    if digits.len() != 4 || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let value: i32 = digits.parse().ok()?;
    let seconds = value / 100 * 3600 + value % 100 * 60;
    Some(if text.starts_with('-') { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(since: Option<&str>, until: Option<&str>, hours: Option<&[u8]>, stamp: &str) -> bool {
        Span::new(since, until, hours).unwrap().contains(Stamp::parse(stamp.as_bytes()).unwrap())
    }

    #[test]
    fn a_day_is_a_day_of_the_logs_own_clock() {
        let (day, next) = (Some("1995-07-01"), Some("1995-07-02"));
        assert!(keeps(day, next, None, "01/Jul/1995:00:00:00 -0400"));
        assert!(keeps(day, next, None, "01/Jul/1995:23:59:59 -0400"));
        assert!(!keeps(day, next, None, "02/Jul/1995:00:00:00 -0400"));
        assert!(!keeps(day, next, None, "30/Jun/1995:23:59:59 -0400"));
    }

    #[test]
    fn a_zone_makes_it_the_same_instant_everywhere() {
        let since = Some("1995-07-01T04:00Z");
        assert!(keeps(since, None, None, "01/Jul/1995:00:00:00 -0400"));
        assert!(!keeps(since, None, None, "01/Jul/1995:03:59:59 +0000"));
        assert!(keeps(None, Some("1995-07-01T06:00:00+02:00"), None, "01/Jul/1995:03:59:59 +0000"));
        assert!(!keeps(None, Some("1995-07-01T06:00:00+02:00"), None, "01/Jul/1995:04:00:00 +0000"));
    }

    #[test]
    fn hours_of_the_day_are_the_logs() {
        assert!(keeps(None, None, Some(&[0, 23]), "01/Jul/1995:23:10:00 -0400"));
        assert!(!keeps(None, None, Some(&[0, 23]), "01/Jul/1995:03:10:00 -0400"));
    }

    #[test]
    fn what_is_no_moment_is_refused_by_name() {
        for text in ["yesterday", "2024-13-01", "2024-05-12T", "2024-05-12T25", "2024/05/12", "2024-05-12T06:00+2"] {
            assert!(Span::new(Some(text), None, None).is_err(), "{text}");
        }
        assert!(Span::new(None, None, Some(&[24])).is_err());
    }
}
