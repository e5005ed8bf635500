"""Instruments that speak lines over VISA (LAN sockets, VXI-11, USB-TMC, GPIB, serial), through PyVISA.

An answer that does not come in time may come later and be taken for the answer to the next question. So a timeout
never leads to a second question on the same connection: it is ``Reconnect``, always; so is a line nobody asked for.
"""

from __future__ import annotations

import contextlib
import importlib
import select
import socket
import time
from collections.abc import Mapping
from typing import Any, Protocol

from iojoule.meters.base import Fatal, RawLog, Reconnect


class Link(Protocol):
    """A line-by-line conversation."""

    def write(self, command: str) -> None:
        """Say ``command``."""

    def query(self, command: str, timeout_s: float | None = None) -> str:
        """Say ``command`` and hear one line, without its end; Reconnect when it does not come whole and in time."""

    def close(self) -> None:
        """Hang up; never raises."""


class VisaLink:
    """A VISA resource such as ``TCPIP0::192.0.2.7::INSTR``, with the line end of the instrument.

    ``serial`` are PyVISA's attributes of a serial line (``{"baud_rate": 9600}``), used where the resource is one.
    ``byte_s`` is then how long a byte takes (8N1); 0 on anything else.
    """

    def __init__(
        self,
        resource: str,
        timeout_s: float,
        termination: str,
        raw: RawLog,
        backend: str = "@py",
        serial: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            visa: Any = importlib.import_module("pyvisa")
        except ImportError as error:
            raise Fatal("this meter needs PyVISA: pip install 'iojoule[meters]'") from error
        self._raw, self._timeout_s, self._end = raw, timeout_s, termination
        self._manager: Any = None
        self._session: Any = None
        try:
            self._manager = visa.ResourceManager(backend)
            self._session = self._manager.open_resource(resource, open_timeout=int(timeout_s * 1000))
            self._session.read_termination = "\n"
            if resource.upper().startswith("ASRL"):
                for name, value in (serial or {}).items():
                    setattr(self._session, name, value)
        except Exception as error:  # back ends raise VisaIOError, OSError, ValueError and plain Exception here
            self.close()
            if isinstance(error, ValueError) or "INV_RSRC_NAME" in str(error):
                raise Fatal(f"{resource!r} is not a VISA resource this back end can open: {_short(error)}") from error
            raise Reconnect(f"{resource} does not answer: {_short(error)}") from error
        # With pyvisa-py a LAN socket can be looked at before it is read. Its own read spins when the peer hangs up.
        # A serial line is read here as well, so that half a line is kept and an answer nobody asked for is seen.
        self._inner = getattr(self._manager.visalib, "sessions", {}).get(self._session.session)
        found = getattr(self._inner, "interface", None)
        self._socket = found if isinstance(found, socket.socket) else None
        self._serial: Any = found if hasattr(found, "in_waiting") else None
        self.byte_s = 10 / self._serial.baudrate if self._serial is not None else 0.0
        if self._socket is not None:
            # Commands without an answer follow each other; Nagle would hold the second for a delayed ACK, 40 ms.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, command: str) -> None:
        data = (command + self._end).encode("ascii")
        if unasked := self._unasked():
            self._raw.received(unasked)
            raise Reconnect(f"the meter said {unasked[:60]!r} unasked")
        self._raw.sent(data)
        try:
            self._session.write_raw(data)
        except Exception as error:
            raise Reconnect(f"{command}: not sent: {_short(error)}") from error

    def query(self, command: str, timeout_s: float | None = None) -> str:
        self.write(command)
        within_s = timeout_s or self._timeout_s
        try:
            data = self._line(within_s)
        except Exception as error:
            raise Reconnect(f"{command}: no whole answer within {within_s:g} s: {_short(error)}") from error
        self._raw.received(data)
        if not data.endswith(b"\n"):
            raise Reconnect(f"{command}: half an answer: {data[:60]!r}")
        return data.decode("ascii", errors="replace").rstrip("\r\n")

    def _line(self, within_s: float) -> bytes:
        by = time.monotonic() + within_s
        if self._serial is not None:
            return self._serial_line(by)
        self._await_line(by)
        self._session.timeout = int(within_s * 1000)
        data: bytes = self._session.read_raw()
        return data

    def _serial_line(self, by: float) -> bytes:
        seen = b""
        while not seen.endswith(b"\n"):
            if not select.select([self._serial], [], [], max(0.0, by - time.monotonic()))[0] or time.monotonic() > by:
                self._raw.received(seen)
                raise TimeoutError(f"heard {seen[:60]!r}" if seen else "heard nothing")
            if not (more := self._serial.read(self._serial.in_waiting)):
                raise ConnectionError("the line is gone")
            seen += more
        if seen.count(b"\n") > 1:
            self._raw.received(seen)
            raise ConnectionError(f"more than one answer: {seen[:60]!r}")
        return seen

    def _unasked(self) -> bytes:
        """What waits to be heard although nothing was asked."""
        if self._serial is not None:
            with contextlib.suppress(OSError):  # a line that is gone is found out by the write that follows
                return bytes(self._serial.read(self._serial.in_waiting))
            return b""
        if self._socket is None:
            return b""
        pending = bytes(getattr(self._inner, "_pending_buffer", b""))
        with contextlib.suppress(OSError):
            if select.select([self._socket], [], [], 0)[0]:
                return pending + self._socket.recv(4096, socket.MSG_DONTWAIT)
        return pending

    def _await_line(self, by: float) -> None:
        if self._socket is None:
            return
        seen = b""
        while b"\n" not in seen:
            if not select.select([self._socket], [], [], max(0.0, by - time.monotonic()))[0] or time.monotonic() > by:
                self._raw.received(seen)
                raise TimeoutError(f"heard {seen[:60]!r}" if seen else "heard nothing")
            more = self._socket.recv(1 << 16, socket.MSG_PEEK)
            if not more or more == seen:
                # A peek shows a hang-up only once the buffer is empty, and half a line stays readable: look again soon.
                if not more:
                    raise ConnectionError("the meter hung up")
                time.sleep(0.002)
            seen = more

    def close(self) -> None:
        for thing in (self._session, self._manager):
            with contextlib.suppress(Exception):
                if thing is not None:
                    thing.close()
        self._session = self._manager = None


def _short(error: BaseException) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
