"""What multimeters that scan shunts in supply rails have in common: how they are set, and the way to a reading.

A scanner converts one channel after the other. Each raw voltage is kept as an instant at the time of its conversion;
``metrics.rails`` makes the power of a rail of two of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from iojoule.meters import base
from iojoule.meters.base import Description, Fatal, NoRawLog, RawLog, Reading, Reconnect
from iojoule.meters.clock import ClockMap
from iojoule.meters.dialogue import Dialogue, plain
from iojoule.meters.scanner_config import Point, ScannerConfig
from iojoule.meters.visa import Link, VisaLink

#: What any multimeter answers for an input above its range.
OVERLOAD_V = 9.9e37
#: Step of the clocks of both makers' stamps.
MS_NS = 10**6


class Scanner:
    """Channels ``<rail>_voltage`` and ``<rail>_shunt``, instants; the power of the rails is made of them later."""

    RANGES: ClassVar[tuple[str, ...]] = ("ranges",)

    def __init__(self, config: ScannerConfig, raw: RawLog | None = None, link: Link | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self.poll_s = config.interval
        #: By address, in the order of the scan.
        self.points = {point.address: point for point in config.points()}
        self.ranges = Ranges(config)
        self.clock = ClockMap(MS_NS)
        self.identity: dict[str, Any] = {}
        self.meter: Dialogue | None = None
        self._kept: list[Reading] = []

    @classmethod
    def ranged(cls, config: ScannerConfig, peaks: Mapping[str, float]) -> ScannerConfig:
        return config.with_ranges_above(peaks)

    @property
    def _dialogue(self) -> Dialogue:
        if self.meter is None:
            raise Reconnect("not connected")
        return self.meter

    def describe(self) -> Description:
        rails = tuple(rail.made() for rail in self.config.rails)
        channels = tuple(point.channel for point in self.points.values())
        return Description({"resource": self.config.resource} | self.identity, channels, rails)

    def close(self) -> None:
        if self.meter:
            self.meter.close()
        self.meter = None


class Ranges:
    """Where the meter chose ranges itself, the one each value needs; a change of it is a change of range."""

    def __init__(self, config: ScannerConfig) -> None:
        self._spans = list(config.accuracies)
        self._last: dict[int, float] = {}

    def changed(self, address: int, volts: float) -> bool:
        needs = next((span for span in self._spans if abs(volts) <= span), self._spans[-1])
        before, self._last[address] = self._last.get(address, needs), needs
        return before != needs


def reading(point: Point, ranges: Ranges, volts: float, at_ns: int, u_time_ns: int) -> Reading:
    """An instant of one channel. Sign, zero and exponent are kept; no value is dropped."""
    flags: set[str] = set()
    if not math.isfinite(volts) or abs(volts) >= OVERLOAD_V:
        flags |= {"overload", "invalid"}
    elif point.range is None and ranges.changed(point.address, volts):
        flags.add("range_changed")
    elif point.range is not None and abs(volts) < 0.1 * point.range:
        flags.add("under_range")
    value = math.nan if "invalid" in flags else volts
    return base.read(point.channel, at_ns, at_ns, u_time_ns, value, *flags)


def connect(config: ScannerConfig, raw: RawLog) -> VisaLink:
    """Open the resource. An answer is plain text, so XON and XOFF may be taken out of it in any case."""
    serial = {"baud_rate": config.baud, "flow_control": int(config.flow == "xon_xoff")}
    return VisaLink(config.resource, config.timeout, config.termination, raw, serial=serial)


def channel_list(addresses: Iterable[int]) -> str:
    """``(@101:104,201)``: runs of neighbours are drawn together, since messages are short."""
    runs: list[list[int]] = []
    for address in sorted(addresses):
        if runs and address == runs[-1][-1] + 1:
            runs[-1].append(address)
        else:
            runs.append([address])
    return "(@" + ",".join(f"{run[0]}:{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs) + ")"


@dataclass(frozen=True, slots=True)
class Setting:
    """What is said, and what is asked back (nothing where ``ask`` is empty) to be compared with ``want``."""

    say: str
    ask: str = ""
    want: str = ""


def carry_out(meter: Dialogue, table: Iterable[Setting]) -> dict[str, str]:
    """Say all of it in order; what the meter confirmed, by command. Fatal when it is something else."""
    confirmed = {}
    for setting in table:
        meter.say(setting.say)
        if not setting.ask:
            continue
        answer = meter.ask(setting.ask)
        if not _same(answer, setting.want) and not _same(answer := meter.ask(setting.ask), setting.want):
            # Asked twice: noise on the line is no reason to give a meter up.
            raise Fatal(f"{setting.say} was not taken: the meter says {answer}")
        confirmed[setting.say] = answer
    return confirmed


def still_set(meter: Dialogue, table: Iterable[Setting]) -> dict[str, str] | None:
    """What the meter confirms without being told anything; None where something is no longer as it was set."""
    answers = {setting.say: (meter.ask(setting.ask), setting.want) for setting in table if setting.ask}
    fits = all(_same(*pair) for pair in answers.values())
    return {say: answer for say, (answer, _) in answers.items()} if fits else None


def _same(answer: str, want: str) -> bool:
    return [plain(word) for word in answer.split(",")] == [plain(word) for word in want.split(",")]


def check_errors(meter: Dialogue) -> None:
    """Fatal with every error in the meter's queue."""
    errors: list[str] = []
    while len(errors) < 20 and not re.match(r"[+-]?0\b", error := meter.ask("SYST:ERR?")):
        if not re.match(r"[+-]?\d+,", error):
            raise Reconnect(f"SYST:ERR?: {error[:80]!r} is no entry of an error queue")
        errors.append(error)
    if errors:
        raise Fatal(f"the meter reports {'; '.join(errors)}")


def who(meter: Dialogue, makers: tuple[str, ...], models: tuple[str, ...], resource: str) -> dict[str, Any]:
    """Maker, model, serial and firmware; Fatal for another instrument."""
    words = [word.strip() for word in meter.ask("*IDN?").split(",")]
    if len(words) != 4:
        raise Reconnect(f"*IDN?: {','.join(words)!r} is not maker, model, serial, firmware")
    if not words[0].upper().startswith(makers) or not words[1].upper().removeprefix("MODEL ").startswith(models):
        raise Fatal(f"{resource} is {','.join(words)!r}, not a {' or '.join(models)}")
    return dict(zip(("maker", "model", "serial", "firmware"), words, strict=True))
