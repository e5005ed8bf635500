"""Any instrument that speaks SCPI or something like it: what to say to it stands in the experiment.

SCPI-99 and IEEE 488.2 give the frame (``*IDN?``, ``SYST:ERR?``, 9.9E37 for over range, 9.91E37 for not a number); the
commands are those of the instrument's manual.
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.channel_config import ChannelConfig
from iojoule.meters.config import MeterConfig
from iojoule.meters.counter import EnergyCounter
from iojoule.meters.dialogue import Dialogue, plain
from iojoule.meters.polled import Polled, Window
from iojoule.meters.visa import Link, VisaLink
from iojoule.quantities import Seconds

NOT_A_NUMBER = 9.91e37
#: Modulus of a counter of joules that does not wrap, in nanojoules.
ENDLESS_NJ = 1 << 62
#: Errors an instrument may have noted before anybody spoke to it.
OLD_ERRORS = 32
#: Share of its window after which an instrument that measures when asked may answer: its clock is not exact.
SOONEST = 0.9


class ScpiChannel(ChannelConfig):
    index: int = Field(default=0, ge=0, description="Which number of the answer, from 0.")


class ScpiConfig(MeterConfig):
    kind: Literal["scpi"] = "scpi"
    resource: str = Field(description="VISA resource, such as TCPIP0::192.0.2.7::5025::SOCKET.")
    identity: str = Field(description="Regular expression that the instrument's name must match.")
    identity_query: str = Field(default="*IDN?", description="Asks for the name.")
    setup: tuple[tuple[str, ...], ...] = Field(
        default=(), description="Rows of [command], or [command, query, expected answer or regular expression]."
    )
    read: str = Field(description="Asks for the numbers, all in one answer.")
    separator: str = Field(default=",", min_length=1, description="Between two numbers.")
    fields: int | None = Field(default=None, gt=0, description="Numbers in an answer; as many as the channels need.")
    channels: tuple[ScpiChannel, ...] = Field(min_length=1, description="What the numbers are.")
    wait: tuple[str, ...] = Field(default=(), description="Said before read; the last one lasts until a window ends.")
    pace: Literal["interval", "meter"] = Field(default="interval", description="meter: ask again at once.")
    window: Seconds = Field(default=0.0, ge=0, description="What a value is the mean over.")
    update: Seconds = Field(default=0.0, ge=0, description="Between two updates of a value measured all the time.")
    latency: Seconds = Field(default=0.0, ge=0, description="From the end of a window until it can be read.")
    errors: str = Field(default="SYST:ERR?", description="Asks for the oldest error; empty: is not asked.")
    end: tuple[str, ...] = Field(default=(), description="Commands that let the instrument go.")
    timeout: Seconds = Field(default=2.0, gt=0, description="How long an answer may take.")
    termination: Literal["\n", "\r\n"] = Field(default="\n", description="Line end.")
    baud: int = Field(default=9600, gt=0, description="Speed of a serial line.")

    @model_validator(mode="after")
    def _rows_and_windows(self) -> Self:
        for row in self.setup:
            if len(row) not in (1, 3):
                raise ValueError(f"setup {list(row)}: [command] or [command, query, expected]")
        names = [channel.id for channel in self.channels]
        if len(set(names)) < len(names):
            raise ValueError(f"two channels have one id: {', '.join(names)}")
        means = [channel.id for channel in self.channels if channel.kind == "window_mean"]
        if means and not (self.window or self.update or self.wait):
            raise ValueError(f"{means[0]} is the mean over a window: give window, update or wait, or kind instant")
        return self


class Scpi(Bare):
    """Its channels are those of the experiment."""

    Config: ClassVar[type[ScpiConfig]] = ScpiConfig

    def __init__(self, config: ScpiConfig, raw: RawLog | None = None, link: Link | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self.meter: Dialogue | None = None
        self.identity: dict[str, Any] = {}
        self.poll_s = None if config.wait or config.pace == "meter" else config.interval
        self.channels = [each.channel(config.latency, config.update) for each in config.channels]
        self._fields = config.fields or max(each.index for each in config.channels) + 1
        self._counters: dict[str, EnergyCounter] = {}
        self._polled: Polled | None = None
        self._round_trip_ns = 0

    @property
    def _dialogue(self) -> Dialogue:
        if self.meter is None:
            raise Reconnect("not connected")
        return self.meter

    def configure(self) -> None:
        config = self.config
        serial = {"baud_rate": config.baud}
        link = self._link or VisaLink(config.resource, config.timeout, config.termination, self.raw, serial=serial)
        self.meter = meter = Dialogue(link)
        before_ns = clock.now_ns()
        who = meter.ask(config.identity_query)
        self._round_trip_ns = clock.now_ns() - before_ns
        if not re.search(config.identity, who):
            raise Fatal(f"{config.resource} is {who!r}, which does not match {config.identity!r}")
        for _ in range(OLD_ERRORS):
            if not self._error():
                break
        confirmed = {row[0]: self._carry_out(meter, row) for row in config.setup}
        if error := self._error():
            raise Fatal(f"the meter reports error {error}")
        self.identity = {"model": who, "confirmed": {what: said for what, said in confirmed.items() if said}}

    def _carry_out(self, meter: Dialogue, row: tuple[str, ...]) -> str:
        meter.say(row[0])
        if len(row) == 1:
            return ""
        _, query, expected = row
        answer = meter.ask(query)
        if not _is(answer, expected) and not _is(answer := meter.ask(query), expected):
            raise Fatal(f"{row[0]} was not taken: {query} says {answer}, not {expected}")
        return answer

    def _error(self) -> str:
        if not self.config.errors:
            return ""
        answer = self._dialogue.ask(self.config.errors)
        return "" if re.match(r"[+-]?0+(?:\D|$)", answer.strip()) else answer

    def describe(self) -> Description:
        return Description({"resource": self.config.resource} | self.identity, tuple(self.channels))

    def start(self) -> None:
        config = self.config
        self._polled = Polled(config.update, config.latency) if config.update else None
        for each in config.channels:
            if each.kind == "counter":
                modulus_nj = round(each.modulus * 1e9) if each.modulus else ENDLESS_NJ
                self._counters[each.id] = EnergyCounter(modulus_nj, each.p_max)
        if self._counters or self._polled:
            self.next(0)  # a first count is no consumption, a first look at what is shown tells no edge

    def next(self, deadline_ns: int) -> list[Reading]:
        config, meter = self.config, self._dialogue
        for command in config.wait:
            if command.endswith("?"):
                meter.ask(command, 2 * config.interval + config.timeout)
            else:
                meter.say(command)
        waited_ns = clock.now_ns()
        answer = meter.ask(config.read, 2 * config.interval + config.timeout)
        words = [word.strip() for word in answer.split(config.separator)]
        if len(words) != self._fields:
            raise Reconnect(f"{config.read}: {answer[:80]!r} is not {self._fields} fields")
        heard_ns = clock.now_ns()
        shown = self._polled.look(waited_ns, heard_ns, answer) if self._polled else None
        pairs = zip(config.channels, self.channels, strict=True)
        readings = [
            self._counted(each, channel, words[each.index], waited_ns, heard_ns)
            if each.id in self._counters
            else self._measured(each, channel, words[each.index], shown or self._window(waited_ns, heard_ns))
            for each, channel in pairs
            if each.id in self._counters or shown or not self._polled
        ]
        return [reading for reading in readings if reading is not None]

    def _window(self, asked_ns: int, heard_ns: int) -> Window:
        """Of a value whose window ends at an edge, or that is measured when it is asked for."""
        config = self.config
        latency_ns = int(config.latency * 1e9)
        if config.wait:
            # A wait that is answered is answered at the edge; one that is not holds up the answer to the next question.
            edge_ns = asked_ns if config.wait[-1].endswith("?") else heard_ns
            length_ns, spread_ns = int((config.window or config.interval) * 1e9), self._round_trip_ns
        else:
            # Between question and answer there was room for the window; else it is not this question's answer.
            edge_ns, length_ns = heard_ns, int(config.window * 1e9)
            if heard_ns - asked_ns < SOONEST * length_ns:
                took_s = (heard_ns - asked_ns) * 1e-9
                raise Reconnect(f"{config.read}: answered after {took_s:.3g} s, before it can have measured")
            spread_ns = max(0, heard_ns - asked_ns - length_ns - latency_ns)
        end_ns = edge_ns - latency_ns - spread_ns // 2
        return Window(end_ns - length_ns, end_ns, int(spread_ns / math.sqrt(12)))

    def _measured(self, each: ScpiChannel, channel: Channel, word: str, window: Window) -> Reading:
        value, flags = decode(word, each)
        start_ns, end_ns = window.start_ns, window.end_ns
        if channel.kind == "instant":  # a sample stands for the middle of what it took
            start_ns = end_ns = (start_ns + end_ns) // 2
        stale = () if window.fresh else ("stale",)
        return read(channel, start_ns, end_ns, window.u_time_ns, value, *flags, *stale)

    def _counted(self, each: ScpiChannel, channel: Channel, word: str, asked_ns: int, heard_ns: int) -> Reading | None:
        value, flags = decode(word, each)
        # What is shown was counted until some time within the last update.
        spread_ns = heard_ns - asked_ns + int(self.config.update * 1e9)
        at_ns, u_time_ns = heard_ns - int(self.config.latency * 1e9) - spread_ns // 2, int(spread_ns / math.sqrt(12))
        if math.isnan(value):
            return read(channel, at_ns, at_ns, u_time_ns, math.nan, *flags)
        step = self._counters[each.id].look(at_ns, round(value * 1e9))
        if step is None:
            return None
        since_ns, joules, said = step
        return read(channel, since_ns, at_ns, u_time_ns, joules, *said)

    def stop(self) -> dict[str, Any] | None:
        for command in self.config.end:
            self._dialogue.say(command)
        return None

    def close(self) -> None:
        if self.meter:
            self.meter.close()
        self.meter = None


def decode(word: str, each: ChannelConfig) -> tuple[float, tuple[str, ...]]:
    """The scaled value of one answered number, and the flags it has by itself; Reconnect when it is no number."""
    if any(plain(word) == plain(bad) for bad in each.sentinel):
        return math.nan, ("sentinel", "invalid")
    try:
        value = float(re.sub(r"(?<=[\d.])\s*(?![Ee]$)[A-Za-z%]+$", "", word))
    except ValueError:
        raise Reconnect(f"{each.id}: {word[:40]!r} is not a number") from None
    if math.isnan(value) or (math.isfinite(value) and abs(value) >= NOT_A_NUMBER):
        return math.nan, ("sentinel", "invalid")
    if abs(value) >= each.overload:
        return math.nan, ("overload", "invalid")
    scaled = value * each.scale
    low = each.accuracy and abs(scaled) < 0.1 * each.accuracy[2]
    return scaled, ("under_range",) if low else ()


def _is(answer: str, expected: str) -> bool:
    return plain(answer) == plain(expected) or re.fullmatch(expected, answer.strip()) is not None
