"""Power that follows a known load is found at its lag; what does not follow it, or follows it twice, is said to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iojoule.metrics.pulse import Floats, NoPulse, disagreement, lag

EDGES = np.arange(0.0, 40.0, 0.05)


def steps(*on: tuple[float, float]) -> Floats:
    """Activity 1 within each span."""
    middle = (EDGES[:-1] + EDGES[1:]) / 2
    return np.array([float(any(a <= t < b for a, b in on)) for t in middle])


IRREGULAR = steps((5, 7), (9, 11), (13, 15), (24, 31))


def readings(
    activity: Floats, late_s: float, window_s: float, noise_w: float, seed: int
) -> tuple[Floats, Floats, Floats]:
    """Window means of 5 W at rest and 12 W at work, ``late_s`` after the activity."""
    draw = np.random.default_rng(seed)
    end = np.arange(0.3 + window_s, 39.0, window_s)
    start = end - window_s
    integral = np.concatenate(([0.0], np.cumsum(activity * np.diff(EDGES))))
    upper, lower = (np.interp(edge - late_s, EDGES, integral) for edge in (end, start))
    watts = 5.0 + 7.0 * (upper - lower) / window_s + draw.normal(0.0, noise_w, len(end))
    return start, end, watts


@given(late_s=st.floats(-4.0, 4.0), window_s=st.sampled_from([0.1, 0.25, 1.0]), seed=st.integers(0, 1000))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_the_lag_lies_within_five_standard_uncertainties(late_s: float, window_s: float, seed: int) -> None:
    found = lag(EDGES, IRREGULAR, *readings(IRREGULAR, late_s, window_s, 0.3, seed), -6.0, 6.0)
    assert found.found
    assert abs(found.seconds - late_s) <= 5 * found.u
    assert found.u < 0.1 * window_s + 0.02
    assert found.watts_per_activity == pytest.approx(7.0, rel=0.05)


def test_two_standard_uncertainties_hold_the_lag_19_times_of_20() -> None:
    held = 0
    for seed in range(100):
        late_s = np.random.default_rng(seed + 5000).uniform(-2, 2)
        found = lag(EDGES, IRREGULAR, *readings(IRREGULAR, late_s, 0.25, 0.5, seed), -3.0, 3.0)
        held += abs(found.seconds - late_s) <= 2 * found.u
    assert held >= 88, held


def test_an_averaging_meter_of_one_second_is_aligned_far_below_its_window() -> None:
    found = lag(EDGES, IRREGULAR, *readings(IRREGULAR, 0.37, 1.0, 0.0, 1), -3.0, 3.0)
    assert abs(found.seconds - 0.37) < 0.002


def test_power_that_does_not_follow_the_load_is_not_aligned() -> None:
    draw = np.random.default_rng(4)
    start, end, watts = readings(IRREGULAR, 0.0, 0.25, 0.0, 1)
    assert not lag(EDGES, IRREGULAR, start, end, draw.normal(8.0, 1.0, len(watts)), -3.0, 3.0).found


def test_power_that_falls_with_the_load_is_not_aligned() -> None:
    start, end, watts = readings(IRREGULAR, 0.0, 0.25, 0.0, 1)
    assert not lag(EDGES, IRREGULAR, start, end, 20.0 - watts, -1.0, 1.0).found


def test_a_pattern_that_repeats_within_the_search_is_ambiguous() -> None:
    train = steps(*((t, t + 2.0) for t in range(0, 40, 4)))
    start, end, watts = readings(train, 0.5, 0.25, 0.1, 1)
    inside = (start > 12) & (end < 28)
    found = lag(EDGES, train, start[inside], end[inside], watts[inside], -6.0, 6.0)
    assert found.rival_s is not None and not found.found
    assert lag(EDGES, train, start[inside], end[inside], watts[inside], -1.5, 1.5).found


def test_nothing_to_align_is_said() -> None:
    start, end, watts = readings(IRREGULAR, 0.0, 0.25, 0.0, 1)
    with pytest.raises(NoPulse, match="power does not change"):
        lag(EDGES, IRREGULAR, start, end, np.full_like(watts, 5.0), -1.0, 1.0)
    with pytest.raises(NoPulse, match="activity does not change"):
        lag(EDGES, np.zeros_like(IRREGULAR), start, end, watts, -1.0, 1.0)
    with pytest.raises(NoPulse, match="too few"):
        lag(EDGES, IRREGULAR, start[:5], end[:5], watts[:5], -1.0, 1.0)


def test_offsets_disagree_beyond_two_standard_uncertainties() -> None:
    assert disagreement(0.0, 0.03, 0.09, 0.04) == pytest.approx(1.8)
    assert disagreement(1.0, 0.0, 1.0, 0.0) == 0.0
