"""A power sensor inside a server or a PDU: an update every so often, late by a delay of its own, a clock of its own.

The delay is drawn within what is said of it, and so is the phase of the updates. The clock shows whole seconds of UTC.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Instrument, Make, Shown
from iojoule.meters.lab.load import Truth

USER, PASSWORD = "reader", "made-password"
"""Who may read where somebody must log in."""
EPOCH_S = 1_790_000_000
"""UTC at host time 0, for a device whose clock is right."""


class Sensor:
    """What the fronts of managed devices have in common."""

    WATTS: ClassVar[tuple[float, float]] = (100.0, 400.0)
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=1.0, update_s=1.0, latency_s=0.3)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.1
    #: Joules of one count of the energy register.
    COUNT_J: ClassVar[float] = 3600.0

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.truth, self.seed, self.faults = truth, seed, Faults()
        draw = random.Random(f"sensor/{seed}")
        half_s = self.LATENCY_HALF_WIDTH_S
        self.make = replace(
            self.MAKE,
            latency_s=max(0.0, self.MAKE.latency_s + draw.uniform(-half_s, half_s)),
            phase_s=draw.uniform(0, self.MAKE.update_s),
            clock_offset_s=EPOCH_S + draw.uniform(-5, 5),
            clock_drift_ppm=draw.uniform(-20, 20),
        )
        self.instrument = Instrument(truth, self.make, seed)
        self._shown: Shown | None = None
        self._joules = draw.uniform(0, 1e9)

    def truth_channels(self) -> tuple[str, ...]:
        return ("power",)

    def shown(self, now_ns: int) -> Shown:
        """The update that is shown; each is made once."""
        count = (now_ns - int(self.make.latency_s * 1e9) - int(self.make.phase_s * 1e9)) // int(
            self.make.update_s * 1e9
        )
        if self._shown is None or self._shown.count != count:
            before, self._shown = self._shown, self.instrument.shown(now_ns)
            since_ns = before.end_ns if before else self._shown.start_ns
            self._joules += self.instrument.counted(since_ns, now_ns)
        return self._shown

    def watts(self, now_ns: int) -> float:
        return self.shown(now_ns).value

    def counts(self, now_ns: int) -> int:
        """The energy register, without an end."""
        self.shown(now_ns)
        return int(self._joules // self.COUNT_J)

    def utc_s(self, at_ns: int) -> int:
        """What the device's clock shows at host time ``at_ns``."""
        return self.instrument.clock_ns(at_ns) // 10**9

    def keys(self) -> dict[str, Any]:
        """What a user knows of it and writes."""
        half_ms = round(self.LATENCY_HALF_WIDTH_S / 3**0.5 * 1000)
        return {
            "update": f"{self.MAKE.update_s:g}s", "latency": f"{self.MAKE.latency_s * 1000:g}ms",
            "u_latency": f"{half_ms}ms", "accuracy_pct": self.MAKE.rdg_pct,
        }  # fmt: skip
