"""What a run's tables say of the day: power over time, the clients' latencies, the drives' spin-ups."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq
from day import Window

Floats = npt.NDArray[np.float64]

INTERVAL_S = 15.0
"""Interval of the thesis' power series (Oldham, 2005, section 6.2)."""


@dataclass(frozen=True)
class Run:
    """One personality over the day. Times are of the requests for a file that arrived in it, sorted."""

    name: str
    mean_w: float
    course_s: Floats
    course_w: Floats
    latency_ms: Floats
    completion_ms: Floats
    spin_ups_per_drive_day: float
    busy: float
    oracle_ratio: float | None
    summary: dict[str, Any]


Runs = dict[str, Run]


def of(name: str, folder: Path, summary: dict[str, Any], day: Window) -> Run:
    at, watts = power(folder, day)
    latency, completion = times(folder, day)
    drive_days = len(summary["drives"]) * summary["simulated_s"] / 86_400
    oracle = summary["oracle"]
    return Run(
        name,
        float(np.mean(watts)),
        at,
        watts,
        latency,
        completion,
        summary["spinups"] / drive_days,
        float(np.mean([drive["busy"] for drive in summary["drives"]])),
        None if oracle is None else oracle["ratio"],
        summary,
    )


def power(folder: Path, day: Window) -> tuple[Floats, Floats]:
    """Power of all drives in equal intervals of the day, exact: the energy of each interval over its length."""
    spans = pq.read_table(folder / "tables" / "states.parquet", columns=["start_ns", "end_ns", "watts"])
    start, end, watts = (np.asarray(spans[name], dtype=np.float64) for name in ("start_ns", "end_ns", "watts"))
    count = max(round((day.end_ns - day.start_ns) / 1e9 / INTERVAL_S), 1)
    edges = np.linspace(day.start_ns, day.end_ns, count + 1)
    # Energy up to each edge: spans that have ended whole, those under way in part.
    joules = np.array([np.sum(watts * np.clip(edge - start, 0.0, end - start)) for edge in edges]) / 1e9
    return (edges[:-1] - day.start_ns) / 1e9, np.diff(joules) / (np.diff(edges) / 1e9)


def times(folder: Path, day: Window) -> tuple[Floats, Floats]:
    """Latency and completion time in ms of the requests that arrived within the day, each sorted."""
    table = pq.read_table(folder / "tables" / "web.parquet", columns=["planned_ns", "first_byte_ns", "done_ns"])
    arrived = table["planned_ns"]
    inside = pc.and_(pc.greater_equal(arrived, day.start_ns), pc.less(arrived, day.end_ns))
    table = table.filter(inside)
    planned, first, done = (
        np.asarray(table[name], dtype=np.int64) for name in ("planned_ns", "first_byte_ns", "done_ns")
    )
    return np.sort((first - planned) / 1e6), np.sort((done - planned) / 1e6)


def above(times_ms: Floats, bound_ms: float) -> float:
    """Share of the times above a bound."""
    return float(np.mean(times_ms > bound_ms))


def saving(run: Run, base: Run) -> float:
    """Share of the base's power that the run does without."""
    return 1.0 - run.mean_w / base.mean_w


def savings_over_time(run: Run, base: Run) -> Floats:
    return 1.0 - run.course_w / base.course_w
