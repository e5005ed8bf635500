//! The chunked transfer coding, RFC 9112 §7.1: sizes, data, trailers. Data is counted, not kept.

/// Bytes the trailer section may have before it is called nonsense.
const MAX_TRAILER: u32 = 64 * 1024;
/// Bytes a chunk's size line may have, extensions included.
const MAX_LINE: u32 = 4096;

/// Where in the coding the next byte stands.
#[derive(Clone, Copy, Debug)]
enum At {
    Size {
        digits: u8,
        line: u32,
    },
    Extension {
        line: u32,
    },
    Data,
    /// The line end behind the data.
    DataEnd,
    /// In the trailers; `line` counts the bytes of the present line.
    Trailer {
        line: u32,
        all: u32,
    },
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    at: At,
    /// Of the present chunk.
    left: u64,
}

/// What a piece of the body was.
pub(crate) struct Piece {
    /// Bytes of the input that belong to this body.
    pub used: usize,
    /// Bytes of content among them.
    pub content: u64,
    pub end: bool,
}

impl Chunked {
    pub fn new() -> Self {
        Self { at: At::Size { digits: 0, line: 0 }, left: 0 }
    }

    /// Takes the next bytes; `None` where they break the coding.
    pub fn feed(&mut self, input: &[u8]) -> Option<Piece> {
        let mut piece = Piece { used: 0, content: 0, end: false };
        while let Some(&byte) = input.get(piece.used) {
            if let At::Data = self.at {
                let step = self.left.min((input.len() - piece.used) as u64);
                self.left -= step;
                piece.used += step as usize;
                piece.content += step;
                if self.left == 0 {
                    self.at = At::DataEnd;
                }
                continue;
            }
            piece.used += 1;
            self.at = match self.at {
                At::Size { digits, line } => self.size_line(byte, digits, line + 1)?,
                At::Extension { line } if byte != b'\n' => {
                    if line == MAX_LINE {
                        return None;
                    }
                    At::Extension { line: line + 1 }
                }
                At::Extension { .. } => self.behind_size(),
                At::DataEnd => match byte {
                    b'\r' => At::DataEnd,
                    b'\n' => At::Size { digits: 0, line: 0 },
                    _ => return None,
                },
                At::Trailer { line: 0, .. } if byte == b'\n' => {
                    piece.end = true;
                    return Some(piece);
                }
                At::Trailer { all: MAX_TRAILER, .. } => return None,
                At::Trailer { line, all } => match byte {
                    b'\n' => At::Trailer { line: 0, all: all + 1 },
                    b'\r' => At::Trailer { line, all: all + 1 },
                    _ => At::Trailer { line: line + 1, all: all + 1 },
                },
                At::Data => self.at,
            };
        }
        Some(piece)
    }

    fn size_line(&mut self, byte: u8, digits: u8, line: u32) -> Option<At> {
        if let Some(digit) = (byte as char).to_digit(16) {
            if digits == 15 {
                return None;
            }
            self.left = if digits == 0 { 0 } else { self.left << 4 } | u64::from(digit);
            return Some(At::Size { digits: digits + 1, line });
        }
        match byte {
            _ if digits == 0 => None,
            b'\n' => Some(self.behind_size()),
            b';' | b'\r' | b' ' | b'\t' => Some(At::Extension { line }),
            _ => None,
        }
    }

    fn behind_size(&self) -> At {
        if self.left == 0 { At::Trailer { line: 0, all: 0 } } else { At::Data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"5;name=value\r\nhello\r\n0A\r\n0123456789\r\n0\r\nDigest: x\r\n\r\n";

    #[test]
    fn a_body_cut_anywhere_gives_the_same_content() {
        for cut in 0..BODY.len() {
            let mut coding = Chunked::new();
            let first = coding.feed(&BODY[..cut]).unwrap();
            assert!(!first.end && first.used == cut);
            let second = coding.feed(&BODY[cut..]).unwrap();
            assert!(second.end, "cut at {cut}");
            assert_eq!(first.content + second.content, 15);
        }
    }

    #[test]
    fn bytes_behind_the_last_chunk_are_left() {
        let mut input = BODY.to_vec();
        input.extend_from_slice(b"HTTP/1.1");
        assert_eq!(Chunked::new().feed(&input).unwrap().used, BODY.len());
    }

    #[test]
    fn what_is_no_size_breaks_the_coding() {
        for bad in [&b"x\r\n"[..], b"\r\n", b"1\r\nab", b"fffffffffffffffff\r\n", b"-1\r\n"] {
            assert!(Chunked::new().feed(bad).is_none(), "{bad:?}");
        }
    }
}
