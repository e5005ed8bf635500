"""The dialogue with an instrument, kept byte for byte in ``raw/<meter>.log``.

Each message is one record: ``<monotonic ns> <direction> <length>``, a newline, the bytes as they were, a newline. The
direction is ``>`` for what was sent, ``<`` for what was heard. The length makes it exact even for half a line.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import BinaryIO

LATEST_NS = 10**9


class RawFile:
    """Appends to ``path``. What is sent is written at once, with all before it: a process that hangs or is killed
    leaves what it had asked. What only comes in, a thousand times a second from some meters, is written every second.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO | None = path.open("ab", buffering=0)
        #: A library may hear in a thread of its own (MQTT).
        self._lock = threading.Lock()
        self._waiting: list[bytes] = []
        self._written_ns = 0
        self.failure = ""

    def sent(self, data: bytes) -> None:
        self._put(b">", data)
        self.flush()

    def received(self, data: bytes) -> None:
        if self._put(b"<", data) - self._written_ns > LATEST_NS:
            self.flush()

    def _put(self, direction: bytes, data: bytes) -> int:
        with self._lock:
            now_ns = time.monotonic_ns()
            self._waiting.append(b"%d %s %d\n%s\n" % (now_ns, direction, len(data), data))
        return now_ns

    def flush(self) -> None:
        """Write what waits. A full disk must not stop the meter: the sampler reports the failure once."""
        with self._lock:
            data, self._waiting, self._written_ns = b"".join(self._waiting), [], time.monotonic_ns()
            if self._file is None or not data:
                return
            try:
                self._file.write(data)
            except OSError as error:
                self.failure = f"raw log stopped: {error.strerror}"
                self._file.close()
                self._file = None


def records(text: bytes) -> list[tuple[int, str, bytes]]:
    """``(monotonic ns, direction, bytes)`` of every whole record; half a record at the end is left out."""
    found, at = [], 0
    while (line_end := text.find(b"\n", at)) >= 0:
        ns, direction, length = text[at:line_end].split()
        body = text[line_end + 1 : line_end + 1 + int(length)]
        at = line_end + 2 + int(length)
        if at > len(text):
            break
        found.append((int(ns), direction.decode(), body))
    return found
