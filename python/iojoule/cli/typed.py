"""Lines on stdin while something else goes on: whatever is typed, as soon as it is whole."""

from __future__ import annotations

import os
import select
import sys
import time


class TypedLines:
    """Reads past Python's buffer, in which a second line would wait for a third. The end of stdin is no line."""

    def __init__(self) -> None:
        self._open, self._rest = True, b""

    def within(self, seconds: float) -> list[str]:
        """The lines that came, waiting at most ``seconds`` for the first."""
        if not self._open:
            time.sleep(seconds)
            return []
        fd = sys.stdin.fileno()
        if not select.select([fd], [], [], seconds)[0]:
            return []
        data = os.read(fd, 1 << 16)
        self._open = bool(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode(errors="replace").strip() for line in lines]
