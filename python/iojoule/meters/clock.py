"""The host's clock as meters see it, and how a meter's own clock is mapped to it.

A laboratory may put a simulated clock in the place of the host's (``use``), so that an hour of readings takes a second.
A meter's clock is read between two stamps of the host's; the probe with the shortest way bounds its offset best
(Cristian, Distributed Computing 3, 1989), and repeated probes give the drift.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from iojoule.meters.base import ClockProbe


class Clock(Protocol):
    def now_ns(self) -> int: ...
    def sleep_until(self, at_ns: int) -> None: ...


class HostClock:
    """``CLOCK_MONOTONIC``."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def sleep_until(self, at_ns: int) -> None:
        if (rest_ns := at_ns - time.monotonic_ns()) > 0:
            time.sleep(rest_ns * 1e-9)


class SimClock:
    """Time that passes only when somebody sleeps. ``on_advance`` is called after each step, with the new time."""

    def __init__(self, start_ns: int = 10**12) -> None:
        self._now_ns = start_ns
        self.on_advance: list[Callable[[int], None]] = []

    def now_ns(self) -> int:
        return self._now_ns

    def sleep_until(self, at_ns: int) -> None:
        if at_ns > self._now_ns:
            self._now_ns = at_ns
            for call in self.on_advance:
                call(at_ns)


_clock: Clock = HostClock()


def simulated() -> SimClock | None:
    """The simulated clock, while one is in use: what moves by itself on a real one must be told of its steps."""
    return _clock if isinstance(_clock, SimClock) else None


def now_ns() -> int:
    """Nanoseconds of the clock in use: the host's ``CLOCK_MONOTONIC`` unless a laboratory replaced it."""
    return _clock.now_ns()


def sleep_until(at_ns: int) -> None:
    """Wait until ``now_ns`` is at least ``at_ns``."""
    _clock.sleep_until(at_ns)


def sleep(seconds: float) -> None:
    """Wait ``seconds``."""
    _clock.sleep_until(_clock.now_ns() + int(seconds * 1e9))


@contextmanager
def use(clock: Clock) -> Iterator[Clock]:
    """Let every driver of this process read ``clock`` while the block lasts."""
    global _clock
    before, _clock = _clock, clock
    try:
        yield clock
    finally:
        _clock = before


def best(probes: Sequence[ClockProbe]) -> int:
    """Index of the probe with the shortest round trip, the earliest of equals; ValueError without probes."""
    if not probes:
        raise ValueError("no clock probe")
    return min(range(len(probes)), key=lambda i: probes[i].received_ns - probes[i].sent_ns)


def offset_ns(probe: ClockProbe) -> tuple[float, float]:
    """``(meter − host, bound)``: the meter was read somewhere between the two stamps, so at ± half the way."""
    return probe.meter_ns - (probe.sent_ns + probe.received_ns) / 2, (probe.received_ns - probe.sent_ns) / 2


