"""A plug with a display of watt-hours, and a person who notes what it shows every few seconds, not quite on time."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from iojoule.meters import clock
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.manual import Notes, note

DIGIT_WH = 0.01
LOOK_EVERY_S = 5.0
U_LOOK_S = 0.2
MAKE = Make(rdg_pct=1.0, update_s=0.1)


class ManualFront:
    """The display counts from when the plug was plugged in; it shows whole digits, cut."""

    ABOUT: ClassVar[str] = "a plug of class 1 whose display shows 0.01 Wh, read by a person"
    WATTS: ClassVar[tuple[float, float]] = (100.0, 800.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.instrument, self._seed = Instrument(truth, MAKE, seed), seed
        self._since_ns = self._counted_ns = clock.now_ns()
        self._joules = 0.0
        self._noted: list[tuple[int, float]] = []
        self._path = Path("display.notes")

    def section(self) -> dict[str, Any]:
        return {
            "kind": "manual", "unit": "Wh", "resolution": DIGIT_WH, "class_pct": MAKE.rdg_pct, "interval": "1s",
            "u_look": f"{U_LOOK_S * 1000:.0f}ms", "notes": str(self._path),
        }  # fmt: skip

    def truth_channels(self) -> tuple[str, ...]:
        return ("energy",)

    def link(self) -> Notes:
        return self.looks

    def looks(self) -> list[tuple[int, float]]:
        """What the person has noted by now: a time that is not quite that of the look, and the display."""
        while (at_ns := self._since_ns + int(len(self._noted) * LOOK_EVERY_S * 1e9)) <= clock.now_ns():
            off_s = random.Random(f"{self._seed}/{len(self._noted)}").gauss(0.0, U_LOOK_S)
            off_s = max(-2 * U_LOOK_S, min(2 * U_LOOK_S, off_s))
            self._joules += self.instrument.counted(self._counted_ns, at_ns)
            self._counted_ns = max(self._counted_ns, self.instrument.shown(at_ns).end_ns)
            self._noted.append((at_ns + int(off_s * 1e9), int(self._joules / 3600 / DIGIT_WH) * DIGIT_WH))
        return list(self._noted)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """Write the notes as time goes by; where they lie."""
        ending, written = threading.Event(), 0

        def write() -> None:
            nonlocal written
            while True:
                for at_ns, value in self.looks()[written:]:
                    note(self._path, value, at_ns)
                    written += 1
                if ending.wait(0.1):
                    return

        with TemporaryDirectory(prefix="iojoule-lab-") as folder:
            self._path = Path(folder) / "display.notes"
            thread = threading.Thread(target=write, name="lab-display", daemon=True)
            thread.start()
            try:
                yield str(self._path)
            finally:
                ending.set()
                thread.join()
