"""Who may listen to a server of meters: a token both ends know, or certificates both ends show (mutual TLS ≥ 1.2).

Without either a server listens on loopback only. Secrets come from files or the environment, never from a command line,
which every user of the machine can read.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

#: Where a token is looked for when no file is named.
TOKEN_VARIABLE = "IOJOULE_METER_TOKEN"
#: Characters: fewer can be tried out.
SHORTEST_TOKEN = 16


class CredentialError(ValueError):
    """A credential is missing, unreadable or too weak; says what to do."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of one end. ``tls`` of a server asks every client for a certificate where it was given an authority."""

    token: bytes | None = None
    tls: ssl.SSLContext | None = None

    @property
    def tells_clients_apart(self) -> bool:
        """Whether a stranger is turned away."""
        return self.token is not None or (self.tls is not None and self.tls.verify_mode == ssl.CERT_REQUIRED)


def token(file: Path | None) -> bytes | None:
    """From ``file``, else from the environment, else None."""
    if file is not None:
        try:
            text = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
            raise CredentialError(f"cannot read the token in {file}: {reason}") from error
        where = str(file)
    else:
        text, where = os.environ.get(TOKEN_VARIABLE, "").strip(), f"${TOKEN_VARIABLE}"
        if not text:
            return None
    if len(text) < SHORTEST_TOKEN:
        raise CredentialError(
            f"the token in {where} has {len(text)} characters, {SHORTEST_TOKEN} are needed: "
            "openssl rand -hex 32 makes one"
        )
    return text.encode()


def tls(certificate: Path | None, key: Path | None, authority: Path | None, *, server: bool) -> ssl.SSLContext | None:
    """A context of TLS 1.2 or newer, or None where nothing was given. A client checks the name of the server."""
    if certificate is None and key is None and authority is None:
        return None
    if (certificate is None) != (key is None) or (server and certificate is None):
        raise CredentialError("TLS needs a certificate and its key: give both")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if certificate is not None:
            context.load_cert_chain(certificate, key)
        if authority is not None:
            context.load_verify_locations(authority)
            context.verify_mode = ssl.CERT_REQUIRED
        elif not server:
            context.load_default_certs()
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(str(path) for path in (certificate, key, authority) if path)
        raise CredentialError(f"cannot use {files}: {error.strerror or error}") from error
    return context


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


#: What helps where strangers could listen.
_GIVE = (
    "write a token to a file (openssl rand -hex 32 > token) and give --token-file, or give --tls-cert, --tls-key and "
    "--tls-ca so that clients must show a certificate"
)


def check_listen(host: str, credentials: Credentials, give: str = _GIVE) -> None:
    """CredentialError where strangers could listen; ``give`` is what helps."""
    if not is_loopback(host) and not credentials.tells_clients_apart:
        raise CredentialError(
            f"{host} can be reached from outside this machine, and no credential was given: {give}; "
            "or listen on 127.0.0.1"
        )
