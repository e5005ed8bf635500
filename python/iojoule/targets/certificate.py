"""A self-signed certificate for the loopback address, made by `openssl req` for one run and used nowhere else."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from iojoule.errors import HostError

# Not a CA: strict clients refuse a CA's certificate as that of a server.
_CONFIG = """\
[req]
prompt = no
distinguished_name = name
x509_extensions = server
[name]
CN = localhost
[server]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1, DNS:localhost
"""


@dataclass(frozen=True)
class Certificate:
    """Two PEM files; a client that is to trust the server is given `chain`."""

    chain: Path
    key: Path


def self_signed(folder: Path) -> Certificate:
    """Make a P-256 certificate for 127.0.0.1 and localhost, good for thirty days."""
    openssl = which("openssl")
    if openssl is None:
        raise HostError("'tls = true' needs openssl", missing="openssl", remedy="apt-get install openssl")
    made = Certificate(folder / "certificate.pem", folder / "key.pem")
    config = folder / "certificate.cnf"
    config.write_text(_CONFIG)
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
    files = ["-keyout", str(made.key), "-out", str(made.chain)]
    done = subprocess.run(
        [openssl, "req", "-x509", "-config", str(config), *kind, *files], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise HostError(f"openssl could not make a certificate: {done.stderr.strip()}", missing="certificate")
    made.key.chmod(0o600)
    return made
