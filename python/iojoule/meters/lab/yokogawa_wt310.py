"""A Yokogawa WT310E: the dialogue of its communication manual (IM WT310-17EN), an update every interval."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from math import isinf, isnan
from typing import Any, ClassVar

from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.lines import LabLink, served_on_tcp
from iojoule.meters.lab.yokogawa import WtFront, plain, section_of

RATES_S = {"100MS": 0.1, "250MS": 0.25, "500MS": 0.5, "1S": 1.0, "2S": 2.0, "5S": 5.0}


class Wt310Front(WtFront):
    ABOUT: ClassVar[str] = "Yokogawa WT310E on a LAN socket, 300 V x 0.5 A"
    MAKE: ClassVar[Make] = Make(rdg_pct=0.1, rng_pct=0.05, update_s=0.25, latency_s=0.01)
    IDENTITY: ClassVar[str] = "YOKOGAWA,WT310E,C2UA12345E,F1.01"
    HEADS: ClassVar[Mapping[str, str]] = {"V": ":INP:VOLT", "A": ":INP:CURR"}
    RATE, CFAC, VALUES = ":RATE", ":INP:CFAC", ":NUM:NORM:VAL?"
    DEFAULTS: ClassVar[Mapping[str, str]] = {
        ":RATE": "250MS", ":NUM:FORM": "ASCII", ":NUM:NORM:NUM": "3",
        **{f":NUM:NORM:ITEM{i}": f"{word},1" for i, word in enumerate(("U", "I", "P", *["NONE"] * 7), start=1)},
        ":INP:MODE": "RMS", ":INP:CFAC": "3", ":INP:FILT:LINE": "OFF", ":INP:FILT:FREQ": "OFF",
        ":INP:VOLT:AUTO": "OFF", ":INP:VOLT:RANG": "300V", ":INP:CURR:AUTO": "OFF", ":INP:CURR:RANG": "500MA",
        ":MEAS:AVER:STAT": "OFF", ":MEAS:MHOL": "OFF",
    }  # fmt: skip

    _address: tuple[str, int] = ("127.0.0.1", 5025)

    def section(self) -> dict[str, Any]:
        return section_of("yokogawa_wt310", "TCPIP0::{}::{}::SOCKET".format(*self._address))

    def link(self) -> LabLink:
        return LabLink(self.answer)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_tcp(self.answer, self.faults, port) as self._address:
            yield "{}:{}".format(*self._address)

    def words(self) -> list[str]:
        count = int(self.settings[":NUM:NORM:NUM"])
        return [self.settings[f":NUM:NORM:ITEM{i}"].partition(",")[0] for i in range(1, count + 1)]

    def number(self, value: float) -> str:
        return "INF" if isinf(value) else "NAN" if isnan(value) else f"{value:.5E}"

    def seconds(self, rate: str) -> float:
        return RATES_S[rate]

    def written(self, value: str) -> str:
        """300V is 300.0E+00, 500MA is 500.0E-03, ON is 1."""
        words = {"ON": "1", "OFF": "0", "ASCII": "ASC"}
        if value in words:
            return words[value]
        if not value.endswith(("V", "A", "S")) or not value.rstrip("MVAS").replace(".", "").isdigit():
            return value
        amount = plain(value)
        return f"{amount:.1f}E+00" if amount >= 1 else f"{amount * 1000:.1f}E-03"
