"""The best operating point of a sweep as a set: the cell with the most IOPS/W, and those it cannot be told from.

With many cells the highest is partly the luckiest, so every other is tested against it with its level divided by their
number (Bonferroni); what the instrument does alike to all of them cancels.
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
    for i, one in others:
        below = _below(top, one, level)
        tested &= below is not None
        if not below:
            near.append(i)
    return Best(place, tuple(sorted(near)), tested)


def _below(top: Estimate, other: Estimate, level: float) -> bool | None:
    """Whether `other` is shown to lie below `top`; None where nothing is known to judge by."""
    gap = (top.mean or 0.0) - (other.mean or 0.0)
    if top.n > 1 and other.n > 1 and top.sd is not None and other.sd is not None:
        # Welch: the scatter of the repeats is all that differs between two cells of one instrument.
        va, vb = top.sd**2 / top.n, other.sd**2 / other.n
        if va + vb == 0:
            return gap > 0
        degrees = (va + vb) ** 2 / (va**2 / (top.n - 1) + vb**2 / (other.n - 1))
        return gap > t_quantile(1 - level, degrees) * math.sqrt(va + vb)
    u = math.hypot(_own(top), _own(other))
    if not top.budget or not other.budget:
        return None
    from scipy.special import ndtri

    return gap > float(ndtri(1 - level)) * u


def _own(one: Estimate) -> float:
    """The uncertainty a cell does not share with the others: its budget without gain and offset."""
    return math.hypot(*(u for source, u in one.budget.items() if source not in SYSTEMATIC))
