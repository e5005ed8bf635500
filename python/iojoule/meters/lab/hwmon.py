"""An INA226 on a 12 V rail as Linux shows it: power register of 16 bits, made anew every ``update_interval``.

Data sheet SBOS547: 2.5 µV a step over the shunt, so 250 µA on 10 mΩ, and 25 of those times a volt are a step of power.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.lab.tree import Tree

SHUNT_OHM = 0.01
STEP_A = 2.5e-6 / SHUNT_OHM
STEP_W = 25 * STEP_A
#: Gain of the chip and tolerance of the shunt; offset of 10 µV over the shunt at 12 V.
GAIN_PCT = 0.5
OFFSET_W = 10e-6 / SHUNT_OHM * 12.0
MOST = 0xFFFF


class HwmonFront:
    """Conversions averaged over 140 ms."""

    ABOUT: ClassVar[str] = "INA226 with 10 mOhm on the 12 V rail of a drive, in a hwmon tree"
    WATTS: ClassVar[tuple[float, float]] = (2.0, 25.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        update_ms = 140
        draw = random.Random(f"hwmon/{seed}")
        make = Make(
            rdg_pct=GAIN_PCT, rng_pct=100.0, range=OFFSET_W, resolution=STEP_W, update_s=update_ms * 1e-3,
            phase_s=draw.random() * update_ms * 1e-3,
        )  # fmt: skip
        self.instrument, self.truth = Instrument(truth, make, seed), truth
        fixed = {"hwmon3/name": "ina226", "hwmon3/update_interval": update_ms, "hwmon3/shunt_resistor": 10_000}
        self.tree = Tree(fixed, self._registers)

    def section(self) -> dict[str, Any]:
        # Gain and offset, and apart from them half a step of resolution; rectangular.
        u_rel, u_abs, u_digit = GAIN_PCT / 100 / math.sqrt(3), OFFSET_W / math.sqrt(3), STEP_W / math.sqrt(12)
        note = {"boundary": "dc_rail", "drive": "sda", "u_rel": u_rel, "u_abs": u_abs, "u_digit": u_digit}
        return {
            "kind": "hwmon", "root": str(self.tree.root), "interval": "140ms", "channels": {"ina226.power1": note},
        }  # fmt: skip

    def link(self) -> None:
        return None

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with self.tree.moving(0.01) as root:
            yield str(root)

    def truth_channels(self) -> tuple[str, ...]:
        return ("ina226.power1",)

    def _registers(self, now_ns: int) -> dict[str, object]:
        shown = self.instrument.shown(now_ns)
        steps = max(0, min(MOST, round(shown.value / STEP_W)))  # the register has no sign
        volts = self.truth.volts(shown.end_ns)
        return {
            "hwmon3/power1_input": round(steps * STEP_W * 1e6),
            "hwmon3/in1_input": round(round(volts / 1.25e-3) * 1.25),
            "hwmon3/curr1_input": round(round(shown.value / volts / STEP_A) * STEP_A * 1e3),
        }
