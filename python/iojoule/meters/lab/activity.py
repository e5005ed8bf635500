"""The I/O that drives a laboratory's load: bytes per second of a disk, or of the process that runs an experiment.

A disk's from the sectors in /proc/diskstats (fields 6 and 10, 512 bytes each); a process's from ``read_bytes`` and
``write_bytes`` of /proc/<pid>/io, what it caused the block layer to move.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from iojoule.meters import clock

#: How often a run is looked for while there is none.
SEARCH_S = 0.2


class ByteRate:
    """Bytes per second between two calls. ``count`` is all bytes so far, None where there is nothing to count."""

    def __init__(self, count: Callable[[], int | None]) -> None:
        self._count = count
        self._at_ns, self._bytes = 0, None if (first := count()) is None else first
        self._at_ns = clock.now_ns()

    def __call__(self) -> float:
        now_ns, count = clock.now_ns(), self._count()
        before_ns, before = self._at_ns, self._bytes
        self._at_ns, self._bytes = now_ns, count
        if count is None or before is None or now_ns <= before_ns:
            return 0.0
        return max(0, count - before) / ((now_ns - before_ns) * 1e-9)


def of_device(name: str, proc: Path = Path("/proc")) -> Callable[[], int | None]:
    """Bytes read and written by the block device ``name``, such as ``sdb`` or ``loop0``."""

    def count() -> int | None:
        for line in (proc / "diskstats").read_text(encoding="ascii").splitlines():
            words = line.split()
            if words[2:3] == [name]:
                return (int(words[5]) + int(words[9])) * 512
        return None

    return count


class OfRun:
    """Bytes moved for the newest experiment that runs below ``folder``, such as ``runs``; None while there is none."""

    def __init__(self, folder: Path, proc: Path = Path("/proc")) -> None:
        self._folder, self._proc = folder, proc
        self._pid: int | None = None
        self._search_ns = 0

    def __call__(self) -> int | None:
        if self._pid is None:
            if clock.now_ns() < self._search_ns:
                return None
            self._search_ns = clock.now_ns() + int(SEARCH_S * 1e9)
            self._pid = self._running()
        count = None if self._pid is None else self._moved(self._pid)
        if count is None:
            self._pid = None
        return count

    def _running(self) -> int | None:
        manifests = sorted(self._folder.glob("*/manifest.json"), reverse=True)  # their names begin with the time
        for path in manifests[:5]:
            try:
                manifest = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            pid, _, since = str(manifest.get("process") or "").partition("@")
            if manifest.get("status") == "running" and pid.isdigit() and self._began(int(pid)) == since:
                return int(pid)
        return None

    def _began(self, pid: int) -> str | None:
        try:
            return (self._proc / str(pid) / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
        except (OSError, IndexError):
            return None

    def _moved(self, pid: int) -> int | None:
        try:
            text = (self._proc / str(pid) / "io").read_text(encoding="ascii")
        except OSError:
            return None
        return sum(int(count) for count in re.findall(r"^(?:read|write)_bytes: (\d+)$", text, re.MULTILINE))
