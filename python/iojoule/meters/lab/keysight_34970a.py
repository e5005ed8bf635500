"""A 34970A or 34972A with a 34901A: scans on its own timer into its memory, and tells what is in there when asked."""

from __future__ import annotations

import contextlib
import random
from collections import deque
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.lines import LabLink, served_on_pty, served_on_tcp
from iojoule.meters.lab.load import Truth
from iojoule.meters.lab.scanner import Lines, Multimeter, Pace, addresses

ACCURACY_PCT = {0.1: (0.0050, 0.0040), 1.0: (0.0040, 0.0007), 10.0: (0.0035, 0.0005), 100.0: (0.0045, 0.0006)}
#: Readings the memory holds; the oldest give way.
MEMORY = 50_000
RELAY_S = 1 / 60
EPOCH = datetime(2002, 6, 1)
#: Settings of a channel, by the head of the command, and what they are after *RST.
OF_CHANNELS = {
    "CONF:VOLT:DC": "AUTO", "SENS:VOLT:DC:NPLC": "1", "SENS:ZERO:AUTO": "ON", "INP:IMP:AUTO": "OFF",
    "ROUT:CHAN:DEL": "0",
}  # fmt: skip
PLAIN = {
    "FORM:READ:CHAN": "OFF", "FORM:READ:TIME": "OFF", "FORM:READ:TIME:TYPE": "REL", "FORM:READ:UNIT": "OFF",
    "FORM:READ:ALAR": "OFF", "TRIG:SOUR": "IMM", "TRIG:TIM": "10", "TRIG:COUN": "1",
}  # fmt: skip


