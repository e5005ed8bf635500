"""What the sweeps found, by what was swept: means and the rate an array sustains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

BOUND_MS = 15.0
"""The response time at which the paper compares rates."""


@dataclass(frozen=True, order=True)
class Setup:
    """One point of any of the sweeps."""

    trace: str
    shape: str
    scheduler: str
    speed: float = 1.0
    cache: str | None = None
    disk: str = "seeds-002"

    @property
    def disks(self) -> int:
        return math.prod(int(part) for part in self.shape.split("x"))


@dataclass(frozen=True)
class Found:
    """What a point's summary says of it; `mean_ms` means nothing where the load is not sustained."""

    mean_ms: float
    sustained: bool
    requests: int
    rate_per_s: float
    row: Mapping[str, Any] = field(repr=False, compare=False)


class Curves:
    """All points, each once however many figures show it."""

    def __init__(self) -> None:
        self.points: dict[Setup, Found] = {}

    def add(self, setup: Setup, row: Mapping[str, Any]) -> None:
        if setup.scheduler == "rsatf" and natural(setup.shape) == "satf":
            setup = replace(setup, scheduler="satf")  # one copy per disk: the same decisions
        if row.get("requests") is not None:
            found = Found(
                row["response_mean_ms"] or math.nan, row["sustained"], row["requests"], row["rate_per_s"] or 0.0, row
            )
            self.points[setup] = found

    def mean(self, trace: str, shape: str, scheduler: str = "", **more: Any) -> float:
        """Mean response time in ms; NaN where there is none."""
        found = self.points.get(Setup(trace, shape, scheduler or natural(shape), **more))
        return found.mean_ms if found is not None and found.sustained else math.nan

    def memory_for(self, trace: str, shape: str, target_ms: float, speed: float) -> float:
        """MB of memory with which this shape comes to a mean of `target_ms`; NaN where no size that was tried does."""
        with_memory = sorted(
            (float(setup.cache.removesuffix("MB")), found.mean_ms)
            for setup, found in self.points.items()
            if setup.cache is not None and (setup.trace, setup.shape, setup.speed) == (trace, shape, speed)
        )
        sizes = [(0.0, self.mean(trace, shape, speed=speed)), *with_memory]
        for (less, slow), (more, fast) in pairwise(sizes):
            if fast <= target_ms <= slow:
                return less + (slow - target_ms) / (slow - fast) * (more - less)
        return math.nan

    def over_speed(self, trace: str, shape: str, scheduler: str) -> list[tuple[float, Found]]:
        """The points of a curve of Fig. 9 or 10, by rising speed."""
        return sorted(
            (setup.speed, found)
            for setup, found in self.points.items()
            if (setup.trace, setup.shape, setup.scheduler, setup.cache) == (trace, shape, scheduler, None)
        )

    def bracket(self, trace: str, shape: str, scheduler: str) -> tuple[float, float] | None:
        """The speeds between which the response time comes to BOUND_MS."""
        below = 0.0
        for speed, found in self.over_speed(trace, shape, scheduler):
            if not found.sustained or found.mean_ms > BOUND_MS:
                return below, speed
            below = speed
        return None

    def sustainable(self, trace: str, shape: str, scheduler: str = "") -> float:
        """The speed at BOUND_MS, on the straight line between the points around it; NaN where no point is beyond."""
        scheduler = scheduler or natural(shape)
        bracket = self.bracket(trace, shape, scheduler)
        if bracket is None:
            return math.nan
        low, high = bracket
        at = dict(self.over_speed(trace, shape, scheduler))
        if low == 0.0:
            return math.nan
        if not at[high].sustained:
            return math.sqrt(low * high)
        share = (BOUND_MS - at[low].mean_ms) / (at[high].mean_ms - at[low].mean_ms)
        return low + share * (high - low)


def natural(shape: str) -> str:
    """The scheduler the paper gives a shape: RSATF to SR-Arrays, SATF to others."""
    return "rsatf" if shape.split("x")[1] != "1" else "satf"


def unique(setups: Iterable[Setup]) -> list[Setup]:
    """Each once, in order."""
    return list(dict.fromkeys(setups))
