"""A Keithley 2700 with a 7700 card on a serial line: scans when asked, and stamps with the seconds of a timer."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.lines import LabLink, served_on_pty, served_on_tcp
from iojoule.meters.lab.load import Truth
from iojoule.meters.lab.scanner import Lines, Multimeter, Pace, addresses

ACCURACY_PCT = {0.1: (0.0030, 0.0035), 1.0: (0.0025, 0.0007), 10.0: (0.0030, 0.0005), 100.0: (0.0045, 0.0009)}
RELAY_S = 1 / 65
#: 30 characters a reading at 9600 baud.
READING_S = 30 * 10 / 9600
TIMER_S = 100_000
OF_CHANNELS = {"SENS:VOLT:DC:RANG": "1000", "SENS:VOLT:DC:RANG:AUTO": "ON", "SENS:VOLT:DC:NPLC": "5"}
PLAIN = {
    "INIT:CONT": "ON", "SYST:AZER:STAT": "ON", "SYST:TST:TYPE": "REL", "TRAC:TST:FORM": "ABS", "TRIG:SOUR": "IMM",
    "TRIG:TIM": "0.1", "TRIG:COUN": "1", "SAMP:COUN": "1", "ROUT:SCAN": "", "ROUT:SCAN:TSO": "IMM",
    "ROUT:SCAN:LSEL": "NONE", "FORM:ELEM": "READ,UNIT,TST", "SENS:FUNC": "",
}  # fmt: skip


class Keithley2700Front:
    """Speaks SCPI; the drive of ``Lines`` hangs on channels 101 to 104."""

    ABOUT: ClassVar[str] = "Keithley 2700 that scans shunts in the 5 V and 12 V lines of a drive, every 0.5 s"
    WATTS: ClassVar[tuple[float, float]] = (2.0, 12.0)

    def __init__(self, truth: Truth, seed: int = 0, tcp: bool = False) -> None:
        draw = random.Random(f"2700/{seed}")
        self.truth, self.faults, self._tcp = truth, Faults(), tcp
        self.lines, self.multimeter = Lines(truth, seed), Multimeter(ACCURACY_PCT, seed)
        # On since some time; after a day and some hours the timer begins anew.
        self.own = Make(clock_offset_s=draw.uniform(0, TIMER_S), clock_drift_ppm=draw.uniform(-50, 50))
        self.stamp = draw.uniform(0, 1)
        self.errors: list[str] = []
        self._on_ns: int | None = None
        self._settings = dict(PLAIN)
        self._channels: dict[tuple[str, int], str] = {}
        self._where = ""

    def section(self) -> dict[str, Any]:
        return {
            "kind": "keithley_2700", "resource": self._where or "ASRL/dev/ttyS0::INSTR", "interval": "500ms",
            "channel_delay": 0, "rails": self.lines.rails(),
        }  # fmt: skip

    def link(self) -> LabLink:
        return LabLink(self.answer)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        """On a serial line, whose path is the address; on a socket, as through a converter, where ``tcp`` says so."""
        if self._tcp:
            with served_on_tcp(self.answer, self.faults, port) as (host, found):
                self._where = f"TCPIP0::{host}::{found}::SOCKET"
                yield f"{host}:{found}"
        else:
            with served_on_pty(self.answer, self.faults) as path:
                self._where = f"ASRL{path}::INSTR"
                yield path

    def truth_channels(self) -> tuple[str, ...]:
        return tuple(line.name for line in self.lines.lines)

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        """When the meter is done with ``line``, and what it answers; what it does not know is an error in its queue."""
        self._on_ns = self._on_ns or now_ns
        if line == "READ?":
            return self._scan(now_ns)
        try:
            return now_ns, self._answer(line)
        except (ValueError, KeyError):
            self.errors.append(f'-113,"Undefined header: {line[:20]}"')
            return now_ns, None

    def restart(self) -> None:
        """The mains are off and on again: settings are lost, the timer begins at zero."""
        self._on_ns, self._settings, self._channels = None, dict(PLAIN), {}
        self.own = Make(clock_drift_ppm=self.own.clock_drift_ppm)

    def _answer(self, line: str) -> str | None:
        head, _, value = line.partition(" ")
        key = head.removesuffix("?")
        if head == "*IDN?":
            return "KEITHLEY INSTRUMENTS INC.,MODEL 2700,0822752,B09  /A02"
        if head == "SYST:ERR?":
            return self.errors.pop(0) if self.errors else '0,"No error"'
        if head.endswith("?"):
            if key in OF_CHANNELS:
                return ",".join(_written(self._channels.get((key, a), OF_CHANNELS[key])) for a in addresses(value))
            return _written(self._settings[key])
        if key in OF_CHANNELS:
            setting, _, channels = value.partition(",")
            for one in addresses(channels):
                self._channels[key, one] = setting
                if key == "SENS:VOLT:DC:RANG":
                    self._channels["SENS:VOLT:DC:RANG:AUTO", one] = "OFF"
        elif key in PLAIN:
            self._settings[key] = value
        elif key in ("*RST", "*CLS"):
            self.errors.clear()
            if key == "*RST":
                self._settings, self._channels = dict(PLAIN), {}
        elif key not in ("ABOR", "TRAC:CLE"):
            raise KeyError(head)
        return None

    def _scan(self, now_ns: int) -> tuple[int, str | None]:
        if self._settings["ROUT:SCAN:LSEL"] != "INT" or not self._settings["ROUT:SCAN"]:
            self.errors.append('-221,"Settings conflict"')
            return now_ns, None
        wanted = sorted(addresses(self._settings["ROUT:SCAN"]))
        nplc = float(self._channels.get(("SENS:VOLT:DC:NPLC", wanted[0]), "5"))
        pace = Pace(RELAY_S, nplc / 50, self._settings["SYST:AZER:STAT"] == "ON", self.stamp)
        words, end_ns = [], now_ns
        for one in pace.scan(wanted, now_ns):
            of = self._channels
            auto = of.get(("SENS:VOLT:DC:RANG:AUTO", one.address), "ON") == "ON"
            span = None if auto else float(of["SENS:VOLT:DC:RANG", one.address])
            volts = self.lines.volts(one.address, one.start_ns, one.integrated_ns)
            shown = self.multimeter.shown(volts, span, (one.address, one.start_ns))
            words += [f"{shown:+.6E}", f"{self._timer_s(one.stamped_ns):+.3f}", f"{one.address}"]
            end_ns = one.end_ns + int(READING_S * 1e9 * len(wanted))
        return end_ns, ",".join(words)

    def _timer_s(self, at_ns: int) -> float:
        since_ns = at_ns - (self._on_ns or at_ns)
        seconds = self.own.clock_offset_s + since_ns * 1e-9 * (1 + self.own.clock_drift_ppm * 1e-6)
        return int(seconds * 1000) / 1000 % TIMER_S


def _written(value: str) -> str:
    """As the meter writes what was set: ON is 1, 0.5 is 5.00000000E-01."""
    if value in ("ON", "OFF"):
        return str(int(value == "ON"))
    return f"{float(value):.8E}" if value.replace(".", "").isdigit() else value
