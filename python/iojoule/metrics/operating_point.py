"""The best operating point of a sweep as a set: the cell with the most IOPS/W, and those it cannot be told from.

With many cells the highest is partly the luckiest, so every other is tested against it with the level divided by their
number (Bonferroni). Repeats of a cell are few: their relative scatter is pooled over all cells, as Dunnett's test does.
What the instrument does alike to all of them cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .metric import Estimate
from .uncertainty import SYSTEMATIC, t_quantile

LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class Best:
    """Places in the sequence that was given: the highest, and all that are not shown to be below it (itself too)."""

    place: int
    indistinguishable: tuple[int, ...]
    tested: bool
    """False where nothing is known about the uncertainty of some of them, so that they cannot be left out."""


def best(of: Sequence[Estimate | None]) -> Best | None:
    """The best of estimates of one quantity that is better when higher; None where none has a value."""
    valued = [(i, one) for i, one in enumerate(of) if one is not None and one.mean is not None]
    if not valued:
        return None
    place, top = max(valued, key=lambda entry: entry[1].mean or 0.0)
    others = [(i, one) for i, one in valued if i != place]
    level, near, tested = LEVEL / max(len(others), 1), [place], True
    scatter = _pooled([one for _, one in valued])
    for i, one in others:
        limit = _limit(top, one, level, scatter)
        tested &= limit is not None
        if limit is None or (top.mean or 0.0) - (one.mean or 0.0) <= limit:
            near.append(i)
    return Best(place, tuple(sorted(near)), tested)


def _pooled(of: Sequence[Estimate]) -> tuple[float, int]:
    """Relative standard deviation of one repeat, pooled over all cells, and its degrees of freedom."""
    repeated = [one for one in of if one.n > 1 and one.sd is not None and one.mean]
    degrees = sum(one.n - 1 for one in repeated)
    squares = sum((one.n - 1) * ((one.sd or 0.0) / (one.mean or 1.0)) ** 2 for one in repeated)
    return (math.sqrt(squares / degrees), degrees) if degrees else (0.0, 0)


def _limit(top: Estimate, other: Estimate, level: float, scatter: tuple[float, int]) -> float | None:
    """The largest gap that chance explains; None where nothing is known to judge by."""
    relative, degrees = scatter
    if degrees:
        u = relative * math.hypot((top.mean or 0.0) / math.sqrt(top.n), (other.mean or 0.0) / math.sqrt(other.n))
        return t_quantile(1 - level, degrees) * u
    if not top.budget or not other.budget:
        return None
    from scipy.special import ndtri

    return float(ndtri(1 - level)) * math.hypot(_own(top), _own(other))


def _own(one: Estimate) -> float:
    """The uncertainty a cell does not share with the others: its budget without gain and offset."""
    return math.hypot(*(u for source, u in one.budget.items() if source not in SYSTEMATIC))
