"""A program that logs a plug's watts once a second: a CSV file with stamps in UTC, a little after each second."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from iojoule.meters import clock
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Truth

HEADER = b"Time,Power (W)\n"
MAKE = Make(rdg_pct=1.0, rng_pct=0.1, range=100.0, resolution=0.1, update_s=1.0, latency_s=0.3)


class LogFileFront:
    """Each line is a window's end and its mean power; a file while it is served, else a log in this process."""

    ABOUT: ClassVar[str] = "a program that logs a plug of 1 % and 0.1 W every second"
    WATTS: ClassVar[tuple[float, float]] = (4.0, 60.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.instrument = Instrument(truth, MAKE, seed)
        self._ahead_ns = time.time_ns() - time.monotonic_ns()
        self._path = Path("log.csv")
        self._next = 0

    def section(self) -> dict[str, Any]:
        u_abs = MAKE.rng_pct / 100 * MAKE.range / math.sqrt(3) + MAKE.resolution / math.sqrt(12)
        return {
            "kind": "log_file", "path": str(self._path), "time_column": "Time", "value_column": "Power",
            "interval": "1s", "u_rel": round(MAKE.rdg_pct / 100 / math.sqrt(3), 6), "u_abs": round(u_abs, 6),
        }  # fmt: skip

    def truth_channels(self) -> tuple[str, ...]:
        return ("power",)

    def link(self) -> LogFileFront:
        return self

    def head(self) -> bytes:
        return HEADER

    def skip(self) -> bytes:
        self.fresh()
        return b""

    def fresh(self) -> bytes:
        """Every line that was written since the last call."""
        last = self.instrument.shown(clock.now_ns()).count
        first = self._next or last
        self._next = last + 1
        return b"".join(self._line(count) for count in range(first, last + 1))

    def close(self) -> None:
        pass

    def _line(self, count: int) -> bytes:
        end_ns = count * 10**9
        shown = self.instrument.shown(end_ns + int(MAKE.latency_s * 1e9))
        at = datetime.fromtimestamp((end_ns + self._ahead_ns) // 10**6 / 1000, UTC)
        return f"{at.isoformat(timespec='milliseconds')},{shown.value:.1f}\n".encode()

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """Write the log as time goes by; where it lies."""
        ending = threading.Event()

        def write() -> None:
            while not ending.wait(0.05):
                with self._path.open("ab", buffering=0) as file:
                    file.write(self.fresh())

        with TemporaryDirectory(prefix="iojoule-lab-") as folder:
            self._path = Path(folder) / "log.csv"
            self._path.write_bytes(HEADER)
            thread = threading.Thread(target=write, name="lab-log", daemon=True)
            thread.start()
            try:
                yield str(self._path)
            finally:
                ending.set()
                thread.join()
