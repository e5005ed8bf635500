"""Energy counters run modulo their width; half a width between two looks is the most that can be believed."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.meters.counter import EnergyCounter, step, wrap_uncertain
from iojoule.meters.powercap import modulus_nj

RAPL_MAX_UJ = 262_143_328_850


def _nano(text: str) -> int:
    return int(Fraction(text) * 1000)


def test_wraps_are_those_of_the_golden_table(golden: Path) -> None:
    with (golden / "meter_rapl_wrap.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    for row in rows:
        if row["unit"] == "uJ":
            modulus = _nano(row["modulus"])
            assert modulus == modulus_nj(RAPL_MAX_UJ)
            delta, wrapped = step(_nano(row["previous"]), _nano(row["current"]), modulus)
            assert delta == _nano(row["recomputed_delta"]), row["id"]
            assert delta * 1e-9 == pytest.approx(float(row["recomputed_energy_j"]), rel=1e-9), row["id"]
        else:
            delta, wrapped = step(int(row["previous"]), int(row["current"]), int(row["modulus"]))
            assert delta == int(row["recomputed_delta"]), row["id"]
            assert delta / 2**14 == pytest.approx(float(row["recomputed_energy_j"]), rel=1e-9), row["id"]
        assert wrapped == bool(int(row["recomputed_wrapped"])), row["id"]


def test_doubt_begins_where_the_golden_table_says(golden: Path) -> None:
    with (golden / "meter_rapl_wrap_time.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert rows
    range_j = modulus_nj(RAPL_MAX_UJ) * 1e-9
    for row in rows:
        assert range_j == pytest.approx(float(row["recomputed_range_j"]), rel=1e-9)
        uncertain = wrap_uncertain(float(row["gap_s"]), float(row["p_max_w"]), range_j)
        assert uncertain == bool(int(row["recomputed_wrap_uncertain"])), row


def test_a_range_that_is_no_register_of_2_to_the_32_wraps_one_past_its_end() -> None:
    assert modulus_nj(65_532_610_987) == 2**32 * 15_258
    assert modulus_nj(999_999) == 1_000_000_000


@given(st.integers(1, 2**70), st.data())
def test_a_step_leads_from_the_previous_count_to_the_current_one(modulus: int, data: st.DataObject) -> None:
    previous, current = (data.draw(st.integers(0, modulus - 1)) for _ in range(2))
    used, wrapped = step(previous, current, modulus)
    assert 0 <= used < modulus
    assert (previous + used) % modulus == current
    assert wrapped == (previous + used >= modulus)


@given(st.lists(st.integers(0, 10**12), min_size=2, max_size=20))
def test_steps_add_up_to_what_was_used(uses: list[int]) -> None:
    counter, total = EnergyCounter(modulus_nj(RAPL_MAX_UJ), 1e9), 0
    joules = 0.0
    for second, used_nj in enumerate(uses):
        total += used_nj
        seen = counter.look(second * 10**9, total % counter.modulus_nj)
        joules += seen[1] if seen else 0.0
    assert joules == pytest.approx((total - uses[0]) * 1e-9, rel=1e-9)


def test_first_counter_reading_is_no_consumption() -> None:
    assert EnergyCounter(2**64, 100).look(0, 123_456) is None


def test_a_counter_set_back_is_no_wrap() -> None:
    counter = EnergyCounter(modulus_nj(RAPL_MAX_UJ), p_max_w=300)
    counter.look(0, 1000 * 10**9)
    seen = counter.look(10**9, 5 * 10**9)
    assert seen is not None and {"wrapped", "wrap_uncertain", "invalid"} <= set(seen[2])
