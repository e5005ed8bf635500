//! The secret of the pseudonyms: given in a file, or drawn at random and left beside the table, readable by its owner
//! alone. Whoever has it can test guesses; without it, nobody can.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::WeblogError;
use super::names::Names;

const SHORTEST: usize = 16;

pub(crate) struct Key {
    bytes: Vec<u8>,
    mac: Hmac<Sha256>,
    path: Option<PathBuf>,
    fresh: bool,
}

/// The key for a table at `output`. A key left beside it by an earlier run is used again, so that names stay the same.
pub(crate) fn key_for(names: Names, given: Option<&Path>, output: &Path) -> Result<Key, WeblogError> {
    if names != Names::Hmac {
        if given.is_some() {
            return Err(WeblogError::Option(format!("key_file: names = {} takes no key", names.name())));
        }
        // Clients still get numbers only; the key behind them is thrown away.
        return Ok(Key::new(random()?, None, false));
    }
    let mut beside = output.as_os_str().to_owned();
    beside.push(".key");
    let beside = PathBuf::from(beside);
    let path = match given {
        Some(path) => path.to_owned(),
        None if beside.exists() => beside,
        None => return Ok(Key::new(random()?, Some(beside), true)),
    };
    let text = fs::read(&path).map_err(|e| WeblogError::io(&path, e))?;
    let bytes = text.trim_ascii_end().to_vec();
    if bytes.len() < SHORTEST {
        let text = format!("key_file: {} holds {} bytes; a key has at least {SHORTEST}", path.display(), bytes.len());
        return Err(WeblogError::Option(text));
    }
    Ok(Key::new(bytes, Some(path), false))
}

impl Key {
    fn new(bytes: Vec<u8>, path: Option<PathBuf>, fresh: bool) -> Self {
        let mut block = [0u8; 64];
        let used = bytes.len().min(64);
        block[..used].copy_from_slice(&bytes[..used]);
        Self { mac: Hmac::<Sha256>::new(&block.into()), bytes, path, fresh }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn path(&self) -> Option<PathBuf> {
        self.path.clone()
    }

    /// 128 bits that stand for a client.
    pub fn client(&self, host: &[u8]) -> [u8; 16] {
        let code = self.mac.clone().chain_update(host).finalize().into_bytes();
        code.first_chunk().copied().unwrap_or_default()
    }

    /// Writes a key drawn at random to its file.
    pub fn store(&self) -> Result<(), WeblogError> {
        let Some(path) = self.path.as_ref().filter(|_| self.fresh) else { return Ok(()) };
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(&self.bytes)?;
            file.write_all(b"\n")
        };
        write().map_err(|e| WeblogError::io(path, e))
    }
}

/// 256 bits of the kernel's randomness, as hexadecimal text.
fn random() -> Result<Vec<u8>, WeblogError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0u8; 32];
    File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).map_err(|e| WeblogError::io(path, e))?;
    Ok(bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect())
}
