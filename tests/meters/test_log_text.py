"""Logs as people find them: separators, decimal commas, units of headers and stamps in many notations."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.meters.log_text import Dialect, cells, dialect, header_unit, number, stamp


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["time,watts", "1,2.5"], Dialect(",", ".")),
        (["Zeit;Leistung (W)", "10:00:00;12,5"], Dialect(";", ",")),
        (["t;w", "1;2.5"], Dialect(";", ".")),
        (["t\tw", "1\t2,5"], Dialect("\t", ",")),
        (["12.5", "13.5"], Dialect(",", ".")),
        (["1 2.5", "2  3.5"], Dialect(" ", ".")),
    ],
)
def test_separator_and_decimal_are_told_from_the_lines(lines: list[str], expected: Dialect) -> None:
    assert dialect(lines) == expected


def test_a_quoted_cell_may_hold_the_separator() -> None:
    assert cells('"a, b",2', Dialect(",", ".")) == ["a, b", "2"]


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("12.5", ".", 12.5), ("12,5", ",", 12.5), ("1.234,5", ",", 1234.5), ("-3.1E-2 W", ".", -0.031),
        ("+5", ".", 5.0), ("0", ".", 0.0), ("\u221212.5", ".", -12.5), ("", ".", math.nan), ("n/a", ".", math.nan),
        ("12.5.6", ".", math.nan), ("2 3", ".", math.nan),
    ],
)  # fmt: skip
def test_a_cell_is_a_number_with_its_sign_and_exponent_or_none(text: str, decimal: str, value: float) -> None:
    assert number(text, decimal) == pytest.approx(value, nan_ok=True)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_every_number_is_read_as_it_was_written(value: float) -> None:
    assert number(repr(value)) == value
    assert number(f"{value:f}".replace(".", ","), ",") == float(f"{value:f}")


@pytest.mark.parametrize(
    ("name", "stem", "unit"),
    [
        ("Power (W)", "Power", "W"), ("P [mW]", "P", "mW"), ("power_w", "power", "W"), ("Watts", "Watts", "W"),
        ("Energy (kWh)", "Energy", "kWh"), ("Temp (C)", "Temp", None), ("P (MW)", "P", None), ("load", "load", None),
    ],
)  # fmt: skip
def test_units_stand_in_headers_in_several_ways(name: str, stem: str, unit: str | None) -> None:
    assert header_unit(name) == (stem, unit)


UTC_NS = 1_397_122_080 * 10**9  # 2014-04-10 09:28:00 UTC


@pytest.mark.parametrize(
    ("text", "ns", "step_ns"),
    [
        ("2014/4/10 9:28", UTC_NS, 60 * 10**9),
        ("2014-04-10T09:28:00Z", UTC_NS, 10**9),
        ("2014-04-10 11:28:00+02:00", UTC_NS, 10**9),
        ("10.04.2014 09:28:00", UTC_NS, 10**9),
        ("2014-04-10 09:28:00.250", UTC_NS + 250_000_000, 10**6),
        ("1397122080", UTC_NS, 10**9),
        ("1397122080.5", UTC_NS + 5 * 10**8, 10**8),
        ("1397122080500", UTC_NS + 5 * 10**8, 10**6),
        ("1397122080500000000", UTC_NS + 5 * 10**8, 1),
    ],
)
def test_a_stamp_is_utc_with_the_step_it_is_written_in(text: str, ns: int, step_ns: int) -> None:
    found = stamp(text)
    assert (found.ns, found.utc, found.step_ns) == (ns, True, step_ns)


def test_a_local_clock_is_told_by_its_offset() -> None:
    assert stamp("2014/4/10 11:28", offset=timedelta(hours=2)).ns == UTC_NS


@pytest.mark.parametrize(("text", "ns"), [("12.5", 12_500_000_000), ("00:01:02.5", 62_500_000_000), ("0", 0)])
def test_small_numbers_and_times_of_day_are_since_some_start(text: str, ns: int) -> None:
    assert (stamp(text).ns, stamp(text).utc) == (ns, False)


def test_day_and_month_are_never_guessed() -> None:
    with pytest.raises(ValueError, match="day or month first"):
        stamp("12-11-2020 10:21:51.496")
    assert stamp("12-23-2020 10:21:51.496", "%m-%d-%Y %H:%M:%S.%f").ns % 10**9 == 496_000_000
    with pytest.raises(ValueError, match="is no time"):
        stamp("yesterday")
