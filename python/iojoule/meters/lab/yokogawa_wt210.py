"""A Yokogawa WT210 in its 488.2 mode (IM 760401-01E, chapters 13 and 14): behind a gateway, or on a serial line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from math import isinf, isnan
from pathlib import Path
from typing import Any, ClassVar

from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.lines import LabLink, served_on_pty, served_on_tcp
from iojoule.meters.lab.yokogawa import WtFront, section_of

#: Answers come in this order, whatever the order they were switched on.
ORDER = (
    "V", "A", "W", "VA", "VAR", "PF", "DEGR", "VHZ", "AHZ", "WH", "WHP", "WHM", "AH", "AHP", "AHM", "MATH",
    "VPK", "APK", "TIME",
)  # fmt: skip


class Wt210Front(WtFront):
    """Behind a gateway from a LAN socket to its serial line; lines end with CR LF."""

    ABOUT: ClassVar[str] = "Yokogawa WT210 behind a LAN gateway, 300 V x 0.5 A"
    MAKE: ClassVar[Make] = Make(rdg_pct=0.1, rng_pct=0.1, update_s=0.25, latency_s=0.01)
    IDENTITY: ClassVar[str] = "YOKOGAWA,760401,0,F3.01"
    HEADS: ClassVar[Mapping[str, str]] = {"V": ":CONF:VOLT", "A": ":CONF:CURR"}
    RATE, CFAC, VALUES = ":SAMP:RATE", ":CONF:CFAC", ":MEAS:VAL?"
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        ":SAMP:RATE": "0.25", ":SAMP:HOLD": "OFF", ":CONF:MODE": "RMS", ":CONF:CFAC": "3",
        ":CONF:LFILT": "OFF", ":CONF:FILT": "OFF", ":CONF:AVER:STAT": "OFF", ":CONF:MHOL": "OFF",
        ":CONF:VOLT:AUTO": "OFF", ":CONF:VOLT:RANG": "300V", ":CONF:CURR:AUTO": "OFF", ":CONF:CURR:RANG": "0.5A",
        **{f":MEAS:ITEM:{word}": "OFF" for word in ORDER},
    }  # fmt: skip
    SILENT: ClassVar[tuple[str, ...]] = (*WtFront.SILENT, ":STAT:QMES")

    _resource = "TCPIP0::127.0.0.1::5025::SOCKET"

    def section(self) -> dict[str, Any]:
        return section_of("yokogawa_wt210", self._resource)

    def link(self) -> LabLink:
        return LabLink(self.answer)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_tcp(self.answer, self.faults, port, b"\r\n") as (host, bound):
            self._resource = f"TCPIP0::{host}::{bound}::SOCKET"
            yield f"{host}:{bound}"

    def words(self) -> list[str]:
        return [word for word in ORDER if self.settings[f":MEAS:ITEM:{word}"] == "ON"]

    def number(self, value: float) -> str:
        """Five digits with an exponent that is a multiple of three, as 18.030E+00."""
        if isinf(value) or isnan(value):
            return "9.9E+37" if isinf(value) else "9.91E+37"
        exponent = 0 if abs(value) >= 0.1 or not value else -3
        whole = len(str(int(abs(value) / 10.0**exponent)))
        return f"{value / 10.0**exponent:.{max(0, 5 - whole)}f}E{exponent:+03d}"

    def seconds(self, rate: str) -> float:
        return float(rate)

    def written(self, value: str) -> str:
        """300V is 300.0E+00, 0.5A is 500.0E-03, ON is 1."""
        words = {"ON": "1", "OFF": "0"}
        if value in words or not value.endswith(("V", "A")) or not value[:-1].replace(".", "").isdigit():
            return words.get(value, value)
        amount = float(value[:-1])
        return f"{amount:.1f}E+00" if amount >= 1 else f"{amount * 1000:.1f}E-03"


class Wt210SerialFront(Wt210Front):
    """On a pseudo-terminal that is as slow as 9600 baud."""

    ABOUT: ClassVar[str] = "Yokogawa WT210 on a serial line of 9600 baud (a pseudo-terminal), 300 V x 0.5 A"

    BAUD: ClassVar[int] = 9600
    #: Where the terminal is to be found while it is plugged in; a new ``/dev/pts/N`` each time where none is given.
    at: Path | None = None
    _resource = "ASRL/dev/ttyS0::INSTR"

    def section(self) -> dict[str, Any]:
        return super().section() | ({} if self.BAUD == 9600 else {"baud": self.BAUD})

    def link(self) -> LabLink:
        return LabLink(self.answer, byte_s=10 / self.BAUD)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_pty(self.answer, self.faults, baud=self.BAUD, at=self.at) as path:
            self._resource = f"ASRL{path}::INSTR"
            yield path
