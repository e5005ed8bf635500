"""Latency and completion time: percentiles, distributions and their envelope over repeats.

Both are given from when a request was *planned* and from when it was *issued*. Only the first shows what waited because
the client was late (coordinated omission; Tene, "How NOT to measure latency"). Latency ends at the first byte of the
answer, completion at the last (Oldham 2005, section 4.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POINTS = 400
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
MEASURES = {"latency": "first_byte_ns", "completion": "done_ns"}
ORIGINS = {"planned": "planned_ns", "issued": "issued_ns"}


@dataclass(frozen=True, slots=True)
class Cdf:
    """Share of *all* requests answered within `ms`: a run with errors ends below 1. Log-spaced, ≤ 400 points."""

    ms: Floats
    share: Floats


@dataclass(frozen=True, slots=True)
class Envelope:
    """Least, middle and greatest share over repeats at common times."""

    ms: Floats
    low: Floats
    median: Floats
    high: Floats
    repeats: int


def succeeded(requests: pa.Table) -> npt.NDArray[np.bool_]:
    """True where the error class is empty."""
    return np.equal(codes(requests["error"], ("",)), 0)


def codes(column: pa.ChunkedArray, names: Sequence[str]) -> npt.NDArray[np.int8]:
    """Position in `names` of each value of a text or dictionary column, −1 for others, without making text of it.

    One byte a row: a block run has tens of millions of them. `names` has fewer than 127.
    """
    parts = []
    for chunk in column.chunks:
        if not pa.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        text = [str(value) for value in chunk.dictionary.to_pylist()]
        table = np.array([names.index(value) if value in names else -1 for value in text] + [-1], dtype=np.int8)
        parts.append(table[chunk.indices.fill_null(len(text)).to_numpy(zero_copy_only=False)])
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int8)


def column(requests: pa.Table, name: str) -> Ints:
    """A time column as int64 nanoseconds; null becomes the least int64."""
    data = requests[name]
    if data.null_count:
        data = data.fill_null(np.iinfo(np.int64).min)
    return np.asarray(data.to_numpy(), dtype=np.int64)


def times_ms(requests: pa.Table, measure: str, origin: str) -> Floats:
    """`measure` ("latency", "completion") from `origin` ("planned", "issued") of each successful request, in ms."""
    ended = column(requests, MEASURES[measure])
    keep = succeeded(requests) & (ended != np.iinfo(np.int64).min)
    return np.asarray((ended[keep] - column(requests, ORIGINS[origin])[keep]) / 1e6, dtype=np.float64)


def percentiles(values: Floats) -> dict[str, float]:
    """min, mean, the QUANTILES and max. Empty for no values. Quantiles are values that occurred, never interpolated."""
    if not len(values):
        return {}
    ranks = {name: min(len(values) - 1, max(0, int(np.ceil(q * len(values))) - 1)) for name, q in QUANTILES.items()}
    ordered = np.partition(values, sorted(set(ranks.values()) | {0, len(values) - 1}))
    return (
        {"min": float(ordered[0]), "mean": float(values.mean())}
        | {name: float(ordered[rank]) for name, rank in ranks.items()}
        | {"max": float(ordered[-1])}
    )


def grid(low_ms: float, high_ms: float, points: int = POINTS) -> Floats:
    """Log-spaced times that hold both ends."""
    low = max(low_ms, 1e-6)
    return np.geomspace(low, max(high_ms, low * 1.000001), points)


def cdf(values: Floats, of_all: int | None = None, at: Floats | None = None) -> Cdf:
    """Distribution of `values` at log-spaced times. `of_all` counts the failed requests too."""
    total = len(values) if of_all is None else of_all
    if not len(values) or not total:
        return Cdf(np.empty(0), np.empty(0))
    ordered = np.sort(values)
    ms = grid(float(ordered[0]), float(ordered[-1])) if at is None else at
    # The last time of the grid may fall below the largest value by rounding; it stands for it.
    limit = ms * (1 + 1e-12)
    return Cdf(ms, np.searchsorted(ordered, limit, side="right") / total)


def envelope(of: Sequence[Cdf]) -> Envelope:
    """Min–max envelope over repeats, each read as a step function at common times."""
    known = [one for one in of if len(one.ms)]
    if not known:
        return Envelope(np.empty(0), np.empty(0), np.empty(0), np.empty(0), 0)
    ms = grid(min(float(one.ms[0]) for one in known), max(float(one.ms[-1]) for one in known))
    shares = []
    for one in known:
        position = np.searchsorted(one.ms, ms * (1 + 1e-12), side="right")
        shares.append(np.concatenate(([0.0], one.share))[position])
    stack = np.vstack(shares)
    return Envelope(ms, stack.min(axis=0), np.median(stack, axis=0), stack.max(axis=0), len(known))
