"""Keithley 2700 with a scanner card (7700), RS-232 or GPIB: a scan of shunts in supply rails for every question.

Commands: Model 2700 user's manual: FORMat, SENSe, ROUTe, TRIGger, SYSTem:TSTamp. Stamps are the seconds of
a timer that cannot be asked for, so each scan is a probe of it: its conversions lie between question and answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from iojoule.meters import clock, scanner
from iojoule.meters.base import ClockProbe, RawLog, Reading, Reconnect
from iojoule.meters.clock import ClockMap
from iojoule.meters.dialogue import Dialogue
from iojoule.meters.scanner import MS_NS, Scanner, Setting, channel_list
from iojoule.meters.scanner_config import ScannerConfig
from iojoule.meters.visa import Link

#: Where the timer of the stamps begins anew, s (from memory, unverified).
TIMER_S = 100_000
#: The timer was set, not adrift, when a scan is off by this much.
SET_NS = 10**9


class Keithley2700Config(ScannerConfig):
    #: One year, 23 ± 5 °C (from memory, unverified).
    ACCURACY_PCT: ClassVar[Mapping[float, tuple[float, float]]] = {
        0.1: (0.0030, 0.0035), 1.0: (0.0025, 0.0007), 10.0: (0.0030, 0.0005), 100.0: (0.0045, 0.0009),
    }  # fmt: skip
    SWITCH_S: ClassVar[float] = 1 / 65  # 7700

    kind: Literal["keithley_2700"] = "keithley_2700"
    nplc: float = Field(default=1.0, ge=1, le=50, description="Integration time, periods of the mains.")
    channel_delay: Literal[0] = Field(default=0, description="The meter waits as its range needs.")


def settings(config: Keithley2700Config) -> list[Setting]:
    """In the order in which they are sent. What no public script asks back is seen from the first scan instead."""
    points = config.points()
    every = channel_list(point.address for point in points)
    ranges = []
    for span in sorted({point.range or 0.0 for point in points}):
        some = [point.address for point in points if (point.range or 0.0) == span]
        head, value = ("SENS:VOLT:DC:RANG", f"{span:g}") if span else ("SENS:VOLT:DC:RANG:AUTO", "ON")
        of = channel_list(some)
        ranges.append(Setting(f"{head} {value},{of}", f"{head}? {of}", ",".join([value] * len(some))))
    return [
        Setting("TRAC:CLE"),
        Setting("INIT:CONT OFF", "INIT:CONT?", "0"),
        Setting(f"SENS:FUNC 'VOLT:DC',{every}"),
        *ranges,
        Setting(f"SENS:VOLT:DC:NPLC {config.nplc:g},{every}", f"SENS:VOLT:DC:NPLC? {every}",
                ",".join([f"{config.nplc:g}"] * len(points))),
        Setting(f"SYST:AZER:STAT {'ON' if config.autozero else 'OFF'}", "SYST:AZER:STAT?", str(int(config.autozero))),
        Setting("FORM:ELEM READ,TST,CHAN"),
        Setting("SYST:TST:TYPE REL", "SYST:TST:TYPE?", "REL"),
        Setting("TRAC:TST:FORM ABS", "TRAC:TST:FORM?", "ABS"),
        Setting(f"ROUT:SCAN {every}"),
        Setting("ROUT:SCAN:TSO IMM", "ROUT:SCAN:TSO?", "IMM"),
        Setting("TRIG:SOUR TIM", "TRIG:SOUR?", "TIM"),
        Setting(f"TRIG:TIM {config.interval:g}", "TRIG:TIM?", f"{config.interval:g}"),
        Setting("TRIG:COUN 1", "TRIG:COUN?", "1"),
        Setting(f"SAMP:COUN {len(points)}", "SAMP:COUN?", str(len(points))),
        Setting("ROUT:SCAN:LSEL INT", "ROUT:SCAN:LSEL?", "INT"),
    ]  # fmt: skip


class Keithley2700(Scanner):
    """Scans when it is asked."""

    Config: ClassVar[type[Keithley2700Config]] = Keithley2700Config
    config: Keithley2700Config

    def __init__(self, config: Keithley2700Config, raw: RawLog | None = None, link: Link | None = None) -> None:
        super().__init__(config, raw, link)
        #: First stamp of the last scan, and when it was asked for.
        self._before: tuple[int, int] | None = None
        self._probe: ClockProbe | None = None

    def configure(self) -> None:
        config = self.config
        self.meter = meter = Dialogue(self._link or scanner.connect(config, self.raw))
        identity = scanner.who(meter, ("KEITHLEY",), ("2700", "2701", "2750"), config.resource)
        for command in ("ABOR", "*RST", "*CLS"):
            meter.say(command)
        confirmed = scanner.carry_out(meter, settings(config))
        scanner.check_errors(meter)
        self.identity = identity | {"confirmed": confirmed}

    def start(self) -> None:
        pass  # every question starts a scan

    def next(self, deadline_ns: int) -> list[Reading]:
        found, self._kept = self._kept, []
        return found or self._scan()

    def _scan(self) -> list[Reading]:
        sent_ns = clock.now_ns()
        words = self._dialogue.numbers("READ?", 3 * len(self.points), self.config.scan_s + self.config.timeout)
        received_ns = clock.now_ns()
        values, stamps_s, addresses = words[0::3], words[1::3], words[2::3]
        if list(self.points) != addresses:
            raise Reconnect(f"READ?: channels {addresses} are not those of the scan")
        stamps_ns = self._on_one_line(stamps_s, sent_ns)
        lasted_ns = stamps_ns[-1] - stamps_ns[0]
        # The first conversion came after the question; the last one, so much later, before the answer.
        self._probe = self.clock.add(ClockProbe(sent_ns, stamps_ns[0], max(received_ns - lasted_ns, sent_ns + 1)))
        return [
            scanner.reading(point, self.ranges, value, *self._at(stamp_ns))
            for point, value, stamp_ns in zip(self.points.values(), values, stamps_ns, strict=True)
        ]

    def _on_one_line(self, stamps_s: list[float], sent_ns: int) -> list[int]:
        """The stamps of a scan without the steps of a timer that began anew after a day; one that was set to zero by
        switching the meter off is another clock."""
        turn_ns = TIMER_S * 10**9
        shown_ns = [round(one * 1000) * MS_NS for one in stamps_s]
        first_ns = shown_ns[0]
        if self._before:
            expected_ns = self._before[0] + sent_ns - self._before[1]
            first_ns += round((expected_ns - first_ns) / turn_ns) * turn_ns
            if abs(first_ns - expected_ns) > SET_NS:
                self.clock = ClockMap(MS_NS)
        self._before = (first_ns, sent_ns)
        return [first_ns + (one - shown_ns[0]) % turn_ns for one in shown_ns]

    def _at(self, stamp_ns: int) -> tuple[int, int]:
        host_ns, u_ns = self.clock.host_ns(stamp_ns)
        # The stamp is of some moment of the conversion (unverified: of which).
        return host_ns, math.ceil(math.hypot(u_ns, self.config.conversion_s * 1e9 / math.sqrt(12)))

    def sync(self) -> ClockProbe | None:
        """The bracket of the last scan; the timer itself cannot be asked."""
        if self._probe is None:
            self._kept = self._scan()
        return self._probe

    def stop(self) -> dict[str, Any] | None:
        self._dialogue.say("ROUT:SCAN:LSEL NONE")
        return None
