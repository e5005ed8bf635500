"""The meters' side of a step: started, awaited, kept, closed. What they said of themselves, of their clocks and of
their ranges stands in the run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from iojoule.errors import HostError
from iojoule.meters.base import ClockProbe, Reading
from iojoule.meters.config import MeterConfig
from iojoule.meters.supervisor import MeterSet
from iojoule.store.schema import READINGS
from iojoule.store.writer import RunWriter

START_S = 20.0
"""How long the first good reading of every meter is awaited."""

_COLUMNS = [name for name in READINGS.names if name not in ("meter", "quality")]
_values = attrgetter(*_COLUMNS)


class Metering:
    """The meters of one step. Readings come on a thread of their own: ``lock`` guards the writer of the run.

    ``show`` is told what the live view should say; ``advice`` is what to do about an overload, None where ranges are
    being looked for and overloads are a part of that.
    """

    def __init__(
        self, configs: Sequence[MeterConfig], run: RunWriter, show: Callable[[str], None], advice: str | None
    ) -> None:
        self.configs, self.run, self.lock = configs, run, threading.Lock()
        self._show, self._advice = show, advice
        self._overloaded: set[tuple[str, str]] = set()
        #: Greatest |value| by meter and channel, while ranges are being looked for.
        self.peaks: dict[str, dict[str, float]] = {config.name: {} for config in configs}
        self._meters = MeterSet(configs, run.path / "raw", self._keep, self._note, on_probe=self._probe)
        self.latest, self.describe, self.pids = self._meters.latest, self._meters.descriptions, self._meters.pids

    @property
    def failure(self) -> Exception | None:
        """What keeping a reading or an event raised first."""
        return self._meters.failure

    @property
    def longest_s(self) -> float:
        """Seconds until a window that is open now is surely delivered."""
        latency_s = {
            one["name"]: max((channel.get("latency_s", 0.0) for channel in one["channels"]), default=0.0)
            for one in self._meters.descriptions()
        }
        return max((2 * one.interval + latency_s.get(one.name, 0.0) for one in self.configs), default=0.0)

    def begin(self) -> None:
        """Start every meter and await its first good reading; HostError where one has none."""
        self._meters.start()
        missing = self._meters.wait_first_good(START_S)
        self.run.manifest["meters"] = self._meters.descriptions()
        self.run.save()
        if missing:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
            raise HostError(
                f"no good reading to begin with: {reasons}",
                missing=next(iter(missing)),
                remedy="look at raw/<meter>.log in the run folder, or take the meter out of the experiment",
            )

    def close(self) -> None:
        """End every meter; its own integral and the state of its clock go to the manifest."""
        finals = self._meters.close()
        if finals:
            self.run.manifest["meter_finals"] = finals
        if clocks := self._meters.clocks():
            self.run.manifest["meter_clocks"] = clocks
        for meter, text in self._meters.clock_warnings():
            self._note(meter, "warning", text)

    def _keep(self, meter: str, readings: Sequence[Reading]) -> None:
        peaks = self.peaks[meter]
        for reading in readings:
            if not self._advice and reading.good:
                peaks[reading.channel] = max(abs(reading.value), peaks.get(reading.channel, 0.0))
            if self._advice and "overload" in reading.quality and (meter, reading.channel) not in self._overloaded:
                self._overloaded.add((meter, reading.channel))
                text = f"{reading.channel} was overloaded, and a phase with an overload has no energy: {self._advice}"
                self._note(meter, "warning", text)
        with self.lock:
            self.run.readings([_row(meter, reading) for reading in readings])

    def _note(self, meter: str, kind: str, text: str) -> None:
        self._show(f"{meter}: {text}")
        with self.lock:
            self.run.event(f"meter_{kind}", meter=meter, text=text)

    def _probe(self, meter: str, probe: ClockProbe) -> None:
        stamps = {"sent_ns": probe.sent_ns, "meter_ns": probe.meter_ns, "received_ns": probe.received_ns}
        with self.lock:
            self.run.event("clock_probe", meter=meter, **stamps)


def _row(meter: str, reading: Reading) -> dict[str, Any]:
    return {"meter": meter, **dict(zip(_COLUMNS, _values(reading), strict=True)), "quality": reading.flags}
