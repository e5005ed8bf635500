"""When a meter saw a load that is known: the lag between activity and power, by least squares over shifted windows.

Power is taken as ``a + b·activity``, with the activity averaged over each reading's own window moved by the lag. The
lag is where the residual is least; its uncertainty follows from the curvature there and the autocorrelation of what
is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEAST_CORRELATION = 0.6
"""Below it, what the best lag explains is not told from chance."""
RIVAL = 1.2
"""A second lag whose residual is less than this many times the best's makes it ambiguous."""
COARSE, FINE = 400, 40
"""Lags that are tried over the whole search, and around the best one, again and again."""


@dataclass(frozen=True, slots=True)
class Lag:
    """``seconds`` by which power comes after activity, its standard uncertainty, and how well they agree there (r).

    ``watts_per_activity`` is b. ``rival_s`` is another lag that fits nearly as well, where there is one.
    """

    seconds: float
    u: float
    correlation: float
    watts_per_activity: float
    n: int
    rival_s: float | None = None

    @property
    def found(self) -> bool:
        """Whether it is one lag, and activity explains the power at all."""
        return self.correlation >= LEAST_CORRELATION and self.rival_s is None and math.isfinite(self.u)


class NoPulse(ValueError):  # noqa: N818 - that there is none is the finding
    """The activity or the power does not change enough to be aligned."""


def lag(edges: Floats, activity: Floats, start: Floats, end: Floats, watts: Floats, low: float, high: float) -> Lag:
    """The lag within ``[low, high]`` seconds.

    ``activity[i]`` holds from ``edges[i]`` to ``edges[i + 1]`` and is 0 outside; readings hold over ``[start, end]``,
    on any clock: the lag takes it to that of ``edges``. NoPulse where there is nothing to align.
    """
    good = np.isfinite(watts)
    start, end, watts = start[good], end[good], watts[good]
    if len(watts) < 8:
        raise NoPulse(f"{len(watts)} readings are too few to be aligned")
    if float(np.ptp(watts)) == 0.0 or float(np.ptp(activity)) == 0.0:
        raise NoPulse("the power does not change" if float(np.ptp(activity)) else "the activity does not change")
    integral = np.concatenate(([0.0], np.cumsum(activity * np.diff(edges))))

    def residual(shift: float) -> float:
        return _fit(_averaged(edges, integral, start - shift, end - shift), watts)[0]

    lags = np.linspace(low, high, COARSE + 1)
    left = np.array([residual(float(one)) for one in lags])
    step = (high - low) / COARSE
    best, rival = float(lags[int(left.argmin())]), _rival(lags, left, activity, edges)
    while step > 1e-5 * max(1e-3, float(np.median(end - start))):
        around = np.linspace(best - step, best + step, FINE + 1)
        best = float(around[int(np.argmin([residual(float(one)) for one in around]))])
        step = 2 * step / FINE
    model = _averaged(edges, integral, start - best, end - best)
    least, slope, rest = _fit(model, watts)
    total = float(((watts - watts.mean()) ** 2).sum())
    correlation = math.sqrt(max(0.0, 1 - least / total)) * (1 if slope > 0 else -1)
    return Lag(best, _u(residual, best, rest, start, end), correlation, slope, len(watts), rival)


def disagreement(a: float, u_a: float, b: float, u_b: float) -> float:
    """How far two offsets lie apart, in standard uncertainties of their difference; above 2 they disagree."""
    u = math.hypot(u_a, u_b)
    return abs(a - b) / u if u else (0.0 if a == b else math.inf)


def _averaged(edges: Floats, integral: Floats, start: Floats, end: Floats) -> Floats:
    """Mean activity over each window; of an instant, that over a thousandth of a second."""
    length = np.maximum(end - start, 1e-3)
    upper, lower = np.interp(start + length, edges, integral), np.interp(start, edges, integral)
    return np.asarray((upper - lower) / length, dtype=np.float64)


def _fit(model: Floats, watts: Floats) -> tuple[float, float, Floats]:
    """(sum of squares left, slope, what is left) of the line through activity and power."""
    x, y = model - model.mean(), watts - watts.mean()
    power = float(x @ x)
    slope = float(x @ y) / power if power > 0 else 0.0
    rest = np.asarray(y - slope * x, dtype=np.float64)
    return float(rest @ rest) if slope > 0 else float(y @ y), slope, rest


def _rival(lags: Floats, left: Floats, activity: Floats, edges: Floats) -> float | None:
    """Another dip as deep as the best, separated from it by a hill: a pattern that repeats fits more than once."""
    at = int(left.argmin())
    total = float(left.max())
    hill = left > 0.5 * (float(left[at]) + total)
    for side in (range(at, len(lags)), range(at, -1, -1)):
        beyond = False
        for i in side:
            beyond = beyond or bool(hill[i])
            if beyond and left[i] < RIVAL * left[at] + 0.02 * total:
                return float(lags[i])
    return None


def _u(residual: Callable[[float], float], best: float, rest: Floats, start: Floats, end: Floats) -> float:
    """From the curvature of the sum of squares over a tenth of a window; infinite where it has none."""
    step = max(1e-4, 0.1 * float(np.median(end - start)))
    at = [residual(best + k * step) for k in (-1, 0, 1)]
    curvature = (at[0] - 2 * at[1] + at[2]) / step**2
    if curvature <= 0:
        return math.inf
    n = len(rest)
    lagged = float(rest[:-1] @ rest[1:]) / float(rest @ rest) if float(rest @ rest) > 0 else 0.0
    effective = max(4.0, n * (1 - max(0.0, lagged)) / (1 + max(0.0, lagged)))
    variance = float(rest @ rest) / max(1.0, n - 3) * n / effective
    return math.sqrt(2 * variance / curvature + 1e-10)
