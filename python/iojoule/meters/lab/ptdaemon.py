"""A PTDaemon with a wattmeter behind it: the dialogue of ``serve.ptdaemon``, samples with physics.

The meter averages from one sample to the next. Samples come every interval, some milliseconds early or late, and are
stamped a while after their window, with a clock of local time that has an offset and a drift, cut to a millisecond.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from iojoule.meters import clock
from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.lines import served_on_tcp
from iojoule.meters.lab.load import Truth
from iojoule.meters.serve.ptdaemon import Dialogue, Taken, identity

POWER_FACTOR = 0.55
#: Ranges of the meter behind the daemon (a WT310E).
VOLTS = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
AMPERES = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
#: 13 November 2026, 00:00, as local time.
_WALL_NS = 1_794_528_000 * 10**9


class PtdaemonFront:
    """Speaks PTDaemon's lines; one measurement at a time."""

    ABOUT: ClassVar[str] = "PTDaemon with a WT310E, 300 V x 0.5 A, a sample a second"
    WATTS: ClassVar[tuple[float, float]] = (8.0, 60.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        draw = random.Random(f"ptdaemon/{seed}")
        self.truth, self.seed, self.faults = truth, seed, Faults()
        self.volts, self.amps, self.automatic = 300.0, 0.5, {"A": False, "V": False}
        self.make = Make(
            rdg_pct=0.1, rng_pct=0.05, range=150.0, resolution=0.01,
            clock_offset_s=draw.uniform(-3, 3), clock_drift_ppm=draw.uniform(-50, 50),
        )  # fmt: skip
        self.lag_ns = int(draw.uniform(0.0, 0.1) * 1e9)
        self.instrument = Instrument(truth, self.make, seed)
        self.dialogue = Dialogue(self)
        self.identity, self.interval_s = identity("Yokogawa_WT310E-C2UA12345E", 1.0), 1.0
        self._go_ns = 0
        self._address: tuple[str, int] | None = None

    def section(self) -> dict[str, Any]:
        host, port = self._address or ("127.0.0.1", 8888)
        ranges = {"voltage_range": 300, "current_range": 0.5}
        return {"kind": "ptdaemon", "address": f"{host}:{port}", "interval": "1s", "lag": "100ms", **ranges}

    def link(self) -> PtdaemonLine:
        return PtdaemonLine(self)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_tcp(self.answer, self.faults, port, b"\r\n") as self._address:
            yield "{}:{}".format(*self._address)

    def truth_channels(self) -> tuple[str, ...]:
        return ("power",)

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        if line.lower().startswith("go"):
            self._go_ns = now_ns
        ready_ns, said = self.dialogue.answer(line, now_ns)
        return ready_ns, "\r\n".join(said)

    def ranges(self) -> tuple[tuple[int, float], tuple[int, float]]:
        return (int(self.automatic["A"]), self.amps), (int(self.automatic["V"]), self.volts)

    def set_range(self, which: str, value: float | None) -> str:
        self.automatic[which] = value is None
        if value is not None:
            fits = [one for one in (VOLTS if which == "V" else AMPERES) if one >= value]
            if not fits:
                return "range too large"
            if which == "V":
                self.volts = fits[0]
            else:
                self.amps = fits[0]
            self.make = replace(self.make, range=self.volts * self.amps)
            self.instrument = Instrument(self.truth, self.make, self.seed)
        return ""

    def _edge_ns(self, count: int, interval_s: float) -> int:
        """When sample ``count`` ends: an interval after the one before, some milliseconds early or late."""
        jitter_s = random.Random(f"{self.seed}/edge/{count}").uniform(-0.01, 0.01) if count else 0.0
        return self._go_ns + int((count * interval_s + jitter_s) * 1e9)

    def samples(self, since_ns: int, now_ns: int, interval_s: float) -> list[Taken]:
        count = max(0, round((since_ns - self._go_ns) / (interval_s * 1e9)))
        found = []
        while (end_ns := self._edge_ns(count + 1, interval_s)) + self.lag_ns <= now_ns:
            found.append(self._taken(self._edge_ns(count, interval_s), end_ns, count))
            count += 1
        return found

    def _taken(self, start_ns: int, end_ns: int, count: int) -> Taken:
        watts = self.instrument.display(self.truth.joules(start_ns, end_ns) / ((end_ns - start_ns) * 1e-9), count)
        volts = self.truth.volts(end_ns)
        amps = round(watts / volts / POWER_FACTOR, 5)
        half_width = (self.make.rdg_pct * abs(watts) + self.make.rng_pct * self.make.range) / 100
        values = {"Watts": watts, "Volts": round(volts, 2), "Amps": amps, "PF": POWER_FACTOR}
        return Taken(end_ns, values, half_width / abs(watts) if watts else float("nan"))

    def ready_ns(self, now_ns: int, interval_s: float) -> int:
        count = max(0, int((now_ns - self.lag_ns - self._go_ns) / (interval_s * 1e9)) - 1)
        while (at_ns := self._edge_ns(count, interval_s) + self.lag_ns) <= now_ns:
            count += 1
        return at_ns

    def wall_ns(self, at_ns: int) -> int:
        """What is written for a window that ended at ``at_ns``: the daemon's clock, a lag later."""
        return _WALL_NS + self.instrument.clock_ns(at_ns + self.lag_ns)


class PtdaemonLine:
    """A ``Line`` straight to the front, on the clock in use."""

    def __init__(self, front: PtdaemonFront) -> None:
        self._front, self._answers = front, list[tuple[int, bytes]]()
        self._draw = random.Random(f"way/{front.seed}")

    def send(self, line: bytes) -> None:
        clock.sleep(self._draw.uniform(0.0002, 0.001))
        ready_ns, said = self._front.answer(line.decode().strip(), clock.now_ns())
        way_ns = int(self._draw.uniform(0.0002, 0.001) * 1e9)
        self._answers += [(ready_ns + way_ns, one.encode()) for one in (said or "").split("\r\n")]

    def line(self, until_ns: int) -> bytes | None:
        if not self._answers or self._answers[0][0] > until_ns:
            clock.sleep_until(until_ns)
            return None
        at_ns, said = self._answers.pop(0)
        clock.sleep_until(at_ns)
        return said

    def unasked(self) -> bytes:
        return b"".join(said for at_ns, said in self._answers if at_ns <= clock.now_ns())

    def close(self) -> None:
        self._answers.clear()
