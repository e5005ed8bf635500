"""Rules by which uncertainties combine: JCGM 100:2008 (GUM), with the correlations of power meters.

Gain and offset of one instrument on one range are systematic: they add linearly and no number of samples averages them
away. Noise shrinks with the number of *independent* samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SYSTEMATIC = ("gain", "offset", "instrument")
"""Sources of a budget that belong to the instrument and are fully correlated with each other."""


def lasting(source: str) -> bool:
    """Whether a source errs alike at all times though no other source errs with it: the resistor of a shunt."""
    return source.startswith("shunt ")


def rectangular(half_width: float) -> float:
    """Standard uncertainty of a limit of error ±`half_width`: half_width/√3 (GUM 4.3.7)."""
    return abs(half_width) / math.sqrt(3)


def combine(budget: Mapping[str, float]) -> float:
    """Standard uncertainty of a budget: the instrument's terms linearly, the rest in quadrature."""
    systematic = sum(budget.get(source, 0.0) for source in SYSTEMATIC)
    return math.hypot(systematic, *(u for source, u in budget.items() if source not in SYSTEMATIC))


def variance_shares(budget: Mapping[str, float]) -> dict[str, float]:
    """Each source's share of the variance; that of the instrument's terms, which add linearly, in proportion."""
    systematic = sum(budget.get(source, 0.0) for source in SYSTEMATIC)
    whole = combine(budget) ** 2
    parts = {source: u * systematic if source in SYSTEMATIC else u * u for source, u in budget.items()}
    return {source: part / whole if whole else 0.0 for source, part in parts.items()}


def lag1_correlation(values: Floats) -> float:
    """Correlation of each value with the next; 0 where there are under three values or no spread."""
    centred = values - values.mean() if len(values) else values
    power = float(centred @ centred)
    if len(values) < 3 or power == 0.0:
        return 0.0
    return float(centred[:-1] @ centred[1:]) / power


def effective_samples(n: float, correlation: float) -> float:
    """n(1 − r)/(1 + r): how many independent samples n correlated ones are worth."""
    return n * (1 - correlation) / (1 + correlation)


def noise_of_mean(values: Floats) -> float:
    """Standard uncertainty of the mean of `values` from their scatter alone.

    A correlation below zero would promise more than n samples and is taken as zero; at least one sample is left.
    """
    n = len(values)
    if n < 2:
        return 0.0
    r = min(max(lag1_correlation(values), 0.0), 1.0 - 1e-9)
    return float(values.std(ddof=1)) / math.sqrt(max(effective_samples(n, r), 1.0))


_OF_MEDIAN_5 = 0.940
"""Standard deviation of white noise of 1 less its running median of five."""


def about_its_course(values: Floats) -> Floats:
    """`values` less their running median of five (Tukey), scaled so that white noise keeps its deviation.

    Windows that follow each other without a hole have *integrated* a load that rises, falls and jumps: its course is
    signal, known exactly, and only what scatters about it is noise. A median follows a jump where a mean would blur it.
    """
    if len(values) < 7:
        return values - values.mean() if len(values) else values
    course = np.median(np.lib.stride_tricks.sliding_window_view(values, 5), axis=1)
    return np.asarray((values[2:-2] - course) / _OF_MEDIAN_5, dtype=np.float64)


def scatter(values: Floats) -> float:
    """Standard deviation of `values` about their course, enlarged where they are few; 0 for a single one."""
    residual = about_its_course(values)
    n = len(residual)
    return float(np.sqrt(residual @ residual / (n - 1))) * small_sample(n) if n > 1 else 0.0


@lru_cache
def small_sample(n: int) -> float:
    """What a standard uncertainty from n values is to be multiplied by so that k = 2 still covers 95.45 % (GUM G.4)."""
    return t_quantile(0.97725, n - 1) / 2


def t_quantile(probability: float, degrees: float) -> float:
    """Quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def t_interval(values: Sequence[float], confidence: float) -> float | None:
    """Half-width of the t-interval of the mean of `values`; None under two values."""
    n = len(values)
    if n < 2:
        return None
    return t_quantile((1 + confidence) / 2, n - 1) * float(np.std(values, ddof=1)) / math.sqrt(n)


def ratio(numerator: float, u_numerator: float, denominator: float, u_denominator: float) -> tuple[float, float]:
    """A quotient of independent quantities and its standard uncertainty; ZeroDivisionError for a zero denominator."""
    return (
        numerator / denominator,
        math.hypot(u_numerator / denominator, numerator * u_denominator / denominator**2),
    )


def sum_independent(uncertainties: Iterable[float]) -> float:
    return math.hypot(*uncertainties)


def sum_correlated(uncertainties: Iterable[float]) -> float:
    """Uncertainty of a sum whose terms err together: channels of one meter."""
    return sum(abs(u) for u in uncertainties)


def idle_subtracted(u_gain_rel: float, power: float, idle: float, *uncorrelated: float) -> float:
    """u of `power − idle` on one range of one instrument: the range term cancels, the gain acts on the difference.

    `u_gain_rel` is the relative standard uncertainty of the gain; `uncorrelated` are the noise terms of both.
    """
    return math.hypot(u_gain_rel * (power - idle), *uncorrelated)
