"""What the made Yokogawa meters have in common: updates, ranges that are fixed or move, overload, the integrator.

Behaviour: a range is left upwards above 130 % of it or when a peak is clipped, downwards below 30 %; up to 140 % is
shown; the window after a change has no data; settings are refused until a started integrator is reset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from math import floor, inf, log10, nan
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Truth

VOLTS = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
AMPERES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
#: Apparent power is more than the power, and peaks are more than those of a sine: a supply at light load.
POWER_FACTOR, CREST = 0.6, 2.0
UP, DOWN, SHOWN_TO = 1.3, 0.3, 1.4
OVERLOAD, PEAK_V, PEAK_A = 1 << 6, 1 << 7, 1 << 8
INTEGRATING = 1 << 1
#: The codes of a refused setting, as the series number them; the words are ours.
UNKNOWN, OUT_OF_RANGE, WHILE_INTEGRATING = (
    '113,"Undefined header"', '222,"Data out of range"', '841,"Not while integrating"'
)  # fmt: skip


class WtFront:
    """A meter whose words a series gives. Each value is the mean of the truth over an update interval."""

    WATTS: ClassVar[tuple[float, float]] = (4.0, 60.0)
    MAKE: ClassVar[Make]
    IDENTITY: ClassVar[str]
    #: What stands before ``:AUTO`` and ``:RANG``, by unit.
    HEADS: ClassVar[Mapping[str, str]]
    RATE: ClassVar[str]
    CFAC: ClassVar[str]
    VALUES: ClassVar[str]
    #: Every setting there is, as it stands when the meter is switched on.
    DEFAULTS: ClassVar[Mapping[str, str]]
    #: Said without an answer and without effect here.
    SILENT: ClassVar[tuple[str, ...]] = ("*CLS", ":COMM:REM", ":COMM:HEAD", ":COMM:VERB")

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.truth, self.seed, self.faults = truth, seed, Faults()
        self.settings = dict(self.DEFAULTS)
        self.errors: deque[str] = deque()
        #: What a test sees and bends: lines heard, answers to settings whatever was set, words in place of values.
        self.heard: list[str] = []
        self.stubborn: dict[str, str] = {}
        self.shown: dict[str, str] = {}
        self.condition = 0
        self._read = -1
        self._looked = self._moved = -10
        self._since_ns: int | None = None
        self._joules = 0.0
        self._integrator = "RES"
        self.make = replace(self.MAKE, phase_s=seed * 0.0137)
        self._measure_anew()

    def truth_channels(self) -> tuple[str, ...]:
        return ("power",)

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        """When the meter is done with ``line``, and what it answers."""
        if not (line := line.strip()):
            return now_ns, None
        self.heard.append(line)
        self._range_itself(now_ns)
        if line == ":COMM:WAIT 1":
            shown = self.instrument.shown(now_ns)
            return (now_ns if shown.count > self._read else self.instrument.next_update_ns(now_ns)), None
        return now_ns, self._said(line, now_ns)

    def _said(self, line: str, now_ns: int) -> str | None:
        head, _, value = line.partition(" ")
        if head == "*CLS":
            self.errors.clear()
        elif head == "*IDN?":
            return self.IDENTITY
        elif head == ":STAT:EESR?":
            count = self.instrument.shown(now_ns).count
            fresh, self._read = count > self._read, count
            return "1" if fresh else "0"
        elif head == ":STAT:COND?":
            return str(self._condition(now_ns))
        elif head == ":STAT:ERR?":
            return self.errors.popleft() if self.errors else '0,"No error"'
        elif head == self.VALUES:
            words = self._words(now_ns)
            return words[int(value) - 1] if value else ",".join(words)
        elif head.startswith(":INTEG:"):
            return self._integrate(head, now_ns)
        elif head in self.SILENT or head.startswith(":STAT:FILT"):
            return None
        elif head.endswith("?") and head[:-1] in self.settings:
            return self.stubborn.get(head[:-1], self.written(self.settings[head[:-1]]))
        elif head in self.settings and value:
            self._set(head, value)
        else:
            self.errors.append(UNKNOWN)
        return None

    # What a series says.

    def written(self, value: str) -> str:
        """A setting as the meter answers it."""
        raise NotImplementedError

    def words(self) -> list[str]:
        """The items of an answer, in its order."""
        raise NotImplementedError

    def number(self, value: float) -> str:
        """A value as shown; infinite is over range, NaN no data."""
        raise NotImplementedError

    def seconds(self, rate: str) -> float:
        raise NotImplementedError

    # What they all do.

    def _set(self, head: str, value: str) -> None:
        if self._integrator != "RES" and not head.startswith((":NUM:", ":MEAS:ITEM", ":SAMP:HOLD")):
            self.errors.append(WHILE_INTEGRATING)
            return
        ranges = {f"{self.HEADS['V']}:RANG": VOLTS, f"{self.HEADS['A']}:RANG": AMPERES}
        if head in ranges:
            scale = 0.5 if self.settings[self.CFAC] == "6" else 1.0
            if not any(abs(plain(value) - each * scale) < 1e-9 for each in ranges[head]):
                self.errors.append(OUT_OF_RANGE)
                return
        self.settings[head] = value
        if head.endswith(":AUTO"):
            self._looked = -10
        if head == self.RATE:
            self._read = -1
        self._measure_anew()

    def _measure_anew(self) -> None:
        """A new rate or range makes another instrument of it, with the same errors in per cent."""
        volts, amperes = self._ranges()
        digit = 10.0 ** (floor(log10(volts * amperes)) - 4)
        update_s = self.seconds(self.settings[self.RATE])
        self.make = replace(self.make, range=volts * amperes, resolution=digit, update_s=update_s)
        self.instrument = Instrument(self.truth, self.make, self.seed)

    def _ranges(self) -> tuple[float, float]:
        return plain(self.settings[f"{self.HEADS['V']}:RANG"]), plain(self.settings[f"{self.HEADS['A']}:RANG"])

    def _measured(self, now_ns: int) -> tuple[float, float, float]:
        """Volts, amperes and watts of the window that is shown."""
        shown = self.instrument.shown(now_ns)
        volts = self.truth.volts(shown.end_ns)
        return volts, abs(shown.value) / volts / POWER_FACTOR, shown.value

    def _over(self, volts: float, amperes: float) -> tuple[bool, bool, bool, bool]:
        """Whether volts and amperes are over what is shown of the range, and whether their peaks are clipped."""
        most_v, most_a = self._ranges()
        crest = float(self.settings[self.CFAC])
        over = volts > SHOWN_TO * most_v, amperes > SHOWN_TO * most_a
        return *over, volts * 2**0.5 > crest * most_v, amperes * CREST > crest * most_a

    def _condition(self, now_ns: int) -> int:
        volts, amperes, _ = self._measured(now_ns)
        over_v, over_a, peak_v, peak_a = self._over(volts, amperes)
        seen = OVERLOAD * (over_v or over_a) | PEAK_V * peak_v | PEAK_A * peak_a
        return self.condition | seen | INTEGRATING * (self._since_ns is not None)

    def _range_itself(self, now_ns: int) -> None:
        """One step of each automatic range per update, up or down."""
        shown = self.instrument.shown(now_ns)
        first = max(self._looked + 1, shown.count - 40) if self._looked >= 0 else shown.count
        for count in range(first, shown.count + 1):
            at_ns = now_ns - (shown.count - count) * int(self.make.update_s * 1e9)
            volts, amperes, _ = self._measured(at_ns)
            _, _, peak_v, peak_a = self._over(volts, amperes)
            self._step("V", VOLTS, volts, peak_v, count)
            self._step("A", AMPERES, amperes, peak_a, count)
        self._looked = shown.count

    def _step(self, unit: str, ranges: tuple[float, ...], value: float, clipped: bool, count: int) -> None:
        head = self.HEADS[unit]
        if self.settings[f"{head}:AUTO"] != "ON":
            return
        scale = 0.5 if self.settings[self.CFAC] == "6" else 1.0
        now = plain(self.settings[f"{head}:RANG"]) / scale
        at = min(range(len(ranges)), key=lambda i: abs(ranges[i] - now))
        step = 1 if value > UP * now * scale or clipped else -1 if value < DOWN * now * scale else 0
        new = min(max(at + step, 0), len(ranges) - 1)
        if new != at:
            self.settings[f"{head}:RANG"] = f"{ranges[new] * scale:g}{unit}"
            self._moved = count
            self._measure_anew()

    def _integrate(self, head: str, now_ns: int) -> str | None:
        if head == ":INTEG:STAT?":
            return self._integrator
        if head == ":INTEG:STAR":
            self._since_ns, self._integrator = now_ns, "STAR"
        elif head == ":INTEG:STOP" and self._since_ns is not None:
            self._joules += self.instrument.counted(self._since_ns, now_ns)
            self._since_ns, self._integrator = None, "STOP"
        elif head == ":INTEG:RES":
            self._joules, self._integrator = 0.0, "RES"
        elif head not in (":INTEG:MODE", ":INTEG:TIM"):
            self.errors.append(UNKNOWN)
        return None

    def _words(self, now_ns: int) -> list[str]:
        volts, amperes, watts = self._measured(now_ns)
        over_v, over_a, _, _ = self._over(volts, amperes)
        values = {
            "V": inf if over_v else volts, "A": inf if over_a else amperes, "W": inf if over_v or over_a else watts,
            "PF": POWER_FACTOR, "APK": amperes * CREST, "WH": self._joules / 3600,
        }  # fmt: skip
        if self.instrument.shown(now_ns).count == self._moved + 1:
            values |= {"V": nan, "A": nan, "W": nan}
        return [self.shown.get(word, self.number(values.get(NAMES.get(word, word), nan))) for word in self.words()]


#: Words of the WT300 series for what is shown.
NAMES = {"U": "V", "I": "A", "P": "W", "LAMB": "PF", "IPP": "APK"}


def plain(text: str) -> float:
    """``300V`` and ``500MA`` as numbers."""
    digits = text.rstrip("MVAS")
    return float(digits) * (1e-3 if text[len(digits) :].startswith("M") else 1.0)


def section_of(kind: str, resource: str, **keys: Any) -> dict[str, Any]:
    """A section of an experiment that reads a made meter: 300 V x 0.5 A, four times a second."""
    ranges = {"voltage_range": 300, "current_range": 0.5}
    return {"kind": kind, "resource": resource, "interval": "250ms", **ranges, **keys}
