"""The bench of a scanning multimeter: a 5 V and a 12 V line of a drive with a shunt in each, and the multimeter.

Each line droops with its current through the resistance of its supply. Shunts are off within their tolerance, and by
their temperature; leads add thermal EMFs. The multimeter errs by gain and offset of each of its ranges, adds noise,
and rounds. One channel is converted after the other, each the mean over its integration time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from iojoule.meters.lab.load import Truth

#: Ohm of each supply with its cable.
SOURCE_OHM = 0.05
OHM, TOLERANCE_PCT, TEMPCO_PPM, RISE_K, EMF_V = 0.1, 0.1, 50.0, 20.0, 5e-6
#: A range ends 20 % above its name.
OVER_RANGE = 1.2
OVERLOAD_V = 9.9e37


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the drive: ``voltage`` and ``shunt`` are channels of the scanner."""

    name: str
    nominal_v: float
    share: float
    voltage: int
    shunt: int
    ohm: float
    emf_v: float
    upstream: bool


class Lines:
    """The truth, shared out between the 5 V line (a fifth to a third of it) and the 12 V line."""

    def __init__(self, truth: Truth, seed: int) -> None:
        draw = random.Random(f"lines/{seed}")
        share = draw.uniform(0.2, 0.33)
        self.truth = truth
        self.lines = [
            Line(name, volts, part, voltage, voltage + 1, _resistor(draw), draw.uniform(-1, 1) * EMF_V, upstream)
            for name, volts, part, voltage, upstream in (
                ("5v", 5.0, share, 101, False), ("12v", 12.0, 1 - share, 103, True),
            )
        ]  # fmt: skip
        self._of = {address: line for line in self.lines for address in (line.voltage, line.shunt)}

    def volts(self, address: int, start_ns: int, end_ns: int) -> float:
        """Mean voltage at a channel over a conversion; an open input shows nothing but a little noise."""
        if (line := self._of.get(address)) is None:
            return 0.0
        watts = line.share * self.truth.joules(start_ns, end_ns) / ((end_ns - start_ns) * 1e-9)
        # P = V·I and V = V0 − (R_source + R_shunt)·I.
        ohm = SOURCE_OHM + line.ohm
        drive_v = (line.nominal_v + math.sqrt(line.nominal_v**2 - 4 * ohm * watts)) / 2
        amps = watts / drive_v
        if address == line.shunt:
            return amps * line.ohm + line.emf_v
        return drive_v + amps * line.ohm if line.upstream else drive_v

    def rails(self) -> list[dict[str, Any]]:
        """As a user would describe them, who knows the resistors by what is printed on them."""
        return [
            {
                "name": line.name, "voltage": f"@{line.voltage}", "shunt": f"@{line.shunt}", "ohm": OHM,
                "tolerance_pct": TOLERANCE_PCT, "tempco_ppm": TEMPCO_PPM, "temperature_rise": RISE_K,
                "voltage_range": 10.0 if line.nominal_v < 10 else 100.0, "shunt_range": 0.1,
                "upstream": line.upstream, "role": "drive", "drive": "sda",
            }
            for line in self.lines
        ]  # fmt: skip


def _resistor(draw: random.Random) -> float:
    warm = draw.uniform(-1, 1) * TEMPCO_PPM * 1e-6 * draw.uniform(0, RISE_K)
    return OHM * (1 + draw.uniform(-1, 1) * TOLERANCE_PCT / 100) * (1 + warm)


class Multimeter:
    """Gain and offset of every range, uniform within ``pct`` (of reading, of range), the same all the time."""

    def __init__(self, pct: Mapping[float, tuple[float, float]], seed: int, digits: float = 1e-6) -> None:
        draw = random.Random(f"multimeter/{seed}")
        self.seed, self.digits, self.spans = seed, digits, sorted(pct)
        self.gain = {span: 1 + draw.uniform(-1, 1) * pct[span][0] / 100 for span in self.spans}
        self.offset = {span: draw.uniform(-1, 1) * pct[span][1] / 100 * span for span in self.spans}

    def shown(self, volts: float, span: float | None, which: object) -> float:
        """What is shown for ``volts`` on a range, or on the smallest that holds it, by conversion number ``which``."""
        if span is None:
            span = next((one for one in self.spans if abs(volts) <= one * OVER_RANGE), self.spans[-1])
        if abs(volts) > span * OVER_RANGE:
            return math.copysign(OVERLOAD_V, volts)
        step = span * self.digits
        noisy = volts * self.gain[span] + self.offset[span] + random.Random(f"{self.seed}/{which}").gauss(0.0, step)
        return round(noisy / step) * step


@dataclass(frozen=True, slots=True)
class Conversion:
    """When a channel is converted and over what time integrated, host time, and the moment that the meter stamps."""

    address: int
    start_ns: int
    integrated_ns: int
    end_ns: int
    stamped_ns: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How a scan goes: seconds to switch to a channel, to integrate, and the same again for the meter's own zero.
    ``stamp`` is the share of a conversion after which the meter takes its time."""

    switch_s: float
    integrate_s: float
    autozero: bool
    stamp: float

    def scan(self, addresses: list[int], at_ns: int) -> Iterator[Conversion]:
        for address in addresses:
            start_ns = at_ns + int(self.switch_s * 1e9)
            integrated_ns = start_ns + int(self.integrate_s * 1e9)
            at_ns = integrated_ns + (integrated_ns - start_ns if self.autozero else 0)
            stamped_ns = start_ns + int(self.stamp * (at_ns - start_ns))
            yield Conversion(address, start_ns, integrated_ns, at_ns, stamped_ns)


def addresses(text: str) -> list[int]:
    """The channels of ``(@101:104,201)``; ValueError when it is no list of channels."""
    found = []
    if not (text.startswith("(@") and text.endswith(")")):
        raise ValueError(f"{text!r} is no list of channels")
    for part in text[2:-1].split(","):
        first, _, last = part.partition(":")
        found += list(range(int(first), int(last or first) + 1))
    return found
