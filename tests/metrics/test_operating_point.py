"""The best operating point of a sweep is a set of cells."""

import numpy as np

from iojoule.metrics.metric import Estimate, Metric
from iojoule.metrics.operating_point import best
from iojoule.metrics.repeats import estimate


def cell(*values: float, **budget: float) -> Estimate:
    u = sum(budget.values()) or None
    return estimate([Metric("iops_per_w", value, "IOPS/W", "system", u, budget=budget) for value in values])


def test_cells_within_the_scatter_of_the_best_are_best_too() -> None:
    found = best([cell(10.0, 10.1, 9.9), cell(12.0, 12.2, 11.8), cell(11.9, 12.1, 11.7), None])
    assert found is not None
    assert (found.place, found.indistinguishable, found.tested) == (1, (1, 2), True)


def test_what_the_instrument_does_alike_to_all_cells_does_not_make_them_alike() -> None:
    found = best([cell(12.0, gain=1.0, noise=0.01), cell(11.9, gain=1.0, noise=0.01)])
    assert found is not None and found.indistinguishable == (0,)
    found = best([cell(12.0, gain=0.01, noise=0.1), cell(11.9, gain=0.01, noise=0.1)])
    assert found is not None and found.indistinguishable == (0, 1)


def test_cells_of_unknown_uncertainty_are_not_left_out() -> None:
    found = best([cell(12.0), cell(3.0)])
    assert found is not None and found.indistinguishable == (0, 1) and not found.tested
    assert best([None]) is None


def test_the_true_best_is_in_the_set_19_times_in_20() -> None:
    draw, missed = np.random.default_rng(1), 0
    truth = [12.0, *[11.9] * 11]
    for _ in range(300):
        found = best([cell(*draw.normal(value, 0.2, 3)) for value in truth])
        assert found is not None
        missed += 0 not in found.indistinguishable
    # 5 % of 300 are 15; Bonferroni is on the safe side, three standard deviations above are 26.
    assert missed <= 26
