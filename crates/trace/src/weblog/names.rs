//! Pseudonyms for the paths of a log. Every component of a path is hashed on its own, so that the shape of the tree
//! stays; the last one keeps a known extension. A directory never has a dot in its name and a file always has
//! one, so the two cannot clash.
//!
//! HMAC-SHA-256 with a secret key (RFC 2104), cut to 128 bits; or, as WebClient did it, SHA-1 of the bare name (RFC 3174),
//! which anyone can undo by hashing the names they suspect.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::format::{hex, unescape};
use super::statics::known_extension;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Names {
    #[default]
    Hmac,
    Sha1,
    Plain,
}

impl Names {
    pub fn name(self) -> &'static str {
        match self {
            Self::Hmac => "hmac",
            Self::Sha1 => "sha1",
            Self::Plain => "plain",
        }
    }
}

/// Turns logged targets into paths.
pub struct Namer {
    names: Names,
    mac: Hmac<Sha256>,
}

impl Namer {
    /// `key` is used by [`Names::Hmac`] alone.
    pub fn new(names: Names, key: &[u8]) -> Self {
        // The block size of SHA-256; a longer key is hashed first, as RFC 2104 has it.
        let mut block = [0u8; 64];
        match block.get_mut(..key.len()) {
            Some(start) => start.copy_from_slice(key),
            None => block[..32].copy_from_slice(&Sha256::digest(key)),
        }
        Self { names, mac: Hmac::<Sha256>::new(&block.into()) }
    }

    /// The URL path (with its leading `/`) under which an object is kept; `None` where `target` names no path of this
    /// server (`*`, `host:port`). Scheme and host of an absolute target are dropped, and so is a fragment.
    pub fn path(&self, target: &[u8]) -> Option<String> {
        let target = unescape(target);
        let (path, query) = split(origin(&target)?);
        let mut components: Vec<&[u8]> = path.split(|&c| c == b'/').collect();
        let last = components.pop()?;
        let mut out = String::new();
        for component in components {
            // `//` and `/./` name the directory they stand in.
            if !matches!(component, b"" | b".") {
                out.push('/');
                self.directory(component, &mut out);
            }
        }
        out.push('/');
        if matches!(last, b"" | b".") && query.is_none() {
            out.push_str("index.html");
        } else {
            self.file(last, query, &mut out);
        }
        Some(out)
    }

    fn directory(&self, name: &[u8], out: &mut String) {
        match self.names {
            Names::Plain if is_plain(&decoded(name)) => out.extend(decoded(name).iter().map(|&c| match c {
                b'.' => '+',
                c => char::from(c),
            })),
            _ => out.push_str(&self.hash(name)),
        }
    }

    fn file(&self, name: &[u8], query: Option<&[u8]>, out: &mut String) {
        let extension = known_extension(name);
        let whole = match query {
            Some(query) => [name, b"?", query].concat(),
            None => name.to_vec(),
        };
        match self.names {
            Names::Plain if query.is_none() && is_plain(&decoded(name)) => {
                out.extend(decoded(name).iter().map(|&c| char::from(c)));
                if extension.is_none() {
                    out.push_str("+.bin");
                }
            }
            _ => {
                out.push_str(&self.hash(&whole));
                out.push('.');
                out.push_str(extension.unwrap_or("bin"));
            }
        }
    }

