"""A drift, noise or a saw-tooth is steady exactly where the limits of the SNIA rule say so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.metrics.steady_state import Rule, judge

SNIA = Rule()
levels = st.floats(min_value=1e-3, max_value=1e9)
series = st.lists(st.floats(min_value=0.1, max_value=1e7), min_size=5, max_size=40)


def drift(level: float, rise: float, rounds: int = 5) -> list[float]:
    """A straight line through ``level`` in its middle that rises by ``rise`` of it from the first round to the last."""
    return [level * (1 + rise * (i / (rounds - 1) - 0.5)) for i in range(rounds)]


@given(levels)
def test_a_level_line_is_steady(level: float) -> None:
    verdict = judge([level] * 5, SNIA)
    assert verdict is not None
    assert verdict.steady
    assert abs(verdict.slope) < 1e-9


@given(levels, st.floats(min_value=-1.5, max_value=1.5))
def test_a_drift_is_steady_up_to_a_tenth_either_way(level: float, rise: float) -> None:
    verdict = judge(drift(level, rise), SNIA)
    assert verdict is not None
    assert verdict.slope == pytest.approx(rise, abs=1e-9)
    assert verdict.steady == (abs(rise) <= 0.10 + 1e-9)


@pytest.mark.parametrize("rise", [0.10, -0.10])
def test_exactly_at_the_limit_of_the_slope_is_steady(rise: float) -> None:
    assert judge(drift(1000.0, rise), SNIA).steady  # type: ignore[union-attr]
    assert not judge(drift(1000.0, rise * 1.001), SNIA).steady  # type: ignore[union-attr]


def test_a_saw_tooth_has_no_slope_but_its_teeth_may_be_too_long() -> None:
    # 90 110 90 ...: symmetric about its middle, so the line is level; the average is 98, the extremes 20 apart.
    at = judge([90, 110, 90, 110, 90], Rule(excursion=20 / 98))
    assert at is not None
    assert at.slope == pytest.approx(0)
    assert at.steady
    assert not judge([90, 110, 90, 110, 90], SNIA).steady  # type: ignore[union-attr]


def test_exactly_at_the_limit_of_the_excursion_is_steady() -> None:
    # 90 and 110 about 100: the average is 100, the extremes 20 % of it apart, the line level.
    assert judge([100, 90, 100, 110, 100], Rule(slope=1.0)).steady  # type: ignore[union-attr]
    assert not judge([100, 90, 100, 110.1, 100], Rule(slope=1.0)).steady  # type: ignore[union-attr]


@given(series, st.integers(min_value=2, max_value=8))
def test_only_the_last_window_counts_and_it_agrees_with_a_least_squares_line(values: list[float], window: int) -> None:
    rule = Rule(window=window)
    verdict = judge(values, rule)
    if len(values) < window:
        assert verdict is None
        return
    assert verdict == judge([1e9] * 3 + values[-window:], rule)
    last = np.asarray(values[-window:])
    gradient, _ = np.polyfit(np.arange(window), last, 1)
    assert verdict is not None
    assert verdict.slope == pytest.approx(gradient * (window - 1) / last.mean(), rel=1e-6, abs=1e-7)
    assert verdict.excursion == pytest.approx(np.ptp(last) / last.mean())


@given(series, st.floats(min_value=1e-3, max_value=1e3))
def test_the_unit_of_the_metric_does_not_matter(values: list[float], unit: float) -> None:
    one, other = judge(values, SNIA), judge([unit * value for value in values], SNIA)
    assert one is not None
    assert other is not None
    assert other.slope == pytest.approx(one.slope, rel=1e-6, abs=1e-8)
    assert other.excursion == pytest.approx(one.excursion, rel=1e-6, abs=1e-8)


def test_noise_well_inside_the_limits_is_steady_and_noise_beyond_them_is_not() -> None:
    draw = np.random.default_rng(1)
    quiet = [judge(list(draw.normal(1000, 10, 5)), SNIA) for _ in range(200)]
    loud = [judge(list(draw.normal(1000, 300, 5)), SNIA) for _ in range(200)]
    assert all(verdict.steady for verdict in quiet if verdict)
    assert sum(verdict.steady for verdict in loud if verdict) < 20


def test_too_few_rounds_say_nothing_and_a_dead_device_is_not_steady() -> None:
    assert judge([1.0] * 4, SNIA) is None
    for value in (0.0, math.nan, math.inf):
        assert not judge([value] * 5, SNIA).steady  # type: ignore[union-attr]


def test_a_window_of_one_round_is_refused() -> None:
    with pytest.raises(ValueError, match="two rounds"):
        judge([1.0], Rule(window=1))
