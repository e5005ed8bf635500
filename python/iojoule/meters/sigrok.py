"""Any instrument that sigrok-cli reads, through that program: multimeters, supplies, power meters, oscilloscopes.

sigrok-cli runs as long as the meter is watched and prints a line for each value, ``P1: 18.03 mV DC`` (output format
"analog", libsigrok 0.5): channel, number, SI prefix and unit, what kind of measurement. It prints no time, so a value
is dated by when its line arrived.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol, Self

from pydantic import Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import Bare, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, Retry, read
from iojoule.meters.channel_config import ChannelConfig
from iojoule.meters.config import MeterConfig
from iojoule.meters.sigrok_process import SigrokProcess
from iojoule.quantities import Seconds

#: What a unit measures, as sigrok writes units.
QUANTITIES = {
    "V": "voltage", "A": "current", "W": "power", "J": "energy", "Wh": "energy", "VA": "apparent_power",
    "F": "capacity", "Ω": "resistance", "Hz": "frequency", "s": "time", "K": "temperature", "°C": "temperature",
    "%": "ratio", "1": "ratio",
}  # fmt: skip
PREFIXES = {"p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_LINE = re.compile(r"(?P<name>[^:]+): (?P<number>[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf|nan))(?: (?P<rest>.*))?")
#: Lines that are no values: frames of an oscilloscope, comments.
_ASIDE = re.compile(r"FRAME-(BEGIN|END)|;.*|\s*")


class SigrokChannel(ChannelConfig):
    shows: str = Field(description="Name of the channel as sigrok prints it, such as P1.")
    measured: str = Field(default="", description="Unit as sigrok prints it: V, or V DC; unit when left out.")
    unit: str = Field(default="", description="Unit after scale; the one sigrok prints when left out.")
    quantity: str = Field(default="", description="What is measured; the quantity of the unit when left out.")

    @model_validator(mode="after")
    def _scale_needs_a_unit(self) -> Self:
        if self.scale != 1 and not self.unit:
            raise ValueError(f"{self.id}: scale makes another quantity of it: give its unit")
        return self


class SigrokConfig(MeterConfig):
    kind: Literal["sigrok"] = "sigrok"
    device: str = Field(description="As for sigrok-cli -d, such as scpi-dmm:conn=tcp-raw/192.0.2.7/5025.")
    options: Mapping[str, str] = Field(default_factory=dict, description="As for sigrok-cli --config.")
    identity: str = Field(default="", description="Regular expression that what sigrok finds must match.")
    channels: tuple[SigrokChannel, ...] = Field(min_length=1, description="The channels that are read.")
    window: Seconds = Field(default=0.0, ge=0, description="What a value is the mean over; interval when left out.")
    latency: Seconds = Field(default=0.05, ge=0, description="At most this from the end of a window to its line.")
    # Some drivers end at once under --continuous, so a number of samples that is not reached is the default.
    limit: tuple[str, ...] = Field(default=("--samples", "1000000000"), description="How long sigrok-cli goes on.")
    command: str = Field(default="sigrok-cli", description="The program.")
    timeout: Seconds = Field(
        default=10.0, gt=0, description="How long sigrok may look for the instrument, or be silent."
    )

    @model_validator(mode="after")
    def _channels_are_told_apart(self) -> Self:
        for names in ([each.id for each in self.channels], [each.shows for each in self.channels]):
            if len(set(names)) < len(names):
                raise ValueError(f"two channels have one name: {', '.join(names)}")
        if any(each.kind == "counter" for each in self.channels):
            raise ValueError("sigrok's channels are window_mean or instant")
        return self


class SigrokLink(Protocol):
    """What sigrok-cli prints, line by line."""

    def lines(self, deadline_ns: int) -> tuple[int, list[str]]:
        """When lines came and which, waiting for the first until ``deadline_ns``; Reconnect when no more will come."""

    def found(self) -> str:
        """What sigrok says the instrument is."""

    def close(self) -> None: ...


class Sigrok(Bare):
    """Its channels are those of the experiment."""

    Config: ClassVar[type[SigrokConfig]] = SigrokConfig
    poll_s = None  # sigrok and the instrument set the pace

    def __init__(self, config: SigrokConfig, raw: RawLog | None = None, link: SigrokLink | None = None) -> None:
        self.config, self.raw, self._given = config, raw or NoRawLog(), link
        self._link: SigrokLink | None = None
        self.identity: dict[str, Any] = {}
        self._window_ns = int((config.window or config.interval) * 1e9)
        self._by_name = {each.shows: _named(each) for each in config.channels}
        self._silent_since_ns = 0
        self._spoilt = ""
        #: Where the last window of each channel ended.
        self._ended_ns: dict[str, int] = {}

    def configure(self) -> None:
        self._link = link = self._given or SigrokProcess(self.config, self.raw)
        who = link.found()
        if not re.search(self.config.identity, who):
            raise Fatal(f"{self.config.device} is {who!r}, which does not match {self.config.identity!r}")
        self.identity = {"model": who}
        self._learn(clock.now_ns() + int(self.config.timeout * 1e9))

    def _learn(self, by_ns: int) -> None:
        """Units that are not told are those of the first lines."""
        while lacking := [name for name, each in self._by_name.items() if not each.unit]:
            at_ns, lines = self._sigrok.lines(by_ns)
            for name, _, unit, _ in map(parse, filter(None, map(_value, lines))):
                if name in lacking:
                    self._by_name[name] = _named(self._by_name[name].model_copy(update={"unit": unit}))
            if at_ns >= by_ns:
                raise Reconnect(f"sigrok-cli shows no {lacking[0]}")

    @property
    def _sigrok(self) -> SigrokLink:
        if self._link is None:
            raise Reconnect("sigrok-cli does not run")
        return self._link

    def describe(self) -> Description:
        channels = tuple(each.channel(self.config.latency, 0.0) for each in self._by_name.values())
        return Description({"device": self.config.device} | self.identity, channels)

    def start(self) -> None:
        self._silent_since_ns = clock.now_ns()

    def next(self, deadline_ns: int) -> list[Reading]:
        if self._spoilt:
            spoilt, self._spoilt = self._spoilt, ""
            raise Retry(spoilt)
        at_ns, lines = self._sigrok.lines(deadline_ns)
        if not lines:
            if at_ns - self._silent_since_ns > self.config.timeout * 1e9:
                raise Reconnect(f"sigrok-cli is silent for {self.config.timeout:g} s")
            return []
        self._silent_since_ns = at_ns
        shown: dict[str, list[tuple[float, tuple[str, ...]]]] = {}
        for line in filter(None, map(_value, lines)):
            try:
                name, value, unit, how = parse(line)
            except ValueError as error:
                # What came beside it is good; that it came is told at the next call.
                self._spoilt = str(error)
                continue
            if name in self._by_name:
                shown.setdefault(name, []).append(self._valued(name, value, unit, how))
        return [reading for name, values in shown.items() for reading in self._readings(name, values, at_ns)]

    def _valued(self, name: str, value: float, unit: str, how: str) -> tuple[float, tuple[str, ...]]:
        each = self._by_name[name]
        if (measured := each.measured or each.unit) not in (unit, f"{unit} {how}"):
            raise Fatal(f"{name} shows {unit} {how}, not {measured}: the instrument is set to measure something else")
        if math.isnan(value):
            return math.nan, ("sentinel", "invalid")
        if math.isinf(value) or abs(value) >= each.overload:
            return math.nan, ("overload", "invalid")
        scaled = value * each.scale
        low = each.accuracy and abs(scaled) < 0.1 * each.accuracy[2]
        return scaled, ("under_range",) if low else ()

    def _readings(self, name: str, values: list[tuple[float, tuple[str, ...]]], at_ns: int) -> list[Reading]:
        """Values that came together follow each other; the more there are, the less surely they are dated.

        No window reaches into the one before it: where less time has passed than windows need, they share it, and a
        value that came in less than half its window is an old one, as some instruments repeat when they are cut off.
        """
        channel = self._by_name[name].channel(self.config.latency, 0.0)
        latency_ns = int(self.config.latency * 1e9)
        last_ns = at_ns - latency_ns // 2
        room_ns = max(0, last_ns - self._ended_ns.get(name, 0)) // len(values)
        length_ns = min(self._window_ns, room_ns)
        stale = ("stale",) if room_ns < self._window_ns // 2 else ()
        u_time_ns = int((latency_ns + (len(values) - 1) * length_ns) / math.sqrt(12))
        readings = []
        for after, (value, flags) in zip(reversed(range(len(values))), values, strict=True):
            end_ns = last_ns - after * length_ns
            start_ns = end_ns - length_ns
            if channel.kind == "instant":  # a sample stands for the middle of what it took
                start_ns = end_ns = end_ns - int(self.config.window * 0.5e9)
            readings.append(read(channel, start_ns, end_ns, u_time_ns, value, *flags, *stale))
        self._ended_ns[name] = max(last_ns, self._ended_ns.get(name, 0))
        return readings

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None


def _named(each: SigrokChannel) -> SigrokChannel:
    return (
        each
        if each.quantity or not each.unit
        else each.model_copy(update={"quantity": QUANTITIES.get(each.unit, each.unit)})
    )


def _value(line: str) -> str:
    """The line, empty where it is not meant to be a value."""
    return "" if _ASIDE.fullmatch(line) else line.strip()


def parse(line: str) -> tuple[str, float, str, str]:
    """``(channel, value, unit, how)`` of a line such as ``P1: 100.2345 mV DC``; ValueError when it is none."""
    if not (match := _LINE.fullmatch(line)):
        raise ValueError(f"sigrok-cli said {line[:60]!r}, which is no value")
    word, _, how = (match["rest"] or "").partition(" ")
    for unit in (word, word[1:]):
        prefix = word.removesuffix(unit) if unit else word
        if (unit in QUANTITIES or not unit) and prefix in PREFIXES:
            return match["name"], float(match["number"]) * PREFIXES[prefix], unit or "1", how
    raise ValueError(f"sigrok-cli said {line[:60]!r}, whose unit {word!r} is not known")
