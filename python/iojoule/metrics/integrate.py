"""From readings to joules: the three integrations of meters and the rules they must keep.

Averaging meters are held over their own window, never joined by a trapezoid, because a reading is already an integral.
Instants are joined by a trapezoid. Counters are differenced and interpolated only at the two ends. Times are seconds,
powers watts; nothing is filled, and no value is left out for being zero or negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

GAP_FACTOR = 1.5
"""Readings further apart than this many usual intervals have a gap between them."""


@dataclass(frozen=True, slots=True)
class Interior:
    n: int
    mean_w: float
    energy_j: float
    span_s: float
    """Length of the windows that counted."""


def overlaps(start: Floats, end: Floats, t0: float, t1: float) -> Floats:
    """Seconds each window shares with `[t0, t1]`."""
    return np.asarray(np.clip(np.minimum(end, t1) - np.maximum(start, t0), 0.0, None), dtype=np.float64)


def covered(start: Floats, end: Floats, t0: float, t1: float) -> float:
    """Seconds of `[t0, t1]` that at least one window covers, overlaps counted once; sorted by start."""
    if not len(start):
        return 0.0
    reached = np.concatenate(([-np.inf], np.maximum.accumulate(end)[:-1]))
    return float(overlaps(np.maximum(start, reached), end, t0, t1).sum())


def holes(start: Floats, end: Floats, t0: float, t1: float) -> float:
    """Seconds of `[t0, t1]` in gaps between windows: holes of more than half a usual interval, and what lies before the
    first window or after the last. Smaller holes are the grain of the stamps."""
    if not len(start):
        return t1 - t0
    reached = np.maximum.accumulate(end)
    wide = start[1:] - reached[:-1] > (GAP_FACTOR - 1) * usual_interval(start)
    between = float(overlaps(reached[:-1][wide], start[1:][wide], t0, t1).sum())
    return between + max(0.0, min(float(start[0]), t1) - t0) + max(0.0, t1 - max(float(reached[-1]), t0))


def interior(start: Floats, end: Floats, watts: Floats, t0: float, t1: float, guard: float = 0.0) -> Interior | None:
    """Mean of the windows wholly inside the phase, weighted by length, times the phase. For a steady load."""
    inside = (start >= t0 + guard) & (end <= t1 - guard)
    length = (end - start)[inside]
    total = float(length.sum())
    if total <= 0.0:
        return None
    mean = float(watts[inside] @ length) / total
    return Interior(int(inside.sum()), mean, mean * (t1 - t0), total)


def overlap_weighted(start: Floats, end: Floats, watts: Floats, t0: float, t1: float) -> float:
    """Sum of value times overlap: for pictures, where each bin shares its edge windows with its neighbours."""
    return float(watts @ overlaps(start, end, t0, t1))


def usual_interval(times: Floats) -> float:
    """Median distance of the first 20 readings; 0 where there are fewer than two."""
    return float(np.median(np.diff(times[:21]))) if len(times) > 1 else 0.0


def envelope(
    start: Floats, end: Floats, watts: Floats, t0: float, t1: float, guard: float, idle_w: float
) -> float | None:
    """Every window that touches the phase widened by `guard`, less idle outside the phase. For a burst.

    The pause of a meter between two windows counts at the mean of the two. None when the windows have a gap, overlap
    each other (moving means) or do not reach over both ends.
    """
    near = (start < t1 + guard) & (end > t0 - guard)
    s, e, w = start[near], end[near], watts[near]
    if not len(s) or s[0] > t0 or e[-1] < t1:
        return None
    pause = s[1:] - e[:-1]
    if len(s) > 1 and float(np.max(np.abs(pause))) > (GAP_FACTOR - 1) * usual_interval(s):
        return None
    joules = float(w @ (e - s)) + float((w[1:] + w[:-1]) / 2 @ pause)
    return joules - idle_w * (float(e[-1] - s[0]) - (t1 - t0))


def trapezoid(times: Floats, watts: Floats, t0: float, t1: float) -> float | None:
    """Straight lines between samples, interpolated at both ends; None when samples do not bracket the phase.

    No line crosses a gap: its seconds count at the mean of the others.
    """
    if not len(times) or times[0] > t0 or times[-1] < t1:
        return None
    inside = (times > t0) & (times < t1)
    at = np.concatenate(([t0], times[inside], [t1]))
    value = np.interp(at, times, watts)
    missing = gaps_between(times, t0, t1)
    if not 0.0 < missing < t1 - t0:
        return float(np.trapezoid(value, at))
    wide = np.diff(times)[(np.searchsorted(times, at[:-1], side="right") - 1).clip(0, len(times) - 2)]
    joined = wide <= GAP_FACTOR * usual_interval(times)
    joules = float((np.diff(at) * (value[1:] + value[:-1]) / 2)[joined].sum())
    return joules * (t1 - t0) / (t1 - t0 - missing)


def gaps_between(times: Floats, t0: float, t1: float) -> float:
    """Seconds of the phase that lie between instants further apart than GAP_FACTOR usual intervals, or outside them."""
    if not len(times):
        return t1 - t0
    limit = GAP_FACTOR * usual_interval(times)
    wide = np.diff(times) > limit
    missing = float(overlaps(times[:-1][wide], times[1:][wide], t0, t1).sum())
    outside = max(0.0, min(float(times[0]), t1) - t0) + max(0.0, t1 - max(float(times[-1]), t0))
    return missing + outside


def counter(start: Floats, end: Floats, joules: Floats, t0: float, t1: float) -> float | None:
    """Counter steps (wrap already undone) between the readings that bracket the phase, linear within the end steps.

    None when the steps do not reach over both ends.
    """
    if not len(start) or start[0] > t0 or end[-1] < t1:
        return None
    length = end - start
    share = np.divide(overlaps(start, end, t0, t1), length, out=np.zeros_like(length), where=length > 0)
    return float(joules @ share)


def at_common_instant(times: Floats, values: Floats, when: Floats) -> Floats:
    """A sequentially scanned channel brought to the instants of another, before the two are multiplied."""
    return np.interp(when, times, values, left=np.nan, right=np.nan)


def rail_power(volts: Floats, amps: Floats) -> Floats:
    """Power of each rail; rails are multiplied one by one and then added: Σ V·I, never ΣV·ΣI."""
    return np.asarray(volts * amps, dtype=np.float64)
