"""A multimeter like the HP/Agilent/Keysight 34401A on the analogue output of a power transducer, 10 W for each volt.

Commands: 34401A user's guide (34401-90004). ``READ?`` starts a measurement that integrates over its aperture, and is
answered when it is done; ``READ?`` again measures anew.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.lines import LabLink, served_on_tcp
from iojoule.meters.lab.load import Truth

IDENTITY = "HEWLETT-PACKARD,34401A,0,11-5-2"
WATTS_PER_VOLT = 10.0
RANGE_V = 10.0
#: 10 power line cycles of 50 Hz, and what the meter needs besides with its automatic zero off.
APERTURE_S, OVERHEAD_S = 0.2, 0.002
OVER = "+9.90000000E+37"


class ScpiDmmFront:
    ABOUT: ClassVar[str] = "a 34401A multimeter (SCPI over TCP) on a transducer of 10 W/V, 10 PLC"
    WATTS: ClassVar[tuple[float, float]] = (4.0, 60.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.truth, self.seed, self.faults = truth, seed, Faults()
        #: The transducer's and the meter's errors together, in watts.
        self.make = Make(rdg_pct=0.1, rng_pct=0.05, range=RANGE_V * WATTS_PER_VOLT)
        self.instrument = Instrument(truth, self.make, seed)
        self.settings = {"VOLT:DC:RANG": "10", "VOLT:DC:NPLC": "10", "ZERO:AUTO": "OFF"}
        self.errors: deque[str] = deque()
        self.heard: list[str] = []
        self._address: tuple[str, int] = ("127.0.0.1", 5025)

    def section(self) -> dict[str, Any]:
        return {
            "kind": "scpi", "resource": "TCPIP0::{}::{}::SOCKET".format(*self._address), "interval": "200ms",
            "identity": "34401A", "pace": "meter", "window": "200ms", "read": "READ?",
            "setup": [
                ["*CLS"], ["CONF:VOLT:DC 10"],
                ["ZERO:AUTO OFF", "ZERO:AUTO?", "0"], ["VOLT:DC:NPLC 10", "VOLT:DC:NPLC?", "10"],
            ],
            "channels": [
                {"id": "power", "boundary": "ac_wall", "scale": WATTS_PER_VOLT, "accuracy": [0.1, 0.05, 100.0]},
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
        if line in ("READ?", "INIT;FETC?"):
            done_ns = now_ns + int(APERTURE_S * 1e9)
            return done_ns + int(OVERHEAD_S * 1e9), self.volts_over(now_ns, done_ns)
        return now_ns, self._said(line)

    def volts_over(self, start_ns: int, end_ns: int) -> str:
        """The mean of the transducer's output over a window, as the meter writes it."""
        watts = self.truth.joules(start_ns, end_ns) / ((end_ns - start_ns) * 1e-9)
        volts = self.instrument.display(watts, start_ns) / WATTS_PER_VOLT
        return OVER if abs(volts) > 1.2 * RANGE_V else f"{volts:+.8E}"

    def _said(self, line: str) -> str | None:
        head, _, value = line.partition(" ")
        if line == "*IDN?":
            return IDENTITY
        if line == "SYST:ERR?":
            return self.errors.popleft() if self.errors else '+0,"No error"'
        if line in ("CONF?", "FUNC?"):
            return '"VOLT +1.000000E+01,+1.000000E-05"' if line == "CONF?" else '"VOLT"'
        if line == "*OPC?":
            return "1"
        if head.endswith("?") and head[:-1] in self.settings:
            said = self.settings[head[:-1]]
            return {"ON": "1", "OFF": "0"}.get(said) or f"{float(said):+.8E}"
        if head in self.settings:
            self.settings[head] = value
        elif head == "CONF:VOLT:DC":
            self.settings["VOLT:DC:RANG"] = value.partition(",")[0] or "10"
        elif line == "*CLS":
            self.errors.clear()
        elif line not in ("*RST", "SYST:REM", "SYST:LOC", "INIT"):
            self.errors.append('-113,"Undefined header"')
        return None
