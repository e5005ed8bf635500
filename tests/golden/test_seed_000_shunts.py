"""Shunts in the 12 V and 5 V lines of a drive (Oldham 2005, section 5.1): vectors through the code that makes rails."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from iojoule.metrics.channels import Channel
from iojoule.metrics.energy import Energy, total
from iojoule.metrics.integrate import trapezoid
from iojoule.metrics.rails import Instants, Rail, RailPower, power
from iojoule.metrics.uncertainty import combine

Rows = list[dict[str, str]]
Read = Callable[[str], Rows]


def instants(values: Sequence[float], rdg_pct: float = 0.0, rng_pct: float = 0.0, range_v: float = 0.0) -> Instants:
    """Samples a second apart on one range of a data sheet."""
    at_ns = np.arange(len(values), dtype=np.int64) * 10**9
    u_rel, u_abs = rdg_pct / 100 / math.sqrt(3), rng_pct / 100 * range_v / math.sqrt(3)
    return Instants(at_ns, np.array(values, dtype=np.float64), np.zeros(len(values), dtype=bool), u_rel, u_abs)


def resistor(ohm: float, tolerance_pct: float, *, upstream: bool = False) -> Rail:
    return Rail("rail", "v", "s", ohm, upstream, u_ohm_rel=tolerance_pct / 100 / math.sqrt(3))


def u_of(made: RailPower) -> float:
    """Standard uncertainty of the only sample."""
    return combine({source: abs(float(term[0])) for source, term in made.terms.items()})


def test_current_and_power_of_a_shunt_with_their_uncertainty(rows: Read) -> None:
    for row in rows("000_shunt_vectors.csv"):
        of = {key: float(text) for key, text in row.items() if key != "id" and text}
        shunt = instants([of["v_shunt_v"]], of["shunt_rdg_pct"], of["shunt_rng_pct"], of["shunt_range_v"])
        volts = instants([of["v_drive_v"]], of["drive_rdg_pct"], of["drive_rng_pct"], of["drive_range_v"])
        rail = resistor(of["r_ohm"], of["r_tolerance_pct"])
        made = power(rail, volts, shunt)
        said = {
            "i_a": made.amps[0],
            "p_w": made.watts[0],
            "p_shunt_w": made.lost_w[0],
            "v_supply_v": made.supply_v[0],
            "p_upstream_w": made.watts[0] + made.lost_w[0],
            # At 1 V exactly, watts are amperes.
            "u_i_a": u_of(power(rail, instants([1.0]), shunt)),
            "u_p_w": u_of(made),
            "u95_p_w": 2 * u_of(made),
        }
        if row["recomputed_u95_p_pct"]:
            said["u95_p_pct"] = 200 * u_of(made) / abs(float(made.watts[0]))
        else:
            assert made.watts[0] == 0.0
        for name, value in said.items():
            assert value == pytest.approx(of[f"recomputed_{name}"], rel=1e-9, abs=1e-15), (row["id"], name)


def test_voltage_taken_upstream_gives_the_same_power_less_what_the_shunt_takes(rows: Read) -> None:
    for row in rows("000_shunt_vectors.csv"):
        rail = resistor(float(row["r_ohm"]), 1.0, upstream=True)
        made = power(rail, instants([float(row["recomputed_v_supply_v"])]), instants([float(row["v_shunt_v"])]))
        assert made.watts[0] == pytest.approx(float(row["recomputed_p_w"]), rel=1e-9, abs=1e-12), row["id"]


def test_sum_of_v_times_sum_of_i_is_not_the_power(rows: Read) -> None:
    for row in rows("000_two_rail_vectors.csv"):
        parts, volts, amps = [], 0.0, 0.0
        for name in ("12", "5"):
            v, i = float(row[f"v{name}_v"]), float(row[f"i{name}_a"])
            made = power(resistor(0.1, float(row["r_tolerance_pct"])), instants([v]), instants([0.1 * i]))
            assert made.watts[0] == pytest.approx(float(row[f"recomputed_p{name}_w"]), rel=1e-9, abs=1e-12)
            budget = {f"shunt {name}v": abs(float(made.terms["shunt rail"][0])) if i else 0.0}
            channel = Channel("dmm", f"{name}v", "instant", "W", "dc_rail")
            parts.append((channel, Energy(name, "dc_rail", 1.0, float(made.watts[0]), combine(budget), budget)))
            volts, amps = volts + v, amps + i
        both = total("drive", "dc_rail", parts)
        assert both.joules == pytest.approx(float(row["recomputed_total_w"]), rel=1e-9)
        assert both.u == pytest.approx(float(row["recomputed_u_total_w"]), rel=1e-9)
        wrong = float(row["recomputed_wrong_sum_v_times_sum_i_w"])
        assert volts * amps == pytest.approx(wrong, rel=1e-9) and abs(wrong / (both.joules or 0.0) - 1) > 0.4


def test_mean_v_times_mean_i_is_not_the_mean_of_v_times_i(rows: Read) -> None:
    unlike = 0
    for row in rows("000_mean_product_vectors.csv"):
        v, i = ([float(word) for word in row[key].split()] for key in ("v_samples_v", "i_samples_a"))
        made = power(resistor(0.1, 0.0), instants(v), instants([0.1 * one for one in i]))
        mean = float(made.watts.mean())
        of_means = float(np.mean(v) * made.amps.mean())
        assert mean == pytest.approx(float(row["recomputed_mean_of_products_w"]), rel=1e-9)
        assert of_means == pytest.approx(float(row["recomputed_product_of_means_w"]), rel=1e-9)
        assert mean - of_means == pytest.approx(float(row["recomputed_covariance_w"]), rel=1e-6, abs=1e-12)
        unlike += mean != pytest.approx(of_means)
    assert unlike == 2


def test_the_dropped_sign_of_a_rail_that_feeds_back(rows: Read) -> None:
    """A parser of digits alone would make +60 mW of −60 mW."""
    (row,) = [row for row in rows("000_shunt_vectors.csv") if row["id"] == "12v_back_feed"]
    made = power(resistor(0.1, 1.0), instants([12.0] * 3), instants([float(row["v_shunt_v"])] * 3))
    seconds = made.at_ns / 1e9
    assert trapezoid(seconds, made.watts, 0.0, 2.0) == pytest.approx(2 * float(row["recomputed_p_w"]))


def test_the_dropped_zero_of_a_rail_without_current() -> None:
    """Samples of 0 V belong to the mean: filter(> 0) would double it."""
    made = power(resistor(0.1, 1.0), instants([12.0] * 4), instants([0.0, 0.1, 0.0, 0.1]))
    assert made.watts.tolist() == pytest.approx([0.0, 12.0, 0.0, 12.0])
    assert float(made.watts.mean()) == pytest.approx(6.0)
