"""E ± U (k = 2) holds the true energy of the laboratory's load as often as it says, for every front there is."""

import math

import pytest

from iojoule.experiment.coverage import cover
from iojoule.meters.lab import FRONTS

CHANCE = 1e-3
"""A front that is honest at 95 % misses more often than allowed here in one of a thousand tests."""


def misses_allowed(quoted: int, probability: float = 0.95) -> int:
    """Most misses an honest 95 % may have: the smallest m with P(more than m) below CHANCE."""
    miss, left = 1 - probability, 1.0
    for m in range(quoted + 1):
        left -= math.comb(quoted, m) * miss**m * probability ** (quoted - m)
        if left < CHANCE:
            return m
    return quoted


def test_the_binomial_bound() -> None:
    """20 trials at 5 %: P(more than 4) = 0.00257, P(more than 5) = 0.00033."""
    assert misses_allowed(20) == 5
    assert misses_allowed(0) == 0


@pytest.mark.parametrize("front", FRONTS)
def test_the_truth_lies_within_what_is_quoted(front: str) -> None:
    found, trials = cover(front, range(20))
    assert found.quoted > 0, trials[0].note
    assert all(one.note for one in trials if one.joules is None)
    missed = [one for one in trials if one.joules is not None and not one.contains]
    assert len(missed) <= misses_allowed(found.quoted), missed


@pytest.mark.stress
@pytest.mark.parametrize("front", FRONTS)
def test_what_is_quoted_is_honest_and_useful(front: str) -> None:
    found, _ = cover(front, range(200))
    assert found.share >= 0.95
    assert found.useful <= 1.5
