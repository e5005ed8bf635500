"""Are two ways of measuring the same thing equivalent? Two one-sided tests (TOST) on the logarithms of their ratios.

That no difference is found does not show that there is none. Equivalence is shown where the whole 1 - 2·alpha interval
of the mean ratio lies inside a margin that was fixed before (Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987). Ratios
are compared as logarithms, so that A/B and B/A are judged alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["equivalent", "different", "not shown"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """What `n` paired ratios say. `ratio` is their geometric mean, `low` and `high` its 1 - 2·alpha interval; `margin`
    is the ratio allowed to either side; `p` the larger p-value of the two one-sided tests."""

    n: int
    ratio: float
    low: float
    high: float
    margin: float
    p: float
    verdict: Verdict


def margin_of_repeats(first: Sequence[float], second: Sequence[float], share: float = 0.95) -> float:
    """The ratio that repeats of one and the same measurement keep to: the `share` quantile of |log(first / second)|.

    `first` and `second` are paired repeats (A/A). At least 1.
    """
    return float(math.exp(np.quantile(np.abs(_log_ratios(first, second)), share)))


def equivalence(ours: Sequence[float], theirs: Sequence[float], margin: float, alpha: float = 0.05) -> Equivalence:
    """Test paired figures for equivalence within `[1 / margin, margin]` at level `alpha`; all must be above 0.

    `equivalent` where the 1 - 2·alpha interval lies inside the margin, `different` where it lies outside altogether,
    else `not shown`.
    """
    from scipy import stats

    if margin <= 1:
        raise ValueError("a margin is a ratio above 1")
    logs = _log_ratios(ours, theirs)
    n = len(logs)
    if n < 2:
        raise ValueError("equivalence needs at least two pairs")
    mean, error = float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(n)
    bound = math.log(margin)
    if error == 0:
        inside = abs(mean) < bound
        p = 0.0 if inside else 1.0
        half = 0.0
    else:
        above, below = (mean + bound) / error, (mean - bound) / error
        p = float(max(stats.t.sf(above, n - 1), stats.t.cdf(below, n - 1)))
        half = float(stats.t.ppf(1 - alpha, n - 1)) * error
    low, high = mean - half, mean + half
    verdict: Verdict = "equivalent" if p < alpha else "different" if low > bound or high < -bound else "not shown"
    return Equivalence(n, math.exp(mean), math.exp(low), math.exp(high), margin, p, verdict)


def _log_ratios(numerator: Sequence[float], denominator: Sequence[float]) -> np.ndarray:
    top, bottom = np.asarray(numerator, dtype=np.float64), np.asarray(denominator, dtype=np.float64)
    if len(top) != len(bottom):
        raise ValueError("the figures are paired: both sides have as many")
    if (top <= 0).any() or (bottom <= 0).any():
        raise ValueError("ratios are of figures above 0")
    return np.asarray(np.log(top / bottom))
