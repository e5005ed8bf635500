"""Agilent/Keysight 34970A (RS-232, GPIB) and 34972A (LAN, USB): a scan of shunts in supply rails, paced by the meter.

Commands: 34970A/34972A command reference: CONFigure, SENSe, ROUTe, FORMat, TRIGger, DATA, SYSTem. The meter scans on
its own timer into its memory; every reading there has the time of its conversion on the meter's clock.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from iojoule.meters import clock, scanner
from iojoule.meters.base import ClockProbe, RawLog, Reading, Reconnect
from iojoule.meters.clock import ClockMap
from iojoule.meters.dialogue import Dialogue
from iojoule.meters.scanner import MS_NS, Scanner, Setting, channel_list
from iojoule.meters.scanner_config import ScannerConfig
from iojoule.meters.visa import Link

#: Longest message a 34970A takes over RS-232 without losing some of it.
LONGEST_MESSAGE = 127
#: Most readings asked for at once: what half an answer may lose, and 2 s at 9600 baud.
MOST_AT_ONCE = 40
#: Words of one reading: value, year, month, day, hours, minutes, seconds, channel.
WORDS = 8
SCANNING = 1 << 4
EPOCH = datetime(2000, 1, 1)
#: The clock was set, not adrift, when a probe is off by this much.
SET_NS = 10**9


class Keysight34970aConfig(ScannerConfig):
    #: One year, 23 ± 5 °C (from memory, unverified).
    ACCURACY_PCT: ClassVar[Mapping[float, tuple[float, float]]] = {
        0.1: (0.0050, 0.0040), 1.0: (0.0040, 0.0007), 10.0: (0.0035, 0.0005), 100.0: (0.0045, 0.0006),
    }  # fmt: skip
    SWITCH_S: ClassVar[float] = 1 / 60  # 34901A

    kind: Literal["keysight_34970a"] = "keysight_34970a"
    nplc: Literal[1, 2, 10, 20, 100, 200] = Field(default=1, description="Integration time, periods of the mains.")

    @model_validator(mode="after")
    def _messages_are_short(self) -> Keysight34970aConfig:
        for setting in settings(self):
            if len(setting.say) > LONGEST_MESSAGE:
                raise ValueError(f"{len(setting.say)} characters are too many for one message: {setting.say}")
        return self


def settings(config: Keysight34970aConfig) -> list[Setting]:
    """In the order in which they are sent. CONF makes the scan list anew, so ROUT:SCAN comes after it."""
    points = config.points()
    every = channel_list(point.address for point in points)

    def all_are(head: str, value: str, want: str = "") -> Setting:
        return Setting(f"{head} {value},{every}", f"{head}? {every}", ",".join([want or value] * len(points)))

    ranges = []
    for span in sorted({point.range or 0.0 for point in points}):
        of = [point.address for point in points if (point.range or 0.0) == span]
        some = channel_list(of)
        head = "SENS:VOLT:DC:RANG"
        ranges.append(
            Setting(f"CONF:VOLT:DC {span:g},{some}", f"{head}? {some}", ",".join([f"{span:g}"] * len(of)))
            if span
            else Setting(f"CONF:VOLT:DC AUTO,{some}", f"{head}:AUTO? {some}", ",".join(["1"] * len(of)))
        )
    return [
        Setting("FORM:READ:CHAN ON", "FORM:READ:CHAN?", "1"),
        Setting("FORM:READ:TIME ON", "FORM:READ:TIME?", "1"),
        Setting("FORM:READ:TIME:TYPE ABS", "FORM:READ:TIME:TYPE?", "ABS"),
        Setting("FORM:READ:UNIT OFF", "FORM:READ:UNIT?", "0"),
        Setting("FORM:READ:ALAR OFF", "FORM:READ:ALAR?", "0"),
        *ranges,
        all_are("SENS:VOLT:DC:NPLC", f"{config.nplc:g}"),
        all_are("SENS:ZERO:AUTO", "ON" if config.autozero else "OFF"),
        all_are("INP:IMP:AUTO", "ON"),
        all_are("ROUT:CHAN:DEL", f"{config.channel_delay:g}"),
        Setting(f"ROUT:SCAN {every}", "ROUT:SCAN:SIZE?", str(len(points))),
        Setting("TRIG:SOUR TIM", "TRIG:SOUR?", "TIM"),
        Setting(f"TRIG:TIM {config.interval:g}", "TRIG:TIM?", f"{config.interval:g}"),
        Setting("TRIG:COUN INF"),
    ]


class Keysight34970a(Scanner):
    """Scans on its own timer; what is in its memory is taken out, a few readings at a time."""

    Config: ClassVar[type[Keysight34970aConfig]] = Keysight34970aConfig
    config: Keysight34970aConfig
    #: The meter scans into its memory while the line is cut: an interruption alone is no gap.
    keeps: ClassVar[bool] = True

    def __init__(self, config: Keysight34970aConfig, raw: RawLog | None = None, link: Link | None = None) -> None:
        super().__init__(config, raw, link)
        #: Since INIT of this driver: its scan may still fill the memory after the line was lost.
        self.scanning = False
        self.delivered = 0
        #: Of each channel the meter's time of the last reading; of a process that died, the host's time.
        self._last_ns: dict[int, int] = {}
        self._since_ns: dict[str, int] = {}
        self._heard_ns = 0

    def resume(self, after: Mapping[str, tuple[int, int]]) -> None:
        """Go on for a process that died: ``after`` is channel → (number, end in host time) of what it handed on."""
        self.scanning = True
        self._since_ns = {channel: int(end_ns) for channel, (_, end_ns) in after.items()}

    def configure(self) -> None:
        config = self.config
        self.meter = meter = Dialogue(self._link or scanner.connect(config, self.raw))
        identity = scanner.who(meter, ("HEWLETT", "AGILENT", "KEYSIGHT"), ("34970A", "34972A"), config.resource)
        table = settings(config)
        confirmed = None
        if self.scanning and identity["serial"] == self.identity.get("serial", identity["serial"]):
            # What the meter converted while nobody listened is still in its memory; CONF and INIT would erase it.
            scanner.carry_out(meter, [setting for setting in table if setting.say.startswith("FORM:")])
            self._fetch()
            confirmed = scanner.still_set(meter, table)
            self.scanning = bool(meter.register("STAT:OPER:COND?") & SCANNING)
        if not confirmed or not self.scanning:
            self.scanning = False
            for command in ("ABOR", "*RST", "*CLS"):
                meter.say(command)
            confirmed = scanner.carry_out(meter, table)
            scanner.check_errors(meter)
        self.identity = identity | {"confirmed": confirmed}

    def start(self) -> None:
        if not self.clock.probes:
            self.sync()
        self._heard_ns = clock.now_ns()
        if not self.scanning:
            self._dialogue.say("INIT")
            self.scanning, self.delivered = True, 0

    def next(self, deadline_ns: int) -> list[Reading]:
        self._fetch()
        found, self._kept = self._kept, []
        now_ns = clock.now_ns()
        if found:
            self._heard_ns = now_ns
        elif now_ns - self._heard_ns > (3 * self.config.interval + self.config.scan_s) * 1e9:
            self.scanning = False
            raise Reconnect(f"no scan for {(now_ns - self._heard_ns) * 1e-9:.1f} s")
        return found

    def _fetch(self) -> None:
        """Take the readings out of the memory, a few at a time. What was taken is kept even when the line breaks."""
        if not self.clock.probes:
            self.sync()
        waiting = self._dialogue.register("DATA:POIN?")
        while waiting > 0:
            some = _taken(self._dialogue.ask(f"DATA:REM? {min(waiting, MOST_AT_ONCE)}"))
            if not some:  # fewer than it said: the rest comes next time
                return
            waiting -= len(some)
            for address, at_ns, volts in some:
                self._keep(address, at_ns, volts)

    def _keep(self, address: int, at_ns: int, volts: float) -> None:
        if address not in self.points:
            raise Reconnect(f"a reading of channel {address}, which is not scanned")
        host_ns, u_ns = self.clock.host_ns(at_ns)
        point = self.points[address]
        since_ns = self._since_ns.get(point.channel.id, host_ns - 10**18)
        heard = at_ns <= self._last_ns.get(address, at_ns - 1) or host_ns - since_ns < self.config.interval * 0.5e9
        if not heard:
            self._last_ns[address] = at_ns
            # The stamp is of some moment of the conversion (unverified: of which).
            u_ns = math.ceil(math.hypot(u_ns, self.config.conversion_s * 1e9 / math.sqrt(12)))
            self._kept.append(scanner.reading(point, self.ranges, volts, host_ns, u_ns))
            self.delivered += 1

    def sync(self) -> ClockProbe | None:
        meter, day, probe = self._dialogue, "", None
        while probe is None or meter.ask("SYST:DATE?") != day:  # midnight passed in between
            day = meter.ask("SYST:DATE?")
            sent_ns = clock.now_ns()
            time = meter.ask("SYST:TIME?")
            received_ns = clock.now_ns()
            try:
                probe = ClockProbe(sent_ns, meter_ns([*day.split(","), *time.split(",")]), received_ns)
            except ValueError as error:
                raise Reconnect(f"SYST:TIME?: {day!r}, {time!r}: {error}") from error
        if self.clock.probes and abs(self.clock.host_ns(probe.meter_ns)[0] - probe.sent_ns) > SET_NS:
            self.clock = ClockMap(MS_NS)
            self._last_ns.clear()  # of the clock before: nothing of this one was heard
        return self.clock.add(probe)

    def stop(self) -> dict[str, Any] | None:
        """How many readings the meter made, and how many of them were heard: what is neither nor left was lost."""
        meter = self._dialogue
        meter.say("ABOR")
        self.scanning = False
        left = meter.register("DATA:POIN?")
        counts = meter.numbers(f"CALC:AVER:COUN? {channel_list(self.points)}", len(self.points), self.config.timeout)
        return {"scanned": int(sum(counts)), "delivered": self.delivered, "left": left}


def _taken(answer: str) -> list[tuple[int, int, float]]:
    """``(channel, meter time, volts)`` of every reading in an answer; Reconnect when it is not made of readings."""
    words = answer.split(",") if answer.strip() else []
    found = []
    try:
        for i in range(0, len(words), WORDS):
            value, *time, address = words[i : i + WORDS]
            found.append((int(address), meter_ns(time), float(value)))
    except ValueError as error:
        raise Reconnect(f"DATA:REM?: {answer[:80]!r}: {error}") from error
    return found


def meter_ns(words: Sequence[str]) -> int:
    """Nanoseconds since 2000 of year, month, day, hours, minutes, seconds with milliseconds; ValueError otherwise."""
    year, month, day, hours, minutes, seconds = words
    whole = datetime(int(year), int(month), int(day), int(hours), int(minutes)) - EPOCH
    return (whole.days * 86400 + whole.seconds) * 10**9 + round(float(seconds) * 1000) * MS_NS
