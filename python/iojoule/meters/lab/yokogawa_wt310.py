"""A Yokogawa WT310E: the dialogue of its communication manual (IM WT310-17EN), an update every interval."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.lines import LabLink, served_on_tcp
from iojoule.meters.lab.load import Truth

RATES_S = {"100MS": 0.1, "250MS": 0.25, "500MS": 0.5, "1S": 1.0, "2S": 2.0, "5S": 5.0}
#: Apparent power is more than the power: a supply at light load.
POWER_FACTOR = 0.6


class Wt310Front:
    """Speaks SCPI; a window's value is the mean of the truth over it."""

    ABOUT: ClassVar[str] = "Yokogawa WT310E on a LAN socket, 300 V x 0.5 A"
    WATTS: ClassVar[tuple[float, float]] = (4.0, 60.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self.truth, self.seed, self.faults = truth, seed, Faults()
        self.make = Make(rdg_pct=0.1, rng_pct=0.05, range=150.0, update_s=0.25, latency_s=0.01, phase_s=seed * 0.0137)
        self.instrument = Instrument(truth, self.make, seed)
        self.settings: dict[str, str] = {":RATE": "250MS", ":INP:VOLT:RANG": "300V", ":INP:CURR:RANG": "500MA"}
        self.condition = 0
        self._read = -1
        self._since_ns: int | None = None
        self._joules = 0.0
        self._address: tuple[str, int] | None = None

    def section(self) -> dict[str, Any]:
        host, port = self._address or ("127.0.0.1", 5025)
        return {
            "kind": "yokogawa_wt310", "resource": f"TCPIP0::{host}::{port}::SOCKET", "interval": "250ms",
            "voltage_range": 300, "current_range": 0.5,
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
        """When the meter is done with ``line``, and what it answers."""
        head, _, value = line.partition(" ")
        if line == ":COMM:WAIT 1":
            shown = self.instrument.shown(now_ns)
            return (now_ns if shown.count > self._read else self.instrument.next_update_ns(now_ns)), None
        if line == ":STAT:EESR?":
            count = self.instrument.shown(now_ns).count
            fresh, self._read = count > self._read, count
            return now_ns, "1" if fresh else "0"
        fixed = {"*IDN?": "YOKOGAWA,WT310E,C2UA12345E,F1.01", ":STAT:ERR?": '0,"No error"'}
        if line in fixed:
            return now_ns, fixed[line]
        if line == ":STAT:COND?":
            return now_ns, str(self.condition)
        if head == ":NUM:NORM:VAL?":
            words = self._values(now_ns)
            return now_ns, words[int(value) - 1] if value else ",".join(words)
        if head.startswith(":INTEG:"):
            return now_ns, self._integrate(head, now_ns)
        if head.endswith("?"):
            return now_ns, _written(self.settings.get(head[:-1], "0"))
        self.settings[head] = value
        self._set(head)
        return now_ns, None

    def _set(self, head: str) -> None:
        """A new rate or range makes another instrument of it, with the same errors in per cent."""
        volts, amps = (_plain(self.settings[f":INP:{of}:RANG"]) for of in ("VOLT", "CURR"))
        update_s = RATES_S[self.settings[":RATE"]]
        self.make = replace(self.make, range=volts * amps, update_s=update_s)
        self.instrument = Instrument(self.truth, self.make, self.seed)
        if head == ":RATE":
            self._read = -1

    def _integrate(self, head: str, now_ns: int) -> str | None:
        if head == ":INTEG:STAT?":
            return "STAR" if self._since_ns is not None else "STOP" if self._joules else "RES"
        if head == ":INTEG:STAR":
            self._since_ns = now_ns
        elif head == ":INTEG:STOP" and self._since_ns is not None:
            self._joules += self.instrument.counted(self._since_ns, now_ns)
            self._since_ns = None
        elif head == ":INTEG:RES":
            self._joules = 0.0
        return None

    def _values(self, now_ns: int) -> list[str]:
        shown = self.instrument.shown(now_ns)
        volts = self.truth.volts(shown.end_ns)
        amps = shown.value / volts / POWER_FACTOR
        values = {"U": volts, "I": amps, "P": shown.value, "LAMB": POWER_FACTOR, "IPP": 2.0 * amps}
        values["WH"] = self._joules / 3600
        items = (self.settings.get(f":NUM:NORM:ITEM{i}", "U,1").partition(",")[0] for i in range(1, 7))
        return [f"{values[item]:.5E}" for item in items]


def _plain(text: str) -> float:
    """``300V`` and ``500MA`` as numbers."""
    digits = text.rstrip("MVAS")
    return float(digits) * (1e-3 if text[len(digits) :].startswith("M") else 1.0)


def _written(value: str) -> str:
    """As the meter writes what was set: 300V is 300.0E+00, 500MA is 500.0E-03, ON is 1."""
    words = {"ON": "1", "OFF": "0", "ASCII": "ASC"}
    if value in words:
        return words[value]
    if value.endswith(("V", "A", "S")) and value.rstrip("MVAS").replace(".", "").isdigit():
        return f"{_plain(value) * 1000:.1f}E-03" if value[:-1].endswith("M") else f"{_plain(value):.1f}E+00"
    return value