    fn hash(&self, name: &[u8]) -> String {
        let digest = match self.names {
            Names::Hmac => self.mac.clone().chain_update(name).finalize().into_bytes()[..16].to_vec(),
            Names::Sha1 | Names::Plain => Sha1::digest(name).to_vec(),
        };
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// `/path?query` of a request target.
fn origin(target: &[u8]) -> Option<&[u8]> {
    if target.first() == Some(&b'/') {
        return Some(target);
    }
    let scheme = memchr::memmem::find(target, b"://").filter(|&at| target[..at].iter().all(u8::is_ascii_alphabetic))?;
    let rest = &target[scheme + 3..];
    Some(memchr::memchr(b'/', rest).map_or(b"/", |at| &rest[at..]))
}

fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    let target = memchr::memchr(b'#', target).map_or(target, |at| &target[..at]);
    match memchr::memchr(b'?', target) {
        Some(at) => (&target[..at], Some(&target[at + 1..])),
        None => (target, None),
    }
}

/// Names that are the same in a URL, in a log and in every file system.
fn is_plain(name: &[u8]) -> bool {
    (1..=200).contains(&name.len())
        && name.iter().any(|&c| c != b'.')
        && name.iter().all(|&c| c.is_ascii_alphanumeric() || b"._-~".contains(&c))
}

/// Percent-escapes undone, so that `%7Ebob` and `~bob` are one directory.
fn decoded(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        let byte = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(h, l)| h << 4 | l),
            _ => None,
        };
        out.push(byte.unwrap_or(*first));
        rest = &rest[if byte.is_some() { 3 } else { 1 }..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(names: Names, target: &str) -> String {
        Namer::new(names, b"0123456789abcdef").path(target.as_bytes()).unwrap()
    }

    /// Digests from `printf %s NAME | sha1sum`.
    #[test]
    fn sha1_names_are_the_digests_of_the_bare_components() {
        let expected = "/19f49d852660fe0a079cbf95c3efb34ba88de911/d35c81a65376d1cf1a72af4141d220b405077d7a.gif";
        assert_eq!(path(Names::Sha1, "/images/logo.GIF"), expected);
        assert_eq!(path(Names::Sha1, "/abc/"), "/a9993e364706816aba3e25717850c26c9cd0d89d/index.html");
    }

    /// RFC 4231, test case 2: key "Jefe", data "what do ya want for nothing?".
    #[test]
    fn hmac_names_are_the_rfcs_code_cut_to_128_bits() {
        let namer = Namer::new(Names::Hmac, b"Jefe");
        assert_eq!(namer.hash(b"what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c7");
        // Test case 6: a key longer than the block.
        let namer = Namer::new(Names::Hmac, &[0xaa; 131]);
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(namer.hash(text), "60e431591ee0b67f0d8a26aacbf5b77f");
    }

    #[test]
    fn a_directory_is_its_index_and_never_clashes_with_a_file() {
        for names in [Names::Hmac, Names::Sha1, Names::Plain] {
            assert_eq!(path(names, "/"), "/index.html");
            assert_eq!(path(names, "http://h.org"), "/index.html");
            assert_eq!(path(names, "//x/./"), path(names, "/x/"));
            assert!(path(names, "/a/").ends_with("/index.html"));
            let (file, below) = (path(names, "/v1.html"), path(names, "/v1.html/x.gif"));
            assert!(!below.starts_with(&format!("{file}/")), "{file} {below}");
            assert_ne!(path(names, "/a"), path(names, "/a.bin"));
        }
        assert!(Namer::new(Names::Hmac, b"k").path(b"*").is_none());
    }

    #[test]
    fn plain_names_that_no_file_system_should_see_are_hashed() {
        assert_eq!(path(Names::Plain, "/%7Ebob/v1.2/page.html"), "/~bob/v1+2/page.html");
        assert_eq!(path(Names::Plain, "/a/b"), "/a/b+.bin");
        for hostile in ["/../../etc/passwd.txt", "/%2e%2e/x.txt", r"/a\x00b.txt", "/a%2Fb.txt", "/a.txt?x=1"] {
            let path = path(Names::Plain, hostile);
            assert!(path.split('/').all(|c| c != ".."), "{path}");
            assert!(path.bytes().all(|c| c.is_ascii_alphanumeric() || b"/._-~+".contains(&c)), "{path}");
        }
    }

    #[test]
    fn a_query_goes_into_the_name_and_the_extension_stays() {
        let (one, two) = (path(Names::Hmac, "/x.csv?a=1"), path(Names::Hmac, "/x.csv?a=2"));
        assert!(one != two && one.ends_with(".csv") && two.ends_with(".csv"));
    }
}
