//! The base URL of a load: where to connect, what to call the host, what stands before every path.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::LoadError;

/// `http[s]://host[:port][/prefix]`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    pub tls: bool,
    /// Name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// As it stood in the URL: what `Host:` says.
    pub authority: String,
    /// Stands before every path; never ends in `/`.
    pub prefix: String,
}

impl Url {
    pub fn parse(url: &str) -> Result<Self, LoadError> {
        let bad = |reason: &str| LoadError::config("url", format!("{url:?}: {reason}"));
        let (tls, rest) = match url.split_once("://") {
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            _ => return Err(bad("does not start with http:// or https://")),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        if authority.contains('@') || url.contains(['?', '#']) || url.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(bad("holds a user, a query, a fragment or a blank"));
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, after) = v6.split_once(']').ok_or_else(|| bad("a bracket is not closed"))?;
                (host, after.strip_prefix(':').or_else(|| after.is_empty().then_some("")))
            }
            None => authority.split_once(':').map_or((authority, Some("")), |(host, port)| (host, Some(port))),
        };
        let port = match port.ok_or_else(|| bad("something stands behind the bracket"))? {
            "" if tls => 443,
            "" => 80,
            digits => digits.parse().map_err(|_| bad("the port is not a number below 65536"))?,
        };
        if host.is_empty() {
            return Err(bad("names no host"));
        }
        let prefix = path.trim_end_matches('/').to_owned();
        Ok(Self { tls, host: host.to_owned(), port, authority: authority.to_owned(), prefix })
    }

    /// The address to load. Where a name has several, the first that accepts a connection; where none does, the
    /// first, so that a server that is down is still loaded and its absence recorded.
    pub fn resolve(&self) -> Result<SocketAddr, LoadError> {
        let found = (self.host.as_str(), self.port).to_socket_addrs();
        let found: Vec<_> = found.map_err(|e| LoadError::config("url", format!("{:?}: {e}", self.host)))?.collect();
        let answers = |a: &&SocketAddr| TcpStream::connect_timeout(a, Duration::from_secs(1)).is_ok();
        match found.as_slice() {
            [] => Err(LoadError::config("url", format!("{:?} has no address", self.host))),
            [only] => Ok(*only),
            several => Ok(*several.iter().find(answers).unwrap_or(&several[0])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_apart_into_host_port_and_prefix() {
        let url = Url::parse("https://example.org:8443/a/b/").unwrap();
        assert_eq!((url.tls, url.host.as_str(), url.port, url.prefix.as_str()), (true, "example.org", 8443, "/a/b"));
        let url = Url::parse("http://[::1]:8080").unwrap();
        assert_eq!((url.host.as_str(), url.port, url.authority.as_str()), ("::1", 8080, "[::1]:8080"));
        assert_eq!(Url::parse("http://h/").unwrap().port, 80);
        assert_eq!(Url::parse("https://h").unwrap().port, 443);
    }

    #[test]
    fn a_url_that_cannot_be_loaded_is_refused() {
        for bad in
            ["h", "ftp://h", "http://", "http://:80", "http://h:99999", "http://u@h", "http://h?q", "http://[::1"]
        {
            assert!(Url::parse(bad).is_err(), "{bad}");
        }
    }
}
