//! Heads: the request's, read from bytes, and the response's, written to bytes.

use std::io::Write;
use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

const MAX_HEADERS: usize = 64;

/// What a request asks for, once its head is whole.
pub(crate) struct Asked<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub keep_alive: bool,
    /// The request announces content; none is read, so the connection ends with the answer.
    pub has_content: bool,
    /// Length of the head.
    pub length: usize,
}

/// `Ok(None)` where more bytes are needed; `Err` where they are no request.
pub(crate) fn read(input: &[u8]) -> Result<Option<Asked<'_>>, ()> {
    let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut []);
    let length = match ParserConfig::default().parse_request_with_uninit_headers(&mut head, input, &mut headers) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(_) => return Err(()),
    };
    let (Some(method), Some(target)) = (head.method, head.path) else { return Err(()) };
    let http11 = head.version == Some(1);
    let (mut keep_alive, mut has_content, mut has_host) = (http11, false, false);
    for header in head.headers.iter() {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("connection") {
            let says = |token: &[u8]| header.value.to_ascii_lowercase().windows(token.len()).any(|w| w == token);
            keep_alive = if says(b"close") { false } else { keep_alive || says(b"keep-alive") };
        } else if is("content-length") {
            has_content |= header.value.trim_ascii() != b"0";
        } else if is("transfer-encoding") {
            has_content = true;
        } else if is("host") {
            has_host = true;
        }
    }
    if http11 && !has_host {
        return Err(());
    }
    Ok(Some(Asked { method, target, keep_alive, has_content, length }))
}

/// Writes a response head; `allow` names the methods of a 405.
pub(crate) fn write(out: &mut Vec<u8>, status: u16, length: u64, kind: &str, date: &str, keep_alive: bool) {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Request Header Fields Too Large",
    };
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    let close = if keep_alive { "" } else { "Connection: close\r\n" };
    // Writing to memory cannot fail.
    let _ = write!(
        out,
        "HTTP/1.1 {status} {reason}\r\nServer: iojoule\r\nDate: {date}\r\nContent-Type: {kind}\r\n\
         Content-Length: {length}\r\n{allow}{close}\r\n"
    );
}

/// Seconds since 1970 as HTTP writes them, RFC 9110 §5.6.7. Civil from days: Hinnant, "chrono-compatible low-level
/// date algorithms".
pub(crate) fn date(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days.rem_euclid(7) as usize];
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let name = months[(month - 1) as usize];
    format!("{weekday}, {day:02} {name} {year} {:02}:{:02}:{:02} GMT", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // The example of RFC 9110 §5.6.7, and a leap day (`date -u -d @1709210096`).
        assert_eq!(date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(1_709_210_096), "Thu, 29 Feb 2024 12:34:56 GMT");
    }

    #[test]
    fn a_request_of_http_1_1_names_its_host() {
        assert!(read(b"GET / HTTP/1.1\r\n\r\n").is_err());
        assert!(read(b"GET / HTTP/1.1\r\nHost: x\r\n").unwrap().is_none());
        let asked = read(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").unwrap().unwrap();
        assert!(asked.keep_alive && !asked.has_content);
    }
}
