//! Stamps of access logs (`10/Oct/2000:13:55:36 -0700`), the civil calendar behind them, and ISO 8601.
//! Calendar arithmetic: Howard Hinnant, "chrono-compatible low-level date algorithms", `days_from_civil`.

/// Length of a stamp without its brackets.
pub const STAMP_LEN: usize = 26;
const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// An instant with the zone it was written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub utc_s: i64,
    /// What the log's zone is ahead of UTC, in seconds.
    pub offset_s: i32,
}

impl Stamp {
    /// Seconds since 1970-01-01T00:00:00 on the log's own clock.
    pub fn local_s(self) -> i64 {
        self.utc_s + i64::from(self.offset_s)
    }

    /// `dd/Mon/yyyy:HH:MM:SS +hhmm`; `None` for anything else. A leap second counts as the second after it.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let t: &[u8; STAMP_LEN] = text.try_into().ok()?;
        if t[2] != b'/' || t[6] != b'/' || t[11] != b':' || t[14] != b':' || t[17] != b':' || t[20] != b' ' {
            return None;
        }
        let month = month_number([t[3] | 0x20, t[4] | 0x20, t[5] | 0x20])?;
        let (day, year) = (two(t[0], t[1])?, two(t[7], t[8])? * 100 + two(t[9], t[10])?);
        let (hour, minute, second) = (two(t[12], t[13])?, two(t[15], t[16])?, two(t[18], t[19])?);
        let zone = two(t[22], t[23])? * 3600 + two(t[24], t[25])? * 60;
        let offset_s = match t[21] {
            b'+' => zone as i32,
            b'-' => -(zone as i32),
            _ => return None,
        };
        let local = seconds(year.into(), month, day, hour, minute, second)?;
        (zone <= 24 * 3600).then_some(Self { utc_s: local - i64::from(offset_s), offset_s })
    }

    /// The stamp as a log writes it, without brackets.
    pub fn format(self) -> String {
        let (year, month, day) = civil(self.local_s().div_euclid(86_400));
        let s = self.local_s().rem_euclid(86_400);
        let name = String::from_utf8_lossy(MONTHS[month as usize - 1]).into_owned();
        let zone = self.offset_s.abs() / 60;
        let sign = if self.offset_s < 0 { '-' } else { '+' };
        format!(
            "{day:02}/{name}/{year:04}:{:02}:{:02}:{:02} {sign}{:02}{:02}",
            s / 3600,
            s / 60 % 60,
            s % 60,
            zone / 60,
            zone % 60
        )
    }
}

/// Seconds since 1970 of a civil time on the same clock; `None` where a field is out of its range.
pub fn seconds(year: i64, month: u32, day: u32, hour: u32, minute: u32, second: u32) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=longest).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_from_civil(year, month, day) * 86_400 + i64::from(hour * 3600 + minute * 60 + second))
}

/// `1995-07-01T04:00:01Z`.
pub fn iso(utc_s: i64) -> String {
    let (year, month, day) = civil(utc_s.div_euclid(86_400));
    let s = utc_s.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", s / 3600, s / 60 % 60, s % 60)
}

fn two(a: u8, b: u8) -> Option<u32> {
    let (a, b) = (a.wrapping_sub(b'0'), b.wrapping_sub(b'0'));
    (a < 10 && b < 10).then_some(u32::from(a) * 10 + u32::from(b))
}

fn month_number(name: [u8; 3]) -> Option<u32> {
    Some(match &name {
        b"jan" => 1,
        b"feb" => 2,
        b"mar" => 3,
        b"apr" => 4,
        b"may" => 5,
        b"jun" => 6,
        b"jul" => 7,
        b"aug" => 8,
        b"sep" => 9,
        b"oct" => 10,
        b"nov" => 11,
        b"dec" => 12,
        _ => return None,
    })
}

fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((i64::from(month) + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let of_era = z.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let mp = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected seconds from `date -u -d ... +%s`.
    #[test]
    fn stamps_of_any_zone_become_utc() {
        let at = |s: &str| Stamp::parse(s.as_bytes()).map(|s| s.utc_s);
        assert_eq!(at("10/Oct/2000:13:55:36 -0700"), Some(971_211_336));
        assert_eq!(at("01/Jul/1995:00:00:01 -0400"), Some(804_571_201));
        assert_eq!(at("29/Feb/2024:23:59:59 +0530"), Some(1_709_231_399));
        assert_eq!(at("29/Feb/2023:00:00:00 +0000"), None);
        assert_eq!(at("31/Apr/2023:00:00:00 +0000"), None);
        assert_eq!(at("01/Jux/2023:00:00:00 +0000"), None);
        assert_eq!(iso(971_211_336), "2000-10-10T20:55:36Z");
    }

    proptest::proptest! {
        #[test]
        fn a_written_stamp_is_read_back(utc_s in 0i64..253_402_200_000, quarter in -56i32..=56) {
            let stamp = Stamp { utc_s: utc_s + 86_400, offset_s: quarter * 900 };
            proptest::prop_assert_eq!(Stamp::parse(stamp.format().as_bytes()), Some(stamp));
        }
    }
}
