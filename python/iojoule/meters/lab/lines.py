"""Instruments that speak lines (SCPI), over TCP, over a pseudo-terminal and in this process.

A front of this kind says what it answers to a line; here is how the line comes and the answer goes. An answer may take
time: ``answer`` returns ``(at_ns, text)``, where ``at_ns`` is when it is ready on the clock in use.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socket
import threading
import tty
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from iojoule.meters import clock
from iojoule.meters.base import NoRawLog, RawLog, Reconnect
from iojoule.meters.lab.faults import Faults

#: (line without its end, now) → (when the answer is ready, the answer or None where none is given).
Answer = Callable[[str, int], tuple[int, str | None]]


class LabLink:
    """A ``Link`` straight to a front, on the clock in use; each way takes ``way_s``, and ``byte_s`` for each byte."""

    def __init__(self, answer: Answer, way_s: float = 0.0005, raw: RawLog | None = None, byte_s: float = 0.0) -> None:
        self._answer, self._way_s, self._raw = answer, way_s, raw or NoRawLog()
        self.byte_s = byte_s
        self._busy_ns = 0

    def write(self, command: str) -> None:
        self._said(command)

    def query(self, command: str, timeout_s: float | None = None) -> str:
        ready_ns, text = self._said(command)
        if text is None or (timeout_s is not None and ready_ns - clock.now_ns() > timeout_s * 1e9):
            clock.sleep(timeout_s or 1.0)
            raise Reconnect(f"{command}: no answer")
        clock.sleep_until(ready_ns)
        clock.sleep(self._way_s + (len(text) + 2) * self.byte_s)
        self._raw.received(text.encode())
        return text

    def close(self) -> None:
        pass

    def _said(self, command: str) -> tuple[int, str | None]:
        """An instrument takes one command after the other: what makes it wait holds up what follows."""
        self._raw.sent(command.encode())
        clock.sleep(self._way_s + (len(command) + 2) * self.byte_s)
        ready_ns, text = clock.now_ns(), None
        for line in command.split("\n"):
            ready_ns, text = self._answer(line, max(clock.now_ns(), self._busy_ns))
            self._busy_ns = ready_ns
        return ready_ns, text


@contextlib.contextmanager
def served_on_tcp(answer: Answer, faults: Faults, port: int = 0, end: bytes = b"\n") -> Iterator[tuple[str, int]]:
    """Serve on loopback, one connection at a time like most instruments; host and port."""
    listener = socket.create_server(("127.0.0.1", port))
    peers: list[socket.socket] = []
    ending = threading.Event()

    def talk() -> None:
        while not ending.is_set():
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peers[:] = [peer]
            with peer, contextlib.suppress(OSError):
                _converse(partial(peer.recv, 4096), peer.sendall, answer, faults, end)

    thread = threading.Thread(target=talk, name="lab-tcp", daemon=True)
    thread.start()
    try:
        yield "127.0.0.1", listener.getsockname()[1]
    finally:
        ending.set()
        for thing in (listener, *peers):
            with contextlib.suppress(OSError):
                thing.shutdown(socket.SHUT_RDWR)
            thing.close()
        thread.join(5.0)


@contextlib.contextmanager
def served_on_pty(
    answer: Answer, faults: Faults, end: bytes = b"\r\n", baud: int = 0, at: Path | None = None
) -> Iterator[str]:
    """Serve on a pseudo-terminal; its path, such as ``/dev/pts/3``, or ``at``, a link to it while it is plugged in.

    ``baud`` makes every byte take the time it takes on a serial line (8N1: 10 bits); 0 for as fast as it goes.
    """
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    path = os.ttyname(theirs)
    if at is not None:
        at.unlink(missing_ok=True)
        at.symlink_to(path)
    ending = threading.Event()

    def hear() -> bytes:
        while not ending.is_set():
            if select.select([ours], [], [], 0.05)[0]:
                return os.read(ours, 4096)
        return b""

    def say(data: bytes) -> None:
        while data:
            data = data[os.write(ours, data) :]

    def talk() -> None:
        while not ending.is_set():
            with contextlib.suppress(OSError):
                _converse(hear, say, answer, faults, end, 10 / baud if baud else 0.0)

    thread = threading.Thread(target=talk, name="lab-pty", daemon=True)
    thread.start()
    try:
        yield path if at is None else str(at)
    finally:
        if at is not None:
            at.unlink(missing_ok=True)
        ending.set()
        thread.join(5.0)
        os.close(ours)
        os.close(theirs)


def _converse(
    hear: Callable[[], bytes],
    say: Callable[[bytes], None],
    answer: Answer,
    faults: Faults,
    end: bytes,
    byte_s: float = 0.0,
) -> None:
    """One connection until it ends: lines in, answers out, faults in between."""
    buffer = b""
    while data := hear():
        buffer += data
        while b"\n" in buffer:
            data, _, buffer = buffer.partition(b"\n")
            clock.sleep((len(data) + 1) * byte_s)
            line = data.decode("ascii", errors="replace").strip()
            ready_ns, text = answer(line, clock.now_ns())
            clock.sleep_until(ready_ns)
            if text is None:
                continue
            for wait_s, part in faults.parts(text.encode("ascii") + end, line):
                if part is None:
                    return
                clock.sleep(wait_s + len(part) * byte_s)
                say(part)
