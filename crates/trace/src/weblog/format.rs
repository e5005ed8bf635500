//! The way back from a parsed line to its text, and from an escaped field to the bytes the client sent.

use super::line::Line;

/// Appends `line` as the server would write it, without line feed.
pub fn write_line(line: &Line<'_>, out: &mut Vec<u8>) {
    for part in [line.host, b" ", line.ident, b" ", line.user, b" ["] {
        out.extend_from_slice(part);
    }
    out.extend_from_slice(line.time.format().as_bytes());
    out.extend_from_slice(b"] \"");
    out.extend_from_slice(line.request);
    out.extend_from_slice(b"\" ");
    match line.status {
        0 => out.push(b'-'),
        status => out.extend_from_slice(format!("{status:03}").as_bytes()),
    }
    match line.size {
        None => out.extend_from_slice(b" -"),
        Some(size) => out.extend_from_slice(format!(" {size}").as_bytes()),
    }
    if !line.rest.is_empty() {
        out.push(b' ');
        out.extend_from_slice(line.rest);
    }
}

/// Undoes the escapes of Apache and nginx: `\"`, `\\`, `\xhh` and C's `\n \t \r \b \v \f`. A backslash that starts none
/// of these stands for itself.
pub fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, tail @ ..] = rest {
        let (byte, used) = match (first, tail) {
            (b'\\', [b'x', high, low, ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 4),
                _ => (b'\\', 1),
            },
            (b'\\', [c @ (b'"' | b'\\'), ..]) => (*c, 2),
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b'b', ..]) => (8, 2),
            (b'\\', [b'v', ..]) => (11, 2),
            (b'\\', [b'f', ..]) => (12, 2),
            (c, _) => (*c, 1),
        };
        out.push(byte);
        rest = &rest[used..];
    }
    out
}

pub(crate) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|d| d as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_both_servers_are_undone() {
        assert_eq!(unescape(br#"/a\"b\x22\\c\x5C\t"#), b"/a\"b\"\\c\\\t");
        assert_eq!(unescape(br"\q \x4 \"), br"\q \x4 \");
    }
}
