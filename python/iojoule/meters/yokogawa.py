"""What Yokogawa's WT200 and WT300 series of power meters have in common.

Each value is the mean over one update interval, whose end the meter tells: bit 0 of the extended event register, of
which ``:COMM:WAIT 1`` awaits the fall. How a series says it stands in its own file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from iojoule.meters import base, clock
from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.dialogue import Dialogue, plain
from iojoule.meters.visa import Link, VisaLink
from iojoule.meters.yokogawa_config import AMPERES, VOLTS, YokogawaConfig, fixed_range

#: Bits of the condition register that speak against the window just ended.
CONDITIONS = {1 << 6: "overload", 1 << 7: "peak_over", 1 << 8: "peak_over"}
#: At and beyond this a value is no number: 9.9E+37 is over range, 9.91E+37 no data.
OVER_RANGE, NO_DATA = 9.9e37, 9.91e37
#: Share of a range below which its own term dominates the uncertainty.
UNDER_RANGE = 0.1


@dataclass(frozen=True, slots=True)
class Item:
    """A value of the meter's list: the meter's word for it, and the channel it is, if any."""

    word: str
    channel: str = ""
    unit: str = ""


class Yokogawa(Bare):
    """One element of a meter. A series says its words and how it is greeted, set and asked for its integral."""

    RANGES: ClassVar[tuple[str, ...]] = ("voltage_range", "current_range")
    #: What stands before ``:AUTO`` and ``:RANG``, by unit.
    HEADS: ClassVar[Mapping[str, str]]
    VALUES: ClassVar[str]
    #: Lines after the settings: which events are told.
    EVENTS: ClassVar[tuple[str, ...]] = (":STAT:FILT1 FALL",)
    INTEGRATE: ClassVar[tuple[str, ...]] = (":INTEG:MODE NORM", ":INTEG:TIM 1000,0,0", ":INTEG:STAR")
    #: Seconds until a started or stopped integrator says so.
    SETTLE_S: ClassVar[float] = 0.0

    poll_s = None  # the meter sets the pace

    def __init__(self, config: YokogawaConfig, raw: RawLog | None = None, link: Link | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self.meter: Dialogue | None = None
        self.identity: dict[str, Any] = {}
        self.integrating_since_ns = 0
        self.sum_j = self.sum_s = 0.0
        self.byte_s = 0.0
        self._settling = False
        wanted = {"V": config.voltage_range, "A": config.current_range}
        self.ranges = {unit: math.nan if each == "find" else float(each) for unit, each in wanted.items()}
        self._found = {unit: math.nan for unit, each in wanted.items() if each == "find"}
        self.items = self.shown()
        self.channels = self._channels()

    # What a series says.

    def shown(self) -> tuple[Item, ...]:
        """What an answer to ``VALUES`` holds, in its order."""
        raise NotImplementedError

    def settings(self) -> list[tuple[str, str]]:
        """``(setting, value)`` in the order they are sent; each is asked back and must match."""
        raise NotImplementedError

    def greet(self, meter: Dialogue) -> dict[str, str]:
        """Clear the line, take the meter in hand and learn who it is."""
        raise NotImplementedError

    def integrating(self) -> bool:
        raise NotImplementedError

    def integral_wh(self) -> float:
        """Watt-hours of the stopped integrator."""
        raise NotImplementedError

    def byte_on(self, link: Link) -> float:
        """Seconds a byte may take on the meter's own line; 0 where it has none that is slow."""
        return getattr(link, "byte_s", 0.0)

    # What they all do.

    @classmethod
    def ranged(cls, config: YokogawaConfig, peaks: Mapping[str, float]) -> YokogawaConfig:
        """``config`` with a fixed range wherever it says find; Fatal where none is large enough."""
        keys = (("voltage_range", "voltage", VOLTS), ("current_range", "current", AMPERES))
        found = {
            key: fixed_range(ranges, config.crest_factor, what, peaks)
            for key, what, ranges in keys
            if getattr(config, key) == "find"
        }
        return type(config).model_validate(config.model_dump() | found)

    def _channels(self) -> list[Channel]:
        return [self._channel(item.channel, item.unit) for item in self.items if item.channel]

    def _channel(self, name: str, unit: str) -> Channel:
        config = self.config
        boundary: base.Boundary = "dc_rail" if config.mode == "DC" else "ac_wall"
        known: dict[str, Any] = {"role": config.role, "drive": config.drive} if unit == "W" else {}
        accuracy = config.accuracy(self.ranges["V"], self.ranges["A"])
        if known and accuracy and math.isfinite(accuracy.range):
            known |= {"u_rel": accuracy.u_rel, "u_abs": accuracy.u_abs}
        quantity = name.removesuffix("_peak")
        return Channel(name, quantity, unit, boundary, "window_mean", min_interval_s=0.1, **known)

    @property
    def dialogue(self) -> Dialogue:
        if self.meter is None:
            raise Reconnect("not connected")
        return self.meter

    def configure(self) -> None:
        config = self.config
        serial = {"baud_rate": config.baud}
        link = self._link or VisaLink(config.resource, config.timeout, config.termination, self.raw, serial=serial)
        self.byte_s = self.byte_on(link)
        self.meter = meter = Dialogue(link)
        who = self.greet(meter)
        if self.integrating():
            meter.say(":INTEG:STOP")  # left running by a run that died; ranges cannot be set meanwhile
        meter.say(":INTEG:RES")
        confirmed = {setting: meter.confirm(setting, value) for setting, value in self.settings()}
        for line in self.EVENTS:
            meter.say(line)
        if error := self.error():
            raise Fatal(f"the meter reports error {error}")
        # What the meter says it is on decides the uncertainty, not what it was asked for.
        fixed = {unit: confirmed[f"{head}:RANG"] for unit, head in self.HEADS.items() if unit not in self._found}
        self.ranges |= {unit: _amount_of(answer) for unit, answer in fixed.items()}
        self._found = dict.fromkeys(self._found, math.nan)
        self.moved()
        self._settling = False
        self.channels = self._channels()
        self.identity = {**who, "confirmed": confirmed}

    def error(self) -> str:
        """The oldest error the meter has noted; empty where there is none."""
        answer = self.dialogue.ask(":STAT:ERR?")
        return "" if re.match(r"(?::\S+ )?[+-]?0(?:,|$)", answer.strip()) else answer

    def describe(self) -> Description:
        return Description({"resource": self.config.resource} | self.identity, tuple(self.channels))

    def moved(self) -> bool:
        """Whether a range the meter chooses itself is another than at the last look."""
        now = {unit: _amount_of(self.dialogue.ask(f"{self.HEADS[unit]}:RANG?")) for unit in self._found}
        moved, self._found = now != self._found, now
        self.ranges |= now
        return moved

    def start(self) -> None:
        self.sum_j = self.sum_s = 0.0
        if self.config.integrate and not self.config.finding:
            for command in self.INTEGRATE:
                self.dialogue.say(command)
            self.integrating_since_ns = clock.now_ns()
            self._integrator(runs=True)

    def _integrator(self, runs: bool) -> None:
        clock.sleep(self.SETTLE_S)
        if self.integrating() != runs:
            raise Reconnect(f"the integrator {'does not run' if runs else 'runs on'}")

    def next(self, deadline_ns: int) -> list[Reading]:
        values, end_ns, u_time_ns = self.window(self.VALUES, len(self.items))
        condition = self.dialogue.register(":STAT:COND?")
        flags = {flag for bit, flag in CONDITIONS.items() if condition & bit}
        named = {item.word: value for item, value in zip(self.items, values, strict=True)}
        peaks = [named[word] for word in ("IPP", "APK") if word in named]
        if any(abs(peak) > self.config.crest_factor * self.ranges["A"] for peak in peaks):
            flags.add("peak_over")
        if self._found:
            # The window in which it moved, and the one after it, in which the meter settles.
            moved, settling = self.moved(), self._settling
            self._settling = moved
            if moved or settling:
                flags.add("range_changed")
                self.channels = self._channels()
        window = (end_ns - int(self.config.interval * 1e9), end_ns, u_time_ns)
        readings = [self._reading(c, named[item], flags, window) for c, item in self._by_channel()]
        for power in readings:
            if power.unit == "W" and power.good:
                self.sum_j += power.value * self.config.interval
                self.sum_s += self.config.interval
        return readings

    def _by_channel(self) -> list[tuple[Channel, str]]:
        return list(zip(self.channels, (item.word for item in self.items if item.channel), strict=True))

    def _reading(self, channel: Channel, value: float, seen: set[str], window: tuple[int, int, int]) -> Reading:
        flags = set(seen)
        ranges = self.ranges | {"W": self.ranges["V"] * self.ranges["A"]}
        if math.isnan(value) or (math.isfinite(value) and abs(value) >= NO_DATA):
            flags |= {"sentinel", "invalid"}
        elif abs(value) >= OVER_RANGE:
            flags |= {"overload", "invalid"}
        elif abs(value) < UNDER_RANGE * ranges.get(channel.unit, 0.0) and not channel.id.endswith("_peak"):
            flags.add("under_range")
        return read(channel, *window, math.nan if "invalid" in flags else value, *flags)

    def window(self, ask: str, count: int) -> tuple[list[float], int, int]:
        """Await the end of an update interval: the values, when it ended and the uncertainty of that."""
        before_ns = clock.now_ns()
        register = self.dialogue.register(":STAT:EESR?")  # reading clears the register
        cleared_ns = clock.now_ns()
        round_trip_ns = cleared_ns - before_ns
        self.dialogue.say(":COMM:WAIT 1")
        values, length = self.dialogue.row(ask, count, 2 * self.config.interval + self.config.timeout)
        # On a serial line most of the way is the bytes themselves, and the answer has more of them than the register.
        byte_ns = self.byte_s * 1e9
        line_ns = int((len(f":STAT:EESR?{register}") + 4) * byte_ns)
        if line_ns > round_trip_ns:  # a line that is faster than it says: USB, a gateway to GPIB
            byte_ns, line_ns = 0.0, 0
        # Beyond that the answer was on its way for between nothing and a round trip after the edge.
        spread_ns = round_trip_ns - line_ns
        last_ns = clock.now_ns() - int(length * byte_ns)
        asked_ns = cleared_ns + int((len(f":COMM:WAIT 1{ask}") + 4) * byte_ns)
        if last_ns - 2 * spread_ns <= asked_ns:
            # Answered without a wait: the edge came before the question was there.
            spread_ns = last_ns - cleared_ns + spread_ns // 2
        return values, last_ns - spread_ns // 2, int(spread_ns / math.sqrt(12))

    def stop(self) -> dict[str, Any] | None:
        """The meter's own integral beside the sum of the readings; as mean powers too, since a gap has no readings."""
        final = None
        if self.config.integrate and not self.config.finding:
            self.dialogue.say(":INTEG:STOP")
            integrated_s = (clock.now_ns() - self.integrating_since_ns) * 1e-9
            self._integrator(runs=False)
            meter_j = self.integral_wh() * 3600
            final = {"readings_j": self.sum_j, "covered_s": self.sum_s, "integrated_s": integrated_s}
            if self.sum_s and math.isfinite(meter_j) and abs(meter_j) < OVER_RANGE:
                means = {"meter_w": meter_j / integrated_s, "readings_w": self.sum_j / self.sum_s}
                final |= {"meter_j": meter_j} | means
        self.dialogue.say(":COMM:REM OFF")
        return final

    def close(self) -> None:
        if self.meter:
            self.meter.close()
        self.meter = None


def _amount_of(answer: str) -> float:
    """Volts or amperes of a range as the meter writes it."""
    value = plain(answer)
    if not isinstance(value, float) or value <= 0:
        raise Reconnect(f"{answer[:40]!r} is not a range")
    return value
