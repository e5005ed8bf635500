"""What a server of meters and its client say to each other: one JSON document a line, version 1.

Both ends prove that they know the token by HMAC-SHA256 over both nonces, so that the token itself is never sent. A
reading is known by (epoch, seq): an epoch is one life of the server, and in it each meter's readings count from 0.

    server  {"iojoule_meters": 1, "nonce": N1, "token": true}
    client  {"hello": 1, "nonce": N2, "proof": HMAC(token, "client" N1 N2)}
    server  {"hello": 1, "proof": HMAC(token, "server" N1 N2), "meters": [...]}     or {"refused": why}
    client  {"time": k}                        server  {"time": k, "ns": ..., "clock": id}
    client  {"subscribe": meter, "after": [epoch, seq] | null, "since": [clock, ns] | null}
    server  {"subscribed": meter, "after": [epoch, seq]}, then, as they come,
            {"rows": [[seq, ...reading], ...], "epoch": e, "clock": id}    {"lost": count, "why": text}
            {"describe": {...}}   {"event": "lost" | "back" | "fatal" | "warning", "text": ...}   {"beat": ns}
    client  {"have": [epoch, seq]}
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from typing import Any

from iojoule.meters.tcp_line import LONGEST_LINE
from iojoule.meters.wire import line as encode

__all__ = ["LONGEST_LINE", "VERSION", "ProtocolError", "decode", "encode", "nonce", "proof", "proves"]

VERSION = 1


class ProtocolError(Exception):
    """What was heard is not this protocol."""


def decode(line: bytes) -> dict[str, Any]:
    """The document in ``line``; ProtocolError when it is not one."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise ProtocolError(f"{line[:60]!r} is not JSON") from error
    if not isinstance(document, dict):
        raise ProtocolError(f"{line[:60]!r} is not a document")
    return document


def nonce() -> str:
    """A number that is used once."""
    return secrets.token_hex(16)


def proof(token: bytes, end: str, first: str, second: str) -> str:
    """That ``end`` ("client" or "server") knows ``token``, for these two nonces."""
    return hmac.new(token, f"{end} {first} {second}".encode(), hashlib.sha256).hexdigest()


def proves(given: object, token: bytes, end: str, first: str, second: str) -> bool:
    """Whether ``given`` is that proof; takes as long when it is not."""
    text = given.encode() if isinstance(given, str) else b""
    return hmac.compare_digest(text, proof(token, end, first, second).encode())
