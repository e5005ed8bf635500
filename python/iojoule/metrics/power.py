"""Power over time for pictures: readings shared out into equal intervals by overlap (15 s unless told otherwise).

Each interval states how much of it the readings cover; one without readings has no power, and nothing is filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import integrate
from .channels import Series

Floats = npt.NDArray[np.float64]

INTERVAL_S = 15.0
"""Interval of the power figures of Oldham (2005), section 6.2."""


@dataclass(frozen=True, slots=True)
class PowerOverTime:
    """Mean watts of `[t_s, t_s + interval_s)` after the origin; NaN where nothing was read. `coverage` is 0 to 1."""

    scope: str
    boundary: str
    interval_s: float
    t_s: Floats
    watts: Floats
    coverage: Floats


def edges(start_ns: int, end_ns: int, interval_s: float) -> Floats:
    """Interval edges in seconds after `start_ns`; the last interval may be shorter."""
    if interval_s <= 0:
        raise ValueError("an interval must be longer than zero")
    span = max((end_ns - start_ns) / 1e9, 0.0)
    return np.append(np.arange(0.0, span, interval_s), span) if span else np.array([0.0])


def power_over_time(series: Series, start_ns: int, end_ns: int, interval_s: float = INTERVAL_S) -> PowerOverTime:
    """Overlap-weighted mean power of one channel. Bad readings cover nothing."""
    at = edges(start_ns, end_ns, interval_s)
    begin, finish = series.seconds(start_ns)
    watts = series.watts()
    good = ~series.bad & np.isfinite(watts)
    begin, finish, watts = begin[good], finish[good], watts[good]
    if series.channel.kind == "instant" and len(begin) > 1:
        limit = integrate.GAP_FACTOR * integrate.usual_interval(begin)
        joined = np.diff(begin) <= limit
        watts = ((watts[:-1] + watts[1:]) / 2)[joined]
        begin, finish = begin[:-1][joined], begin[1:][joined]
    length = np.clip(finish - begin, 0.0, None)
    joules, seconds = _share(begin, length, watts, at), _share(begin, length, np.ones_like(watts), at)
    width = np.diff(at)
    return PowerOverTime(
        series.channel.name,
        series.channel.boundary,
        interval_s,
        at[:-1],
        np.divide(joules, seconds, out=np.full_like(joules, np.nan), where=seconds > 1e-9),
        np.clip(np.divide(seconds, width, out=np.zeros_like(seconds), where=width > 0), 0.0, 1.0),
    )


def _share(begin: Floats, length: Floats, weight: Floats, at: Floats) -> Floats:
    """∫ of a piecewise constant function between neighbouring edges; zero outside the windows."""
    if not len(begin):
        return np.zeros(len(at) - 1)
    # Two knots per window keep the integral flat across holes, so a hole adds neither joules nor coverage.
    knots = np.column_stack((begin, begin + length)).ravel()
    integral = np.cumsum(np.column_stack((np.zeros_like(weight), weight * length)).ravel())
    order = np.argsort(knots, kind="stable")
    return np.diff(np.interp(at, knots[order], integral[order]))


def add(scope: str, boundary: str, parts: Sequence[PowerOverTime]) -> PowerOverTime:
    """Power of a cut: the sum where every part was read, NaN elsewhere; coverage is that of the least covered part."""
    return PowerOverTime(
        scope,
        boundary,
        parts[0].interval_s,
        parts[0].t_s,
        np.sum([part.watts for part in parts], axis=0),
        np.min([part.coverage for part in parts], axis=0),
    )
