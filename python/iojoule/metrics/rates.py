"""Rates over time: requests (connections) per second, throughput, concurrent connections, in equal intervals.

A request counts in the interval in which it was done. Concurrency is the time-weighted number of requests between issue
and end, beside its maximum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .latency import codes, column, succeeded
from .metric import Span
from .power import INTERVAL_S, PowerOverTime, edges

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

COLUMNS = ("planned_ns", "issued_ns", "first_byte_ns", "done_ns", "bytes", "error", "phase")
"""The columns of `requests` that this room reads."""


@dataclass(frozen=True, slots=True)
class RatesOverTime:
    """Means over `[t_s, t_s + interval_s)` after the origin."""

    interval_s: float
    t_s: Floats
    requests_per_s: Floats
    errors_per_s: Floats
    mb_per_s: Floats
    in_flight: Floats
    in_flight_max: Floats


def in_phase(requests: pa.Table, phase: str) -> pa.Table:
    """The rows of one phase; the table itself where it holds no other, since a long run is worth not copying."""
    inside = codes(requests["phase"], (phase,)) == 0
    return requests if inside.all() else requests.filter(pa.array(inside))


def was_issued(requests: pa.Table) -> npt.NDArray[np.bool_]:
    """False for requests dropped at the cap on open connections: they never reached the target."""
    return np.not_equal(codes(requests["error"], ("dropped",)), 0)


def concurrency(issued: Ints, done: Ints, at_ns: Ints) -> tuple[Floats, Floats]:
    """Mean and maximum number of requests in flight between neighbouring instants `at_ns`."""
    starts, ends = _ascending(issued), _ascending(np.maximum(done, issued))
    width = np.diff(at_ns).astype(np.float64)
    mean = np.diff(_since(starts, at_ns) - _since(ends, at_ns))
    mean = np.divide(mean, width, out=np.zeros_like(mean), where=width > 0)
    # The number in flight is greatest just after a start; what ends at that instant has gone. Two sorted columns need
    # no merge: each start is counted against the ends up to it.
    level = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="right")
    begun, ended = np.searchsorted(starts, at_ns, side="left"), np.searchsorted(ends, at_ns, side="left")
    greatest = np.zeros(len(width))
    for k in range(len(width)):
        within = level[begun[k] : begun[k + 1]]
        greatest[k] = max(int(begun[k] - ended[k]), int(within.max()) if len(within) else 0)
    return mean, greatest


def _ascending(instants: Ints) -> Ints:
    """In order of time. Records are written as they are done, so that most long columns are in order already."""
    return instants if bool(np.all(instants[:-1] <= instants[1:])) else np.sort(instants)


def _since(instants: Ints, at_ns: Ints) -> Floats:
    """Σ (t − instant) over the sorted instants before each t: the integral of a counting function."""
    if not len(instants):
        return np.zeros(len(at_ns))
    origin = int(instants[0])
    running = np.concatenate(([0.0], np.cumsum((instants - origin).astype(np.float64))))
    count = np.searchsorted(instants, at_ns, side="right")
    return np.asarray(count * (at_ns - origin).astype(np.float64) - running[count], dtype=np.float64)


def rates_over_time(requests: pa.Table, span: Span, interval_s: float = INTERVAL_S) -> RatesOverTime:
    """Rates of every request of the table inside `span`, whatever its phase."""
    at = edges(span.start_ns, span.end_ns, interval_s)
    done = column(requests, "done_ns")
    fine = succeeded(requests)
    size = np.asarray(requests["bytes"].to_numpy(), dtype=np.float64)
    at_ns = span.start_ns + np.round(at * 1e9).astype(np.int64)
    width = np.diff(at)
    # Not np.histogram: the edges are few and the instants many.
    slot = np.searchsorted(at_ns, done, side="right") - 1
    valid = (slot >= 0) & (slot < len(width))

    def per_second(mask: npt.NDArray[np.bool_], weights: Floats | None = None) -> Floats:
        chosen = mask & valid
        counted = np.bincount(
            slot[chosen], weights=None if weights is None else weights[chosen], minlength=len(width)
        ).astype(np.float64)
        return np.divide(counted, width, out=np.zeros_like(counted), where=width > 0)

    issued_mask = was_issued(requests)
    mean, greatest = concurrency(column(requests, "issued_ns")[issued_mask], done[issued_mask], at_ns)
    return RatesOverTime(
        interval_s,
        at[:-1],
        per_second(fine),
        per_second(~fine),
        per_second(np.ones_like(fine), size) / 1e6,
        mean,
        greatest,
    )


def intervals_table(requests: pa.Table, span: Span, power: PowerOverTime | None = None) -> pa.Table:
    """The table `intervals`: one row per second of the run. Watts are null where nothing was read.

    p50 and p99 are of the completion time from planned, of successful requests done in that second.
    """
    rates = rates_over_time(requests, span, 1.0)
    n = len(rates.t_s)
    keep = succeeded(requests)
    done = column(requests, "done_ns")[keep]
    took = (done - column(requests, "planned_ns")[keep]) / 1e6
    slot = (done - span.start_ns) // 1_000_000_000
    order = np.lexsort((took, slot))
    slot, took = slot[order], took[order]
    first, last = np.searchsorted(slot, np.arange(n)), np.searchsorted(slot, np.arange(n), side="right")
    count = last - first

    def quantile(q: float) -> pa.Array:
        rank = np.clip(first + np.ceil(q * count).astype(np.int64) - 1, 0, max(len(took) - 1, 0))
        picked = took[rank] if len(took) else np.zeros(n)
        return pa.array(picked, type=pa.float64(), mask=count == 0)

    watts = np.full(n, np.nan)
    if power is not None:
        watts[: min(n, len(power.watts))] = power.watts[:n]
    width = np.diff(np.append(rates.t_s, span.seconds))
    columns = {
        "t_s": pa.array(rates.t_s),
        "requests": pa.array(np.round(rates.requests_per_s * width).astype(np.int64)),
        "errors": pa.array(np.round(rates.errors_per_s * width).astype(np.int64)),
        "bytes": pa.array(np.round(rates.mb_per_s * 1e6 * width).astype(np.int64)),
        "p50_ms": quantile(0.5),
        "p99_ms": quantile(0.99),
        "in_flight": pa.array(rates.in_flight),
        "watts": pa.array(watts, mask=~np.isfinite(watts)),
    }
    return pa.table(columns)
