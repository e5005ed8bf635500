"""Lines over TCP, with or without TLS: half a line, or a line without end, is never handed on."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from typing import Protocol

from iojoule.meters import clock
from iojoule.meters.base import Fatal, RawLog, Reconnect

#: Bytes of one line; whoever sends more is not understood.
LONGEST_LINE = 1 << 20


def host_and_port(value: str) -> str:
    """``HOST:PORT`` as it is; ValueError when it is not that."""
    host, _, port = value.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("write HOST:PORT, such as 192.0.2.7:4780")
    return value


class Line(Protocol):
    """A conversation in lines."""

    def send(self, line: bytes) -> None:
        """Reconnect when it cannot be sent."""

    def line(self, until_ns: int) -> bytes | None:
        """The next whole line, None when none came until then; Reconnect when the other end hung up."""

    def unasked(self) -> bytes:
        """What has come without being asked for."""

    def close(self) -> None:
        """Hang up; never raises."""


class TcpLine:
    """A socket, with TLS where a context is given."""

    def __init__(self, address: str, timeout_s: float, context: ssl.SSLContext | None, raw: RawLog) -> None:
        host, _, port = address.rpartition(":")
        self._raw, self._buffer, self._address, self._timeout_s = raw, b"", address, timeout_s
        host = host.strip("[]")
        try:
            plain = socket.create_connection((host, int(port)), timeout_s)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._socket = context.wrap_socket(plain, server_hostname=host) if context else plain
        except ssl.SSLCertVerificationError as error:
            raise Fatal(f"{address}: its certificate is not accepted: {error.verify_message}") from error
        except ssl.SSLError as error:
            raise Reconnect(f"{address} does not speak TLS as asked: {error.reason}") from error
        except OSError as error:
            raise Reconnect(f"{address} does not answer: {error.strerror or error}") from error

    def send(self, line: bytes) -> None:
        self._raw.sent(line)
        self._socket.settimeout(self._timeout_s)
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise Reconnect(f"not sent: {error.strerror or error}") from error

    def line(self, until_ns: int) -> bytes | None:
        while b"\n" not in self._buffer:
            if len(self._buffer) > LONGEST_LINE:
                raise Reconnect("a line without end")
            rest_s = (until_ns - clock.now_ns()) * 1e-9
            self._socket.settimeout(max(rest_s, 0.0005))
            try:
                data = self._socket.recv(1 << 16)
            except (TimeoutError, ssl.SSLWantReadError, BlockingIOError):
                if rest_s <= 0.0005:
                    return None
                continue
            except OSError as error:
                raise Reconnect(f"the line broke: {getattr(error, 'reason', '') or error.strerror or error}") from error
            if not data:
                self._raw.received(self._buffer)
                raise Reconnect(f"{self._address} hung up")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        self._raw.received(line + b"\n")
        return line

    def unasked(self) -> bytes:
        with contextlib.suppress(OSError, ValueError):
            if not self._buffer and select.select([self._socket], [], [], 0)[0]:
                self._buffer += self._socket.recv(1 << 16)
        return self._buffer

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()
