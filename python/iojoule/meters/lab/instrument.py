"""What an instrument makes of the truth: errors within its specification, steps, windows, latency, its own clock.

Gain and offset are drawn once per instrument, within ``±rdg_pct`` of the reading and ``±rng_pct`` of the range,
uniform: they are the same all the time, as those of a real one between two calibrations.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from iojoule.meters.lab.load import Truth


@dataclass(frozen=True, slots=True)
class Make:
    """How good an instrument is. Percent are half-widths; a resolution is the last digit, 0 for none."""

    rdg_pct: float = 0.0
    rng_pct: float = 0.0
    range: float = 0.0
    resolution: float = 0.0
    noise: float = 0.0
    """Standard deviation of one reading, in its unit."""
    update_s: float = 1.0
    """Seconds between two updates; a window mean is over that long."""
    latency_s: float = 0.0
    """From the end of a window until it can be read."""
    clock_offset_s: float = 0.0
    clock_drift_ppm: float = 0.0
    phase_s: float = 0.0
    """When, after a whole number of updates since 0, the updates fall."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A window of host time and the value the instrument shows for it; ``count`` numbers the updates."""

    count: int
    start_ns: int
    end_ns: int
    value: float


class Instrument:
    """One channel of power of one instrument on a ``truth``, seeded."""

    def __init__(self, truth: Truth, make: Make, seed: int = 0) -> None:
        draw = random.Random(f"instrument/{seed}")
        self.truth, self.make, self.seed = truth, make, seed
        self.gain = 1 + draw.uniform(-1, 1) * make.rdg_pct / 100
        self.offset = draw.uniform(-1, 1) * make.rng_pct / 100 * make.range
        self._update_ns = int(make.update_s * 1e9)
        self._phase_ns = int(make.phase_s * 1e9)

    def shown(self, now_ns: int) -> Shown:
        """The last window whose value can be read at ``now_ns``."""
        count = (now_ns - int(self.make.latency_s * 1e9) - self._phase_ns) // self._update_ns
        end_ns = count * self._update_ns + self._phase_ns
        start_ns = end_ns - self._update_ns
        mean = self.truth.joules(start_ns, end_ns) / self.make.update_s
        return Shown(count, start_ns, end_ns, self.display(mean, count))

    def next_update_ns(self, now_ns: int) -> int:
        """When the value that is shown changes next."""
        return self.shown(now_ns).end_ns + self._update_ns + int(self.make.latency_s * 1e9)

    def instant(self, at_ns: int) -> float:
        """A sample of the power at ``at_ns``, as shown."""
        return self.display(self.truth.watts(at_ns), at_ns)

    def counted(self, since_ns: int, now_ns: int) -> float:
        """Joules the instrument has counted from ``since_ns`` to its last update: gain and offset included."""
        end_ns = max(since_ns, self.shown(now_ns).end_ns)
        return self.truth.joules(since_ns, end_ns) * self.gain + self.offset * (end_ns - since_ns) * 1e-9

    def display(self, value: float, which: int) -> float:
        """``value`` with this instrument's errors and the noise of reading number ``which``, rounded to its digits."""
        shown = value * self.gain + self.offset
        if self.make.noise:
            shown += random.Random(f"{self.seed}/{which}").gauss(0.0, self.make.noise)
        return round(shown / self.make.resolution) * self.make.resolution if self.make.resolution else shown

    def clock_ns(self, now_ns: int) -> int:
        """What the instrument's own clock says at host time ``now_ns``."""
        return now_ns + int(self.make.clock_offset_s * 1e9 + self.make.clock_drift_ppm * 1e-6 * now_ns)
