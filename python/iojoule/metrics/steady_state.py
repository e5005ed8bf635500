"""Whether a device has settled, by the rule of the SNIA Solid State Storage Performance Test Specification (PTS).

Over a window of rounds the best-fit line changes by at most 10 % of the average, and the extremes lie at most 20 % of
it apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """``window`` rounds; ``slope`` and ``excursion`` are shares of the average over the window."""

    window: int = 5
    slope: float = 0.10
    excursion: float = 0.20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the last window says. ``slope`` is how far the best-fit line rises (or falls, negative) from the first round
    to the last, ``excursion`` the distance of the extremes; both as shares of ``mean``."""

    steady: bool
    mean: float
    slope: float
    excursion: float


_ROUNDING = 1e-9
"""Decides exactly at a limit: a value computed in binary may stand a hair above the decimal it means."""


def judge(rounds: Sequence[float], rule: Rule) -> Verdict | None:
    """The verdict on the last ``rule.window`` rounds; None while there are fewer.

    A window whose average is not positive and finite (a device that answers nothing) is never steady.
    """
    n = rule.window
    if n < 2:
        raise ValueError("a window needs at least two rounds")
    if len(rounds) < n:
        return None
    values = rounds[-n:]
    mean = math.fsum(values) / n
    if not math.isfinite(mean) or mean <= 0:
        return Verdict(False, mean, math.nan, math.nan)
    middle = (n - 1) / 2
    per_round = math.fsum((i - middle) * (y - mean) for i, y in enumerate(values)) / (n * (n * n - 1) / 12)
    slope = per_round * (n - 1) / mean
    excursion = (max(values) - min(values)) / mean
    steady = abs(slope) <= rule.slope + _ROUNDING and excursion <= rule.excursion + _ROUNDING
    return Verdict(steady, mean, slope, excursion)
