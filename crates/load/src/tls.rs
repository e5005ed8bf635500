//! TLS as a filter over a nonblocking socket: `rustls` without its I/O. A request may be written before the
//! handshake is done; `rustls` keeps it until then, so that the engine need not know of handshakes.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use crate::LoadError;
use crate::config::TlsConfig;
use crate::socket;
use crate::url::Url;

/// Where Linux distributions keep the bundle of trusted authorities.
const BUNDLES: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem"];

/// What every connection of a load starts from.
#[derive(Clone)]
pub(crate) struct TlsStarter {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsStarter {
    /// `None` where the URL is plain HTTP.
    pub fn new(url: &Url, tls: &TlsConfig) -> Result<Option<Self>, LoadError> {
        if !url.tls {
            return Ok(None);
        }
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|e| LoadError::config("tls", e.to_string()))?;
        let mut config = if tls.insecure {
            let verifier = Arc::new(AnyCertificate(provider.signature_verification_algorithms));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        } else {
            builder.with_root_certificates(authorities(tls.ca.clone())?).with_no_client_auth()
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let name = ServerName::try_from(url.host.clone())
            .map_err(|_| LoadError::config("url", format!("{:?} cannot stand in a certificate", url.host)))?;
        Ok(Some(Self { config: Arc::new(config), name }))
    }

    pub fn start(&self) -> io::Result<Box<ClientConnection>> {
        ClientConnection::new(self.config.clone(), self.name.clone()).map(Box::new).map_err(io::Error::other)
    }
}

fn authorities(ca: Option<PathBuf>) -> Result<RootCertStore, LoadError> {
    let named = ca.or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from));
    let bundle = named.or_else(|| BUNDLES.iter().map(PathBuf::from).find(|p| p.exists()));
    let bundle = bundle.ok_or_else(|| LoadError::Host {
        what: "no bundle of trusted certificate authorities was found".into(),
        remedy: "install ca-certificates or name a PEM file in `tls.ca`".into(),
    })?;
    let pem = fs::read(&bundle).map_err(|e| LoadError::file(&bundle, e))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let bad = |e: &dyn std::fmt::Display| LoadError::config("tls.ca", format!("{}: {e}", bundle.display()));
        // A system bundle may hold an authority in a form webpki refuses; the others still count.
        let _ = store.add(certificate.map_err(|e| bad(&e))?);
    }
    if store.is_empty() {
        return Err(LoadError::config("tls.ca", format!("{} holds no usable certificate", bundle.display())));
    }
    Ok(store)
}

/// Plain bytes in and out of a socket, whatever lies between.
pub(crate) enum Transport {
    Plain(OwnedFd),
    Tls(OwnedFd, Box<ClientConnection>),
}

impl Transport {
    pub fn socket(&self) -> &OwnedFd {
        match self {
            Transport::Plain(fd) | Transport::Tls(fd, _) => fd,
        }
    }

    pub fn is_plain(&self) -> bool {
        matches!(self, Transport::Plain(_))
    }

    /// The connection is not usable yet: what fails now failed to connect.
    pub fn is_handshaking(&self) -> bool {
        matches!(self, Transport::Tls(_, session) if session.is_handshaking())
    }

    /// TLS has kept something to send.
    pub fn wants_write(&self) -> bool {
        matches!(self, Transport::Tls(_, session) if session.wants_write())
    }

    /// Takes bytes to send; all of them on TLS, which keeps what the socket does not take.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(fd) => socket::send(fd, bytes),
            Transport::Tls(fd, session) => {
                session.writer().write_all(bytes)?;
                flush(fd, session)?;
                Ok(bytes.len())
            }
        }
    }

    /// Sends what TLS has kept.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Plain(_) => Ok(()),
            Transport::Tls(fd, session) => flush(fd, session),
        }
    }

    /// The next bytes of the server; 0 where it has closed.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (fd, session) = match self {
            Transport::Plain(fd) => return socket::receive(fd, buffer),
            Transport::Tls(fd, session) => (fd, session),
        };
        loop {
            match session.reader().read(buffer) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                // Closed without a farewell; the length of the body tells whether anything is missing.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            session.read_tls(&mut Wire(fd))?;
            let state = session.process_new_packets();
            // The answer to a bad handshake is an alert; it should reach the server.
            let flushed = flush(fd, session);
            state.map_err(io::Error::other)?;
            flushed?;
        }
    }
}

fn flush(fd: &OwnedFd, session: &mut ClientConnection) -> io::Result<()> {
    while session.wants_write() {
        match session.write_tls(&mut Wire(fd)) {
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
            Ok(_) => {}
        }
    }
    Ok(())
}

struct Wire<'a>(&'a OwnedFd);

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        socket::receive(self.0, buffer)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        socket::send(self.0, bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Accepts every certificate, as `tls.insecure` asks; signatures are still checked.
#[derive(Debug)]
struct AnyCertificate(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
