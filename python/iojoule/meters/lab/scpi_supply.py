"""A bench supply that measures what it gives: volts, amperes and watts in one answer, anew ten times a second."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.lines import LabLink, served_on_tcp
from iojoule.meters.lab.load import Truth

IDENTITY = "METERLAB,SUPPLY-3,0,1.0"
RANGE_V, RANGE_A = 300.0, 0.5
OVER = "9.90000E+37"


class ScpiFront:
    """Measures all the time; ``MEAS:VOLT?;CURR?;POW?`` shows the mean over the last update."""

    ABOUT: ClassVar[str] = "a supply that answers volts, amperes and watts (SCPI over TCP), every 0.1 s"
    WATTS: ClassVar[tuple[float, float]] = (4.0, 60.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.truth, self.seed, self.faults = truth, seed, Faults()
        make = Make(rdg_pct=0.2, rng_pct=0.1, range=150.0, resolution=0.01, update_s=0.1, latency_s=0.02)
        self.instrument = Instrument(truth, make, seed)
        self.settings = {"OUTP": "OFF", "SENS:AVER": "OFF"}
        self.errors: deque[str] = deque()
        self.heard: list[str] = []
        self._address: tuple[str, int] = ("127.0.0.1", 5025)

    def section(self) -> dict[str, Any]:
        common = {"boundary": "dc_rail", "overload": 9.9e37}
        return {
            "kind": "scpi", "resource": "TCPIP0::{}::{}::SOCKET".format(*self._address), "interval": "40ms",
            "identity": "^METERLAB,SUPPLY-3,", "end": ["SYST:LOC"],
            "setup": [["OUTP ON", "OUTP?", "1"], ["SENS:AVER OFF", "SENS:AVER?", "0"]],
            "read": "MEAS:VOLT?;CURR?;POW?", "separator": ";", "update": "100ms", "latency": "20ms",
            "channels": [
                {"id": "voltage", "index": 0, "quantity": "voltage", "unit": "V", **common},
                {"id": "current", "index": 1, "quantity": "current", "unit": "A", **common},
                {"id": "power", "index": 2, "accuracy": [0.2, 0.1, 150.0], "resolution": 0.01, **common},
            ],
        }  # fmt: skip

    def link(self) -> LabLink:
        return LabLink(self.answer)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_tcp(self.answer, self.faults, port) as self._address:
            yield "{}:{}".format(*self._address)

    def truth_channels(self) -> tuple[str, ...]:
        return ("power",)

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        self.heard.append(line)
        return now_ns, self._said(line, now_ns)

    def _said(self, line: str, now_ns: int) -> str | None:
        head, _, value = line.partition(" ")
        if line == "*IDN?":
            return IDENTITY
        if line == "SYST:ERR?":
            return self.errors.popleft() if self.errors else '0,"No error"'
        if line == "MEAS:VOLT?;CURR?;POW?":
            return self._measured(now_ns)
        if head.endswith("?") and head[:-1] in self.settings:
            return "1" if self.settings[head[:-1]] == "ON" else "0"
        if head in self.settings and value in ("ON", "OFF"):
            self.settings[head] = value
        elif line not in ("*CLS", "*RST", "SYST:REM", "SYST:LOC"):
            self.errors.append('-113,"Undefined header"')
        return None

    def _measured(self, now_ns: int) -> str:
        shown = self.instrument.shown(now_ns)
        volts = self.truth.volts(shown.end_ns)
        amperes = shown.value / volts
        words = [f"{volts:.5E}", f"{amperes:.5E}", f"{shown.value:.5E}"]
        if amperes > RANGE_A or volts > RANGE_V:
            words[1:] = [OVER, OVER]
        return ";".join(words)
