"""The test of equivalence against textbook numbers and against what it must not do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from iojoule.metrics.equivalence import equivalence, margin_of_repeats


def paired(logs: np.ndarray) -> tuple[list[float], list[float]]:
    theirs = np.full(len(logs), 100.0)
    return list(theirs * np.exp(logs)), list(theirs)


def test_the_interval_is_that_of_students_t() -> None:
    """n = 5, mean 3, s = sqrt(2.5): t(0.95; 4) = 2.1318 of the tables, so half the interval is 1.5074."""
    logs = np.array([1.0, 2.0, 3.0, 4.0, 5.0]) / 100
    found = equivalence(*paired(logs), margin=1.2)
    half = 2.1318467863 * math.sqrt(2.5) / math.sqrt(5) / 100
    assert found.low == pytest.approx(math.exp(0.03 - half), rel=1e-9)
    assert found.high == pytest.approx(math.exp(0.03 + half), rel=1e-9)


def test_the_p_value_is_the_larger_of_two_one_sided_t_tests() -> None:
    logs = np.array([0.01, -0.02, 0.03, 0.00, 0.02, -0.01])
    found = equivalence(*paired(logs), margin=math.exp(0.05))
    upper = stats.ttest_1samp(logs, -0.05, alternative="greater").pvalue
    lower = stats.ttest_1samp(logs, 0.05, alternative="less").pvalue
    assert found.p == pytest.approx(max(upper, lower), rel=1e-9)
    assert found.verdict == "equivalent"


def test_little_data_show_nothing_even_where_the_means_agree() -> None:
    logs = np.array([-0.2, 0.2])
    assert equivalence(*paired(logs), margin=1.05).verdict == "not shown"


def test_a_small_sure_difference_beyond_the_margin_is_a_difference() -> None:
    logs = 0.08 + np.array([-1, 1, -1, 1, -1, 1]) * 1e-3
    assert equivalence(*paired(logs), margin=1.05).verdict == "different"


def test_a_sure_difference_inside_the_margin_is_still_equivalent() -> None:
    logs = 0.02 + np.array([-1, 1, -1, 1, -1, 1]) * 1e-3
    found = equivalence(*paired(logs), margin=1.05)
    assert found.low > 1
    assert found.verdict == "equivalent"


def test_exchanging_the_sides_inverts_the_ratio_and_keeps_the_verdict() -> None:
    logs = np.array([0.01, -0.02, 0.03, 0.00, 0.02, -0.01])
    ours, theirs = paired(logs)
    one, other = equivalence(ours, theirs, 1.05), equivalence(theirs, ours, 1.05)
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert (one.p, one.verdict) == (pytest.approx(other.p), other.verdict)


def test_at_the_edge_of_the_margin_equivalence_is_wrongly_shown_in_alpha_of_the_cases() -> None:
    draw = np.random.default_rng(7)
    bound, rounds = 0.05, 2000
    shown = sum(
        equivalence(*paired(draw.normal(bound, 0.03, 12)), margin=math.exp(bound)).verdict == "equivalent"
        for _ in range(rounds)
    )
    assert shown / rounds == pytest.approx(0.05, abs=0.015)


def test_the_margin_of_repeats_is_a_quantile_of_their_log_ratios() -> None:
    first = [math.exp(k / 100) for k in range(21)]
    assert margin_of_repeats(first, [1.0] * 21) == pytest.approx(math.exp(0.19))
    assert margin_of_repeats([1.0] * 21, first) == pytest.approx(math.exp(0.19))


@pytest.mark.parametrize(
    ("ours", "theirs", "margin"),
    [([1.0], [1.0], 1.1), ([1.0, 0.0], [1.0, 1.0], 1.1), ([1.0, 1.0], [1.0], 1.1), ([1.0, 1.0], [1.0, 1.0], 1.0)],
)
def test_what_cannot_be_judged_is_refused(ours: list[float], theirs: list[float], margin: float) -> None:
    with pytest.raises(ValueError, match=r"pairs|above|paired|margin"):
        equivalence(ours, theirs, margin)
