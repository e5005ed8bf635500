"""The last reading of every channel, and what adds up: joules, covered seconds, readings, readings that are none.

A window mean counts over its own window, a counter by its steps, an instant until the next one by a trapezoid. What is
not a measurement adds nothing and is counted apart, as is energy that flows back: a total never goes down.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from iojoule.meters.base import Rail, Reading

#: What a channel that is a rail has besides its entry in a meter's description.
RAIL = {"quantity": "power", "unit": "W", "boundary": "dc_rail", "kind": "instant"}


@dataclass
class Total:
    """Of one channel since the start: ``joules`` used and ``returned``; ``u_joules`` is systematic, so it adds up."""

    meter: str
    described: dict[str, Any]
    last: Reading | None = None
    joules: float = 0.0
    returned: float = 0.0
    u_joules: float = 0.0
    covered_s: float = 0.0
    readings: int = 0
    invalid: int = 0
    flagged: dict[str, int] = field(default_factory=dict)

    @property
    def has_energy(self) -> bool:
        return self.described["unit"] in ("W", "J")

    def take(self, reading: Reading) -> None:
        before, self.last = self.last, reading
        self.readings += 1
        for flag in reading.quality:
            self.flagged[flag] = self.flagged.get(flag, 0) + 1
        if not reading.good:
            self.invalid += 1
            return
        if not self.has_energy or "stale" in reading.quality:
            return
        seconds, joules, u = _energy(reading, before)
        self.covered_s += seconds
        self.joules += max(0.0, joules)
        self.returned += max(0.0, -joules)
        self.u_joules += u

    @property
    def labels(self) -> dict[str, str]:
        """What tells this channel from others; power without its boundary is no number."""
        described = self.described
        named = {"meter": self.meter, "channel": str(described["id"]), "boundary": str(described["boundary"])}
        return named | {"role": str(described.get("role") or ""), "drive": str(described.get("drive") or "")}


def _energy(reading: Reading, before: Reading | None) -> tuple[float, float, float]:
    """(seconds, joules, their systematic uncertainty) a reading adds."""
    seconds = (reading.end_ns - reading.start_ns) * 1e-9
    if reading.unit == "J":
        return seconds, reading.value, reading.u_value
    if seconds > 0:
        return seconds, reading.value * seconds, reading.u_value * seconds
    if before is None or not before.good or "gap_before" in reading.quality:
        return 0.0, 0.0, 0.0
    seconds = (reading.end_ns - before.end_ns) * 1e-9
    return seconds, (reading.value + before.value) / 2 * seconds, (reading.u_value + before.u_value) / 2 * seconds


class Tally:
    """The totals of all channels; fed by a meter set, read by an exporter in another thread."""

    def __init__(self, descriptions: Callable[[], Sequence[dict[str, Any]]]) -> None:
        self._descriptions = descriptions
        self._totals: dict[tuple[str, str], Total] = {}
        self._volts: dict[tuple[str, str], Reading] = {}
        self._lost: dict[str, str] = {}
        self._lock = threading.Lock()

    def take(self, meter: str, readings: list[Reading]) -> None:
        with self._lock:
            self._lost.pop(meter, None)
            for reading in [*readings, *self._of_rails(meter, readings)]:
                key = (meter, reading.channel)
                if key not in self._totals:
                    self._totals[key] = Total(meter, self._described(meter, reading))
                self._totals[key].take(reading)

    def _of_rails(self, meter: str, readings: list[Reading]) -> Iterator[Reading]:
        """Power of a rail at each sample of its shunt, with the last voltage before it; its u is not known."""
        for document in self._descriptions():
            for rail in map(Rail.of, document.get("rails", ()) if document["name"] == meter else ()):
                for r in readings:
                    if r.channel == rail.voltage:
                        self._volts[meter, rail.id] = r
                    elif r.channel == rail.shunt and (volts := self._volts.get((meter, rail.id))):
                        watts, flags = rail.watts(volts.value, r.value), r.quality | volts.quality
                        yield Reading(rail.id, "power", "W", r.start_ns, r.end_ns, r.u_time_ns, watts, math.nan, flags)

    def _described(self, meter: str, reading: Reading) -> dict[str, Any]:
        for document in self._descriptions():
            rails = [one | RAIL for one in document.get("rails", ())]
            for channel in [*document["channels"], *rails]:
                if document["name"] == meter and channel["id"] == reading.channel:
                    return dict(channel)
        return {"id": reading.channel, "quantity": reading.quantity, "unit": reading.unit, "boundary": "", "kind": ""}

    def event(self, meter: str, kind: str, text: str) -> None:
        with self._lock:
            if kind in ("lost", "fatal"):
                self._lost[meter] = text

    def totals(self) -> list[Total]:
        """A copy, in the order of appearance."""
        with self._lock:
            return [Total(**{**vars(one), "flagged": dict(one.flagged)}) for one in self._totals.values()]

    def up(self) -> dict[str, bool]:
        """Whether each meter gives readings."""
        with self._lock:
            return {str(document["name"]): document["name"] not in self._lost for document in self._descriptions()}


def known(number: float) -> bool:
    """Whether there is a number at all: an unknown uncertainty is left out, never zero."""
    return math.isfinite(number)
