"""Yokogawa WT310, WT310E, WT332E and WT333E power meters (element 1), through VISA.

Commands: WT300 series communication manual (IM WT310-17EN): groups COMM, INPUT, INTEGRATE, NUMERIC, RATE, STATUS.
Each value is the mean over one update interval, whose end the meter tells (extended event register, bit 0).
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from iojoule.meters import base, clock
from iojoule.meters.base import Accuracy, Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.config import MeterConfig
from iojoule.meters.dialogue import Dialogue, amount
from iojoule.meters.visa import Link, VisaLink
from iojoule.quantities import Seconds

RATES_S = {0.1: "100MS", 0.25: "250MS", 0.5: "500MS", 1.0: "1S", 2.0: "2S", 5.0: "5S"}
#: What every answer to ``:NUM:NORM:VAL?`` holds, in order.
ITEMS = ("U", "I", "P", "LAMB", "IPP", "WH")
#: Bits of the condition register that speak against the window just ended.
CONDITIONS = {1 << 6: "overload", 1 << 7: "peak_over", 1 << 8: "peak_over"}
#: Share of a range below which its own term dominates the uncertainty.
UNDER_RANGE = 0.1
CHANNELS = (("voltage", "V"), ("current", "A"), ("power", "W"), ("power_factor", "1"))


class YokogawaWt310Config(MeterConfig):
    kind: Literal["yokogawa_wt310"] = "yokogawa_wt310"
    resource: str = Field(description="VISA resource, such as TCPIP0::192.0.2.7::INSTR.")
    # Fixed ranges, chosen above the peak of the load: a change spoils a window.
    voltage_range: float = Field(gt=0, description="Volts, fixed.")
    current_range: float = Field(gt=0, description="Amperes, fixed.")
    mode: Literal["RMS", "VMEAN", "DC"] = Field(default="RMS", description="DC for rails.")
    crest_factor: Literal[3, 6] = Field(default=3, description="Peaks allowed, in ranges.")
    accuracy_pct: tuple[float, float] | None = Field(
        default=None, description="Of power, % of reading and % of range; the data sheet's for AC, unknown for DC."
    )
    integrate: bool = Field(default=True, description="Let the meter integrate as well, and compare at the end.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")
    timeout: Seconds = Field(default=2.0, description="How long an answer may take beyond an update.")
    termination: Literal["\n", "\r\n"] = Field(default="\n", description="Line end; CR LF on RS-232.")

    @model_validator(mode="after")
    def _rate_exists(self) -> YokogawaWt310Config:
        if self.interval not in RATES_S:
            raise ValueError(f"interval {self.interval:g} s: the meter knows {', '.join(RATES_S.values())}")
        return self

    @property
    def accuracy(self) -> Accuracy | None:
        """Of power. Crest factor 6 is taken to double both terms."""
        pct = self.accuracy_pct or (None if self.mode == "DC" else (0.1, 0.05))
        times = 2 if self.crest_factor == 6 and not self.accuracy_pct else 1
        return pct and Accuracy(times * pct[0], times * pct[1], self.voltage_range * self.current_range)


def settings(config: YokogawaWt310Config) -> list[tuple[str, str]]:
    """``(setting, value)`` in the order they are sent; each is asked back with ``setting?`` and must match."""
    return [
        (":NUM:FORM", "ASCII"),
        (":NUM:NORM:NUM", str(len(ITEMS))),
        *((f":NUM:NORM:ITEM{number}", f"{item},1") for number, item in enumerate(ITEMS, start=1)),
        (":RATE", RATES_S[config.interval]),
        (":INP:MODE", config.mode),
        (":INP:CFAC", str(config.crest_factor)),
        (":INP:FILT:LINE", "OFF"),
        (":INP:VOLT:AUTO", "OFF"),
        (":INP:VOLT:RANG", amount(config.voltage_range, "V")),
        (":INP:CURR:AUTO", "OFF"),
        (":INP:CURR:RANG", amount(config.current_range, "A")),
        (":MEAS:AVER:STAT", "OFF"),
        (":MEAS:MHOL", "OFF"),
    ]


class YokogawaWt310(Bare):
    """Channels ``voltage``, ``current``, ``power``, ``power_factor`` of element 1."""

    Config: ClassVar[type[YokogawaWt310Config]] = YokogawaWt310Config
    poll_s = None  # the meter sets the pace

    def __init__(self, config: YokogawaWt310Config, raw: RawLog | None = None, link: Link | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self.meter: Dialogue | None = None
        self.identity: dict[str, Any] = {}
        self.integrating_since_ns = 0
        self.sum_j = self.sum_s = 0.0
        self.ranges = {"V": (volts := config.voltage_range), "A": (amps := config.current_range), "W": volts * amps}
        self.channels = [self._channel(*each) for each in CHANNELS]

    def _channel(self, name: str, unit: str) -> Channel:
        config = self.config
        boundary: base.Boundary = "dc_rail" if config.mode == "DC" else "ac_wall"
        known: dict[str, Any] = {"role": config.role, "drive": config.drive} if unit == "W" else {}
        if known and config.accuracy:
            known |= {"u_rel": config.accuracy.u_rel, "u_abs": config.accuracy.u_abs}
        return Channel(name, name, unit, boundary, "window_mean", min_interval_s=0.1, **known)

    @property
    def _dialogue(self) -> Dialogue:
        if self.meter is None:
            raise Reconnect("not connected")
        return self.meter

    def configure(self) -> None:
        config = self.config
        link = self._link or VisaLink(config.resource, config.timeout, config.termination, self.raw)
        self.meter = meter = Dialogue(link)
        who = meter.ask("*IDN?").split(",")
        if len(who) != 4:
            raise Reconnect(f"*IDN?: {','.join(who)!r} is not maker, model, serial, firmware")
        if who[0].upper() != "YOKOGAWA" or not who[1].upper().startswith(("WT310", "WT33")):
            raise Fatal(f"{config.resource} is {','.join(who)!r}, not a WT310 or WT330")
        for command in ("*CLS", ":COMM:REM ON", ":COMM:HEAD OFF", ":COMM:VERB OFF"):
            meter.say(command)
        if meter.ask(":INTEG:STAT?").upper().startswith("STAR"):
            meter.say(":INTEG:STOP")  # left running by a run that died; ranges cannot be set meanwhile
        meter.say(":INTEG:RES")
        confirmed = {setting: meter.confirm(setting, value) for setting, value in settings(config)}
        meter.say(":STAT:FILT1 FALL")
        if not re.match(r"[+-]?0\b", error := meter.ask(":STAT:ERR?")):
            raise Fatal(f"the meter reports error {error}")
        named = zip(("maker", "model", "serial", "firmware"), who, strict=True)
        self.identity = dict(named) | {"confirmed": confirmed}

    def describe(self) -> Description:
        return Description({"resource": self.config.resource} | self.identity, tuple(self.channels))

    def start(self) -> None:
        self.sum_j = self.sum_s = 0.0
        if self.config.integrate:
            for command in (":INTEG:MODE NORM", ":INTEG:TIM 1000,0,0", ":INTEG:STAR"):
                self._dialogue.say(command)
            self._integrator("STAR")
            self.integrating_since_ns = clock.now_ns()

    def _integrator(self, state: str) -> None:
        if not (answer := self._dialogue.ask(":INTEG:STAT?")).upper().startswith(state):
            raise Reconnect(f"the integrator is in state {answer}, not {state}")

    def next(self, deadline_ns: int) -> list[Reading]:
        values, end_ns, u_time_ns = self._window(":NUM:NORM:VAL?", len(ITEMS))
        condition = self._dialogue.register(":STAT:COND?")
        flags = {flag for bit, flag in CONDITIONS.items() if condition & bit}
        if abs(values[ITEMS.index("IPP")]) > self.config.crest_factor * self.config.current_range:
            flags.add("peak_over")
        window = (end_ns - int(self.config.interval * 1e9), end_ns, u_time_ns)
        readings = [self._reading(c, value, flags, window) for c, value in zip(self.channels, values, strict=False)]
        for power in readings:
            if power.unit == "W" and power.good:
                self.sum_j += power.value * self.config.interval
                self.sum_s += self.config.interval
        return readings

    def _reading(self, channel: Channel, value: float, seen: set[str], window: tuple[int, int, int]) -> Reading:
        flags = set(seen)
        if math.isinf(value) or abs(value) >= 9.9e37:
            flags |= {"overload", "invalid"}
        elif math.isnan(value):
            flags |= {"sentinel", "invalid"}
        elif abs(value) < UNDER_RANGE * self.ranges.get(channel.unit, 0.0):
            flags.add("under_range")
        return read(channel, *window, math.nan if "invalid" in flags else value, *flags)

    def _window(self, ask: str, count: int) -> tuple[list[float], int, int]:
        """Await the end of an update interval: the values, when it ended and the uncertainty of that."""
        before_ns = clock.now_ns()
        self._dialogue.register(":STAT:EESR?")  # reading clears the register
        round_trip_ns = clock.now_ns() - before_ns
        self._dialogue.say(":COMM:WAIT 1")
        values = self._dialogue.numbers(ask, count, 2 * self.config.interval + self.config.timeout)
        # The answer was on its way for between nothing and a round trip after the edge.
        return values, clock.now_ns() - round_trip_ns // 2, int(round_trip_ns / math.sqrt(12))

    def stop(self) -> dict[str, Any] | None:
        """The meter's own integral beside the sum of the readings; as mean powers too, since a gap has no readings."""
        final = None
        if self.config.integrate:
            self._dialogue.say(":INTEG:STOP")
            self._integrator("STOP")
            integrated_s = (clock.now_ns() - self.integrating_since_ns) * 1e-9
            meter_j = self._window(f":NUM:NORM:VAL? {len(ITEMS)}", 1)[0][0] * 3600
            final = {"readings_j": self.sum_j, "covered_s": self.sum_s, "integrated_s": integrated_s}
            if self.sum_s and math.isfinite(meter_j):
                means = {"meter_w": meter_j / integrated_s, "readings_w": self.sum_j / self.sum_s}
                final |= {"meter_j": meter_j} | means
        self._dialogue.say(":COMM:REM OFF")
        return final

    def close(self) -> None:
        if self.meter:
            self.meter.close()
        self.meter = None
