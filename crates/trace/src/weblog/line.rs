//! One line of an access log in Common or Combined Log Format, as Apache (`mod_log_config`) and nginx
//! (`ngx_http_log_module`) write them:
//! `host ident user [time] "request" status size ["referer" [more...] "agent"]`.
//!
//! Both servers escape a quote inside a quoted field (`\"`, `\x22`); servers of the 1990s did not, so a request ends at
//! the first quote that a status follows.

use memchr::{memchr, memchr_iter};

use super::time::{STAMP_LEN, Stamp};

/// A parsed line. Fields are as logged: still escaped, `-` where nothing was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub host: &'a [u8],
    pub ident: &'a [u8],
    pub user: &'a [u8],
    pub time: Stamp,
    /// The request field without its quotes.
    pub request: &'a [u8],
    /// 0 where the log has `-`.
    pub status: u16,
    pub size: Option<u64>,
    /// What follows the size, quotes and all; empty in Common Log Format.
    pub rest: &'a [u8],
    pub tail: Tail<'a>,
}

/// What the fields behind the size mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail<'a> {
    Common,
    Combined {
        referer: &'a [u8],
        agent: &'a [u8],
    },
    /// Referer first, agent last among the quoted fields; more fields beside them.
    Extra {
        referer: &'a [u8],
        agent: &'a [u8],
    },
}

/// The request field, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLine<'a> {
    pub method: &'a [u8],
    pub target: &'a [u8],
    /// `HTTP/1.1`; `HTTP/0.9` where the client named none.
    pub version: &'a [u8],
}

/// Why a line is not a line of a web log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Broken {
    Blank,
    Binary,
    TooLong,
    /// Behind it the contents of a compressed file were damaged.
    CutOff,
    /// Host, ident or user is missing before the stamp.
    NoHost,
    NoTime,
    BadTime,
    NoRequest,
    UnclosedQuote,
    BadStatus,
    BadSize,
}

impl Broken {
    pub const COUNT: usize = 11;
    pub const NAMES: [&'static str; Self::COUNT] = [
        "blank",
        "binary",
        "too_long",
        "cut_off",
        "no_host",
        "no_time",
        "bad_time",
        "no_request",
        "unclosed_quote",
        "bad_status",
        "bad_size",
    ];
}

impl<'a> Line<'a> {
    /// Parses one line without its line feed; carriage returns at the end are not part of it.
    pub fn parse(line: &'a [u8]) -> Result<Self, Broken> {
        let mut line = line;
        while let [before @ .., b'\r'] = line {
            line = before;
        }
        Self::fields(line).map_err(|why| match why {
            _ if line.iter().all(u8::is_ascii_whitespace) => Broken::Blank,
            _ if memchr(0, line).is_some() => Broken::Binary,
            why => why,
        })
    }

    fn fields(line: &'a [u8]) -> Result<Self, Broken> {
        let host_end = memchr(b' ', line).filter(|&at| at > 0).ok_or(Broken::NoHost)?;
        let (host, rest) = (&line[..host_end], &line[host_end + 1..]);
        let (open, time) = stamp(rest)?;
        // Before the stamp: `ident user `; a user name may hold blanks.
        let who = rest[..open].strip_suffix(b" ").ok_or(Broken::NoHost)?;
        let ident_end = memchr(b' ', who).filter(|&at| at > 0 && at + 1 < who.len()).ok_or(Broken::NoHost)?;
        let (ident, user) = (&who[..ident_end], &who[ident_end + 1..]);
        let rest = rest[open + STAMP_LEN + 2..].strip_prefix(b" \"").ok_or(Broken::NoRequest)?;
        let request_end = request_end(rest).ok_or_else(|| match memchr(b'"', rest) {
            Some(_) => Broken::BadStatus,
            None => Broken::UnclosedQuote,
        })?;
        let (request, rest) = (&rest[..request_end], &rest[request_end + 2..]);
        let (status, rest) = status(rest).ok_or(Broken::BadStatus)?;
        let (size, rest) = size(rest).ok_or(Broken::BadSize)?;
        let tail = tail(rest)?;
        Ok(Self { host, ident, user, time, request, status, size, rest, tail })
    }

