"""What a reading is: a value over a window of host time, with an uncertainty and flags."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from iojoule.meters import wire
from iojoule.meters.base import Accuracy, Channel, Reading, read

WALL = Channel("power", "power", "W", "ac_wall", "window_mean", u_rel=0.001, u_abs=0.01)


def test_a_reading_cannot_end_before_it_starts() -> None:
    with pytest.raises(ValueError, match="cannot end 1 ns before it starts"):
        read(WALL, 10, 9, 0, 18.0)


def test_a_flag_nobody_defined_is_refused() -> None:
    with pytest.raises(ValueError, match="suspicious"):
        read(WALL, 0, 1, 0, 18.0, "suspicious")


def test_an_unknown_accuracy_is_not_zero_uncertainty() -> None:
    assert math.isnan(Channel("c", "power", "W", "device", "instant").u(18.0))
    assert WALL.u(-18.0) == pytest.approx(0.028)


def test_counted_joules_are_divided_by_their_own_window() -> None:
    assert Reading("e", "energy", "J", 0, 500_000_000, 0, 6.0, 0.0).watts == pytest.approx(12.0)
    assert Reading("e", "energy", "J", 0, 500_000_000, 0, 6.0, 0.0, frozenset({"invalid"})).watts is None


def test_zero_and_negative_values_are_measurements() -> None:
    assert read(WALL, 0, 1, 0, 0.0).good
    assert read(WALL, 0, 1, 0, -0.5).watts == -0.5


@pytest.mark.parametrize("value", [0.0, -0.5, 18.03, math.nan])
def test_the_wire_gives_back_what_it_was_given(value: float) -> None:
    sent = read(WALL, 5, 7, 1, value, "overload", "gap_before")
    got = wire.reading(wire.row(sent))
    assert (got.value == value or math.isnan(value)) and got.flags == "gap_before overload"
    assert (got.start_ns, got.end_ns, got.u_time_ns, got.seq) == (5, 7, 1, 0)


def test_instrument_budgets_are_those_of_the_golden_table(golden: Path) -> None:
    with (golden / "meter_instrument_uncertainty.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    for row in rows:
        watts = float(row["reading_w"])
        range_w = float(row["range_v"]) * float(row["range_a"])
        accuracy = Accuracy(float(row["rdg_pct"]), float(row["rng_pct"]), range_w)
        assert accuracy.half_width(watts) == pytest.approx(float(row["recomputed_half_width_w"]), rel=1e-9), row["id"]
        assert accuracy.u(watts) == pytest.approx(float(row["recomputed_u_w"]), rel=1e-9), row["id"]
        channel = Channel("p", "power", "W", "ac_wall", "window_mean", u_rel=accuracy.u_rel, u_abs=accuracy.u_abs)
        assert channel.u(watts) == pytest.approx(float(row["recomputed_u_w"]), rel=1e-9), row["id"]