class ClockMap:
    """Host time of a meter's stamps, from every probe so far: offset and drift by least squares, weighted by the way.

    ``resolution_ns`` is the step of the meter's clock. Until two probes lie ``DRIFT_AFTER_NS`` apart, drift is taken as
    unknown within ``DRIFT_PPM`` and counted as uncertainty.
    """

    DRIFT_AFTER_NS = 5 * 10**9
    DRIFT_PPM = 100.0
    KEEP = 256

    def __init__(self, resolution_ns: float = 0.0) -> None:
        self.resolution_ns = resolution_ns
        self.probes: list[ClockProbe] = []
        self._at_ns = self._offset_ns = self._drift = self._u_offset_ns = self._u_drift = 0.0

    def add(self, probe: ClockProbe) -> ClockProbe:
        """Take one more probe; returns it, with the step of the meter's clock."""
        probe = replace(probe, resolution_ns=int(self.resolution_ns))
        # The shortest ways tell most; the newest tell of drift.
        self.probes.append(probe)
        if len(self.probes) > self.KEEP:
            longest = max(range(1, len(self.probes) - 16), key=lambda i: _way_ns(self.probes[i]))
            del self.probes[longest]
        self._fit()
        return probe

    def host_ns(self, meter_ns: int) -> tuple[int, int]:
        """``(host time, its standard uncertainty)`` of a stamp of the meter's; ValueError before the first probe."""
        if not self.probes:
            raise ValueError("no clock probe")
        # Solved for the host time h: meter = h + offset + drift·(h − at). Taken apart so that no precision is lost.
        far_ns = (meter_ns - int(self._at_ns)) - self._offset_ns
        since_ns = far_ns / (1 + self._drift)
        u_ns = math.hypot(self._u_offset_ns, self._u_drift * since_ns, self.resolution_ns / math.sqrt(12))
        return int(self._at_ns) + round(since_ns), math.ceil(u_ns)

    def describe(self) -> dict[str, float | int]:
        """The fit, for the manifest."""
        return {
            "probes": len(self.probes),
            "offset_s": self._offset_ns * 1e-9,
            "at_ns": int(self._at_ns),
            "drift_ppm": self._drift * 1e6,
            "u_offset_s": self._u_offset_ns * 1e-9,
            "u_drift_ppm": self._u_drift * 1e6,
            "bound_s": offset_ns(self.probes[best(self.probes)])[1] * 1e-9 if self.probes else math.nan,
        }

    def _fit(self) -> None:
        one = self.probes[best(self.probes)]
        at = (one.sent_ns + one.received_ns) // 2
        shortest = offset_ns(one)[1]
        # A read of a clock with a step is late by up to one step, by half a step on average.
        late = self.resolution_ns / 2
        points = [((p.sent_ns + p.received_ns) // 2 - at, p.meter_ns - (p.sent_ns + p.received_ns) // 2 + late,
                   max(offset_ns(p)[1], 1.0) + self.resolution_ns / 2) for p in self.probes]  # fmt: skip
        span = max(x for x, _, _ in points) - min(x for x, _, _ in points)
        self._at_ns = at
        if span < self.DRIFT_AFTER_NS or len(points) < 3:
            self._offset_ns = offset_ns(one)[0] + late
            self._u_offset_ns = shortest / math.sqrt(3)
            self._drift, self._u_drift = 0.0, self.DRIFT_PPM * 1e-6 / math.sqrt(3)
            return
        base = points[0][1]
        weights = [1 / w**2 for _, _, w in points]
        total = sum(weights)
        mean_x = sum(w * x for w, (x, _, _) in zip(weights, points, strict=True)) / total
        mean_y = sum(w * (y - base) for w, (_, y, _) in zip(weights, points, strict=True)) / total
        sxx = sum(w * (x - mean_x) ** 2 for w, (x, _, _) in zip(weights, points, strict=True))
        sxy = sum(w * (x - mean_x) * (y - base - mean_y) for w, (x, y, _) in zip(weights, points, strict=True))
        self._drift, self._u_drift = sxy / sxx, 1 / math.sqrt(3 * sxx)
        # Probes as regular as the steps may see all of them from one side: one step more then looks like a drift. As
        # long as that could be more than any clock's drift, nothing is known of it.
        lever = sum(w * abs(x - mean_x) for w, (x, _, _) in zip(weights, points, strict=True)) / sxx
        if late * lever > self.DRIFT_PPM * 1e-6:
            self._drift, self._u_drift = 0.0, self.DRIFT_PPM * 1e-6 / math.sqrt(3)
        self._offset_ns = base + mean_y - self._drift * mean_x
        # What is asymmetric about the way is the same every time and does not average away.
        self._u_offset_ns = shortest / math.sqrt(3)


def _way_ns(probe: ClockProbe) -> int:
    return probe.received_ns - probe.sent_ns