class Keysight34970aFront:
    """Speaks SCPI over a socket (34972A) or a terminal (34970A); on channels 101 to 104 is the drive of ``Lines``."""

    ABOUT: ClassVar[str] = "Keysight 34972A that scans shunts in the 5 V and 12 V lines of a drive, every 0.5 s"
    WATTS: ClassVar[tuple[float, float]] = (2.0, 12.0)

    def __init__(self, truth: Truth, seed: int = 0, model: str = "34972A", memory: int = MEMORY) -> None:
        draw = random.Random(f"34970a/{seed}")
        self.truth, self.model, self.faults = truth, model, Faults()
        self.lines, self.multimeter = Lines(truth, seed), Multimeter(ACCURACY_PCT, seed)
        offset_s, drift_ppm = draw.uniform(-3600, 3600), draw.uniform(-50, 50)
        self.own = Make(clock_offset_s=offset_s, clock_drift_ppm=drift_ppm)
        self.stamp = draw.uniform(0, 1)
        #: (volts, time on the meter's clock, channel)
        self.memory: deque[tuple[float, int, int]] = deque(maxlen=memory)
        self.errors: list[str] = []
        self.scanned: dict[int, int] = {}
        self._scan: list[int] = []
        self._settings = dict(PLAIN)
        self._channels: dict[tuple[str, int], str] = {}
        self._trigger_ns: int | None = None
        self._triggers = 0
        self._where = ""

    def section(self) -> dict[str, Any]:
        return {
            "kind": "keysight_34970a", "resource": self._where or "TCPIP0::127.0.0.1::5025::SOCKET",
            "interval": "500ms", "rails": self.lines.rails(),
        }  # fmt: skip

    def link(self) -> LabLink:
        return LabLink(self.answer)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """A 34972A on its socket; a 34970A on a serial line, whose path is the address."""
        if self.model == "34970A":
            with served_on_pty(self.answer, self.faults) as path:
                self._where = f"ASRL{path}::INSTR"
                yield path
        else:
            with served_on_tcp(self.answer, self.faults, port) as (host, found):
                self._where = f"TCPIP0::{host}::{found}::SOCKET"
                yield f"{host}:{found}"

    def truth_channels(self) -> tuple[str, ...]:
        return tuple(line.name for line in self.lines.lines)

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        """When the meter is done with ``line``, and what it answers; what it does not know is an error in its queue."""
        self._scan_until(now_ns)
        try:
            return self._read(now_ns) if line == "READ?" else (now_ns, self._answer(line, now_ns))
        except (ValueError, KeyError):
            self.errors.append(f'-113,"Undefined header: {line[:20]}"')
            return now_ns, None

    def power_cycle(self) -> None:
        """The mains are off and on again: the scan ends, settings are lost, the memory has a battery."""
        self._trigger_ns, self._scan, self._channels, self._settings = None, [], {}, dict(PLAIN)

    def _answer(self, line: str, now_ns: int) -> str | None:
        head, _, value = line.partition(" ")
        ask = head.endswith("?")
        if ask and head[:-1] in (*OF_CHANNELS, "SENS:VOLT:DC:RANG", "SENS:VOLT:DC:RANG:AUTO"):
            return ",".join(self._written(head[:-1], one) for one in addresses(value))
        if ask and head[:-1] in PLAIN:
            return _written(self._settings[head[:-1]])
        if head in PLAIN:
            self._settings[head] = value
            return None
        if head in OF_CHANNELS:
            setting, _, channels = value.partition(",")
            self._set(head, setting, addresses(channels))
            return None
        if ask:
            return self._ask(head, value, now_ns)
        self._do(head, value, now_ns)
        return None

    def _set(self, head: str, value: str, channels: list[int]) -> None:
        self._trigger_ns = None
        for one in channels:
            if head == "CONF:VOLT:DC":  # a new function takes everything back that was set for the channel
                for other in OF_CHANNELS:
                    self._channels.pop((other, one), None)
            self._channels[head, one] = value
        if head == "CONF:VOLT:DC":
            self._scan = channels
            self.memory.clear()

    def _do(self, head: str, value: str, now_ns: int) -> None:
        match head:
            case "*RST":
                self.power_cycle()
                self.memory.clear()
            case "*CLS":
                self.errors.clear()
            case "ABOR":
                self._trigger_ns = None
            case "ROUT:SCAN":
                self._scan, self._trigger_ns = sorted(addresses(value)), None
                self.memory.clear()
            case "INIT":
                self.memory.clear()
                self.scanned = dict.fromkeys(self._scan, 0)
                self._trigger_ns, self._triggers = now_ns, 0
            case _:
                raise KeyError(head)

    def _ask(self, head: str, value: str, now_ns: int) -> str:
        own = _date(self._clock_ns(now_ns))
        match head:
            case "*IDN?":
                maker = "HEWLETT-PACKARD" if self.model == "34970A" else "Agilent Technologies"
                return f"{maker},{self.model},MY49012345,1.12-02-1"
            case "SYST:ERR?":
                return self.errors.pop(0) if self.errors else '+0,"No error"'
            case "SYST:DATE?":
                return own.strftime("%Y,%m,%d")
            case "SYST:TIME?":
                return f"{own:%H,%M,%S}.{own.microsecond // 1000:03d}"
            case "ROUT:SCAN:SIZE?":
                return f"+{len(self._scan)}"
            case "STAT:OPER:COND?":
                return "+0" if self._trigger_ns is None else "+16"
            case "DATA:POIN?":
                return f"+{len(self.memory)}"
            case "DATA:REM?":
                return self._told([self.memory.popleft() for _ in range(min(int(value), len(self.memory)))])
            case "CALC:AVER:COUN?":
                return ",".join(f"{self.scanned.get(one, 0):+.8E}" for one in addresses(value))
        raise KeyError(head)

    def _written(self, head: str, channel: int) -> str:
        """A setting of one channel as the meter writes it."""
        span = self._channels.get(("CONF:VOLT:DC", channel), "AUTO")
        if head == "SENS:VOLT:DC:RANG":
            return f"{float(span) if span != 'AUTO' else 100.0:+.8E}"
        if head == "SENS:VOLT:DC:RANG:AUTO":
            return str(int(span == "AUTO"))
        return _written(self._channels.get((head, channel), OF_CHANNELS[head]))

    def _clock_ns(self, at_ns: int) -> int:
        drift = self.own.clock_drift_ppm * 1e-6
        return at_ns + int(self.own.clock_offset_s * 1e9 + drift * at_ns)

    def _scan_until(self, now_ns: int) -> None:
        """Every conversion that ended by now, in the memory. The timer runs on the meter's own clock."""
        if self._trigger_ns is None or self._settings["TRIG:SOUR"] != "TIM" or not self._scan:
            return
        every_ns = float(self._settings["TRIG:TIM"]) * 1e9 / (1 + self.own.clock_drift_ppm * 1e-6)
        while (begins_ns := self._trigger_ns + int(self._triggers * every_ns)) < now_ns:
            conversions = list(self._pace().scan(self._scan, begins_ns))
            if conversions[-1].end_ns > now_ns:
                return  # the memory gets a scan as a whole
            self._triggers += 1
            for one in conversions:
                self._convert(one.address, one.start_ns, one.integrated_ns, one.stamped_ns)

    def _convert(self, address: int, start_ns: int, end_ns: int, stamped_ns: int) -> None:
        span = self._channels.get(("CONF:VOLT:DC", address), "AUTO")
        volts = self.lines.volts(address, start_ns, end_ns)
        shown = self.multimeter.shown(volts, None if span == "AUTO" else float(span), (address, start_ns))
        self.memory.append((shown, self._clock_ns(stamped_ns), address))
        self.scanned[address] = self.scanned.get(address, 0) + 1

    def _read(self, now_ns: int) -> tuple[int, str | None]:
        """One scan at once, and its readings when it is over; they stay in the memory."""
        if self._settings["TRIG:SOUR"] != "IMM" or not self._scan:
            raise ValueError("a scan on a timer is begun by INIT")
        self._do("INIT", "", now_ns)
        conversions = list(self._pace().scan(self._scan, now_ns))
        for one in conversions:
            self._convert(one.address, one.start_ns, one.integrated_ns, one.stamped_ns)
        self._trigger_ns = None
        return conversions[-1].end_ns, self._told(list(self.memory))

    def _told(self, readings: list[tuple[float, int, int]]) -> str:
        """Readings in the format that was asked for."""
        words = []
        for volts, at_ns, address in readings:
            own = _date(at_ns)
            words.append(f"{volts:+.8E}")
            if self._settings["FORM:READ:TIME"] == "ON":
                words.append(f"{own:%Y,%m,%d,%H,%M,%S}.{own.microsecond // 1000:03d}")
            if self._settings["FORM:READ:CHAN"] == "ON":
                words.append(f"{address}")
        return ",".join(words)

    def _pace(self) -> Pace:
        first = self._scan[0]
        nplc = float(self._channels.get(("SENS:VOLT:DC:NPLC", first), "1"))
        wait_s = float(self._channels.get(("ROUT:CHAN:DEL", first), "0"))
        autozero = self._channels.get(("SENS:ZERO:AUTO", first), "ON") == "ON"
        return Pace(RELAY_S + wait_s, nplc / 50, autozero, self.stamp)


def _date(clock_ns: int) -> datetime:
    return EPOCH + timedelta(microseconds=clock_ns // 1000)


def _written(value: str) -> str:
    """As the meter writes what was set: ON is 1, 0.5 is +5.00000000E-01."""
    if value in ("ON", "OFF"):
        return str(int(value == "ON"))
    return f"{float(value):+.8E}" if value.replace(".", "").isdigit() else value
