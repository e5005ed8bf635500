"""How busy all processors of the host are while a step measures: two looks at the first line of /proc/stat.

CPU % of Issa and Kassem (tables 4 and 5) is this share, of the whole machine and not of one program.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_WORK = (0, 1, 2, 5, 6)
"""Columns in which a processor works for this host: user nice system irq softirq, not steal. Guest is inside user."""
_ALL = range(8)


class ProcessorTime:
    """Told the phase ten times a second; keeps the first and the last look of phase ``measure``."""

    def __init__(self, stat: Path = Path("/proc/stat")) -> None:
        self._stat = stat
        self._first: tuple[int, float, float] | None = None
        self._last: tuple[int, float, float] | None = None

    def see(self, phase: str | None) -> None:
        """Looks, if the phase is the one that is measured. A host without /proc/stat is not looked at."""
        if phase == "measure":
            self._last = self._look()
            self._first = self._first or self._last

    def describe(self) -> dict[str, float] | None:
        """Seconds worked and seconds there were, summed over all processors; None where no time passed."""
        if self._first is None or self._last is None or self._last[2] <= self._first[2]:
            return None
        (begin_ns, busy, whole), (end_ns, busy_end, whole_end) = self._first, self._last
        return {"busy_s": busy_end - busy, "all_s": whole_end - whole, "begin_ns": begin_ns, "end_ns": end_ns}

    def _look(self) -> tuple[int, float, float] | None:
        try:
            line = self._stat.read_text(encoding="ascii").partition("\n")[0]
        except OSError:
            return None
        tick = os.sysconf("SC_CLK_TCK")
        columns = [int(word) for word in line.split()[1:]]
        columns += [0] * (len(_ALL) - len(columns))
        return time.monotonic_ns(), sum(columns[i] for i in _WORK) / tick, sum(columns[i] for i in _ALL) / tick
