"""How uncertainties combine: golden vectors meter_energy_budget, _alignment, _idle_subtraction, _ratio, two rails."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.metrics import integrate, uncertainty


def test_the_energy_budget_adds_its_parts_in_quadrature(table: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in table("meter_energy_budget.csv"):
        t = row["phase_s"]
        n = uncertainty.effective_samples(row["n"], row["lag1_correlation"])
        assert n == pytest.approx(row["recomputed_n_effective"])
        noise = row["noise_sd_w"] / math.sqrt(n)
        assert noise == pytest.approx(row["recomputed_u_noise_w"])
        u = uncertainty.combine(
            {
                "instrument": t * row["u_systematic_w"],
                "noise": t * noise,
                "alignment": row["delta_p_w"] * row["u_alignment_s"],
                "gaps": row["u_gap_j"],
            }
        )
        assert u == pytest.approx(row["recomputed_u_energy_j"])


def test_gain_and_range_errors_of_one_instrument_add_linearly(table: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in table("meter_instrument_uncertainty.csv"):
        gain = uncertainty.rectangular(row["reading_w"] * row["rdg_pct"] / 100)
        offset = uncertainty.rectangular(row["recomputed_range_w"] * row["rng_pct"] / 100)
        assert uncertainty.combine({"gain": gain, "offset": offset}) == pytest.approx(row["recomputed_u_w"])


def test_idle_subtraction_cancels_the_range_term(table: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in table("meter_idle_subtraction.csv"):
        gain = uncertainty.rectangular(row["rdg_pct"] / 100)
        u = uncertainty.idle_subtracted(gain, row["p_w"], row["idle_w"])
        assert u == pytest.approx(row["recomputed_u_net_correlated_w"])


def test_a_ratio_carries_both_relative_uncertainties(table: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in table("meter_ratio_uncertainty.csv"):
        value, u = uncertainty.ratio(row["iops"], row["u_iops"], row["p_w"], row["u_p_w"])
        assert (value, u) == pytest.approx((row["recomputed_iops_per_w"], row["recomputed_u_iops_per_w"]))


def test_a_shift_costs_the_step_of_power_per_second(table: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in table("meter_alignment.csv"):
        step = abs(row["p_w"] - row["p_neighbour_w"])
        assert uncertainty.combine({"alignment": step * row["shift_s"]}) == pytest.approx(row["recomputed_error_j"])


def test_rails_are_multiplied_one_by_one_and_then_added(table: Callable[[str], list[dict[str, Any]]]) -> None:
    for row in table("000_two_rail_vectors.csv"):
        volts = np.array([row["v12_v"], row["v5_v"]])
        amps = np.array([row["i12_a"], row["i5_a"]])
        watts = integrate.rail_power(volts, amps)
        assert watts.sum() == pytest.approx(row["recomputed_total_w"])
        resistors = [uncertainty.rectangular(p * row["r_tolerance_pct"] / 100) for p in watts]
        assert uncertainty.sum_independent(resistors) == pytest.approx(row["recomputed_u_total_w"])


def test_a_slow_rise_that_windows_followed_is_not_noise() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, 2000)
    ramp = np.linspace(5, 15, 2000)
    flat = uncertainty.noise_of_mean(uncertainty.about_its_course(10 + noise))
    risen = uncertainty.noise_of_mean(uncertainty.about_its_course(ramp + noise))
    assert risen == pytest.approx(flat, rel=0.02)
    assert flat == pytest.approx(0.1 / math.sqrt(2000), rel=0.1)
    assert uncertainty.noise_of_mean(ramp + noise) > 20 * risen


def test_the_t_interval_of_three_repeats() -> None:
    """t(0.975, 2) = 4.302653, t(0.95, 2) = 2.919986: any table of Student's t."""
    half = uncertainty.t_interval([9.0, 10.0, 11.0], 0.95)
    assert half == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)
    assert uncertainty.t_interval([9.0, 10.0, 11.0], 0.90) == pytest.approx(2.919986 / math.sqrt(3), rel=1e-6)
    assert uncertainty.t_interval([9.0], 0.95) is None


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60))
def test_noise_never_exceeds_the_scatter_nor_promises_more_than_n_samples(values: list[float]) -> None:
    data = np.array(values)
    u, sd = uncertainty.noise_of_mean(data), float(data.std(ddof=1))
    assert sd / math.sqrt(len(data)) * (1 - 1e-9) <= u <= sd * (1 + 1e-9)