    /// The parts of the request; `None` where the client sent something else (`-`, a TLS hello, a scan).
    pub fn request_line(&self) -> Option<RequestLine<'a>> {
        let space = memchr(b' ', self.request).filter(|&at| at > 0)?;
        let (method, rest) = (&self.request[..space], &self.request[space + 1..]);
        if !method.iter().all(|&c| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c)) {
            return None;
        }
        // The last blank, because servers of the 1990s logged blanks inside a target.
        match memchr::memrchr(b' ', rest) {
            Some(last) if rest[last + 1..].starts_with(b"HTTP/") && last > 0 => {
                Some(RequestLine { method, target: &rest[..last], version: &rest[last + 1..] })
            }
            None if rest.first() == Some(&b'/') => Some(RequestLine { method, target: rest, version: b"HTTP/0.9" }),
            _ => None,
        }
    }

    pub fn agent(&self) -> &'a [u8] {
        match self.tail {
            Tail::Common => b"-",
            Tail::Combined { agent, .. } | Tail::Extra { agent, .. } => agent,
        }
    }
}

/// Position of the `[` before the stamp, and the stamp.
fn stamp(text: &[u8]) -> Result<(usize, Stamp), Broken> {
    let mut why = Broken::NoTime;
    for open in memchr_iter(b'[', text) {
        why = Broken::BadTime;
        let Some(inside) = text.get(open + 1..open + STAMP_LEN + 2) else { break };
        if inside[STAMP_LEN] != b']' {
            continue;
        }
        if let Some(time) = Stamp::parse(&inside[..STAMP_LEN]) {
            return Ok((open, time));
        }
    }
    Err(why)
}

/// The first unescaped quote behind which a status can stand.
fn request_end(text: &[u8]) -> Option<usize> {
    memchr_iter(b'"', text)
        .find(|&at| matches!(text.get(at + 1..at + 3), Some([b' ', b'0'..=b'9' | b'-'])) && !escaped(text, at))
}

/// Whether an odd number of backslashes stands before `at`.
fn escaped(text: &[u8], at: usize) -> bool {
    text[..at].iter().rev().take_while(|&&c| c == b'\\').count() % 2 == 1
}

fn status(text: &[u8]) -> Option<(u16, &[u8])> {
    match text {
        [b'-', b' ', rest @ ..] => Some((0, rest)),
        [a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', b' ', rest @ ..] => {
            let digit = |c: &u8| u16::from(c - b'0');
            Some((digit(a) * 100 + digit(b) * 10 + digit(c), rest))
        }
        _ => None,
    }
}

/// The size and what follows its blank.
fn size(text: &[u8]) -> Option<(Option<u64>, &[u8])> {
    let mut value = 0u64;
    let mut at = 0;
    while let Some(digit) = text.get(at).map(|c| c.wrapping_sub(b'0')).filter(|&d| d < 10) {
        value = value.checked_mul(10)?.checked_add(digit.into())?;
        at += 1;
    }
    let known = at > 0;
    if !known && text.first() == Some(&b'-') {
        at = 1;
    }
    let size = known.then_some(value);
    match &text[at..] {
        _ if at == 0 => None,
        [] => Some((size, b"")),
        [b' ', rest @ ..] => Some((size, rest)),
        _ => None,
    }
}

/// Walks over the fields behind the size: quoted ones, and bare ones such as a service time.
fn tail(rest: &[u8]) -> Result<Tail<'_>, Broken> {
    let (mut text, mut quoted, mut bare) = (rest, 0usize, false);
    let (mut referer, mut agent): (&[u8], &[u8]) = (b"-", b"-");
    while let Some(&first) = text.first() {
        if first != b'"' {
            let end = memchr(b' ', text).unwrap_or(text.len());
            bare |= end > 0;
            text = text.get(end + 1..).unwrap_or_default();
            continue;
        }
        let inside = &text[1..];
        let end = field_end(inside).ok_or(Broken::UnclosedQuote)?;
        if quoted == 0 {
            referer = &inside[..end];
        } else {
            agent = &inside[..end];
        }
        quoted += 1;
        text = inside.get(end + 2..).unwrap_or_default();
    }
    Ok(match quoted {
        0 if !bare => Tail::Common,
        2 if !bare => Tail::Combined { referer, agent },
        _ => Tail::Extra { referer, agent },
    })
}

fn field_end(text: &[u8]) -> Option<usize> {
    memchr_iter(b'"', text).find(|&at| matches!(text.get(at + 1), None | Some(b' ')) && !escaped(text, at))
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
