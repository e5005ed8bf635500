"""Quantities mean what a storage engineer reads in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.quantities import nbytes, rate, seconds, spelled_size, spelled_time


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30s", 30.0), ("250ms", 0.25), ("1h30m", 5400.0), ("2 min", 120.0), (1.5, 1.5), ("80us", 80e-6), ("1d", 86400.0)],
)
def test_a_time_is_read_in_seconds(text: str | float, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "expected"), [("4KiB", 4096), ("1kB", 1000), ("1.5GB", 1_500_000_000), (7, 7), ("8B", 8)]
)
def test_binary_and_decimal_prefixes_differ(text: str | int, expected: int) -> None:
    assert nbytes(text) == expected


@given(st.integers(min_value=0, max_value=1 << 53))
def test_a_size_as_it_is_spelled_is_that_size(size: int) -> None:
    assert nbytes(spelled_size(size)) == size


def test_a_size_is_spelled_in_the_unit_it_is_a_whole_number_of() -> None:
    spelled = [spelled_size(size) for size in (4096, 1 << 20, 10_000_000, 512, 0)]
    assert spelled == ["4KiB", "1MiB", "10MB", "512B", "0B"]


@pytest.mark.parametrize(
    ("span_s", "text"),
    [(7.5, "7.5s"), (60, "1min"), (59.96, "1min"), (270, "4min30s"), (3599.6, "1h00min"), (3900, "1h05min")],
)
def test_a_time_is_spelled_for_people_and_can_be_read_again(span_s: float, text: str) -> None:
    assert spelled_time(span_s) == text
    assert seconds(text) == pytest.approx(span_s, rel=0.01)


def test_a_rate_is_per_second() -> None:
    assert (rate("500/s"), rate("30/min"), rate(2)) == (500.0, 0.5, 2.0)


@pytest.mark.parametrize("text", ["", "fast", "3 parsecs", "4k s", "1s2", "10%"])
def test_nonsense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        seconds(text)


@pytest.mark.parametrize("text", ["4Kb", "0.3B", "big"])
def test_a_wrong_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        nbytes(text)


@pytest.mark.parametrize(
    ("text", "fits"), [("2s", True), ("0s", False), ("-1s", False), ("nan", False), (float("nan"), False)]
)
def test_a_field_may_bound_a_quantity(text: str | float, fits: bool) -> None:
    from pydantic import BaseModel, Field, ValidationError

    from iojoule.quantities import Seconds

    class Model(BaseModel):
        wait: Seconds = Field(gt=0)

    if fits:
        assert Model.model_validate({"wait": text}).wait == 2.0
    else:
        with pytest.raises(ValidationError):
            Model.model_validate({"wait": text})


def test_a_bound_of_a_field_is_kept_and_none_is_negative() -> None:
    from pydantic import BaseModel, Field, ValidationError

    from iojoule.quantities import Size

    class Model(BaseModel):
        sector: Size = Field(ge=512)
        offset: Size = 0

    assert Model(sector=512).sector == 512
    for wrong in ({"sector": 511}, {"sector": 512, "offset": -1}):
        with pytest.raises(ValidationError):
            Model.model_validate(wrong)


@pytest.mark.parametrize("text", ["1e30s", 1e30, "300000d", float("inf")])
def test_a_time_fits_into_nanoseconds_of_64_bits(text: str | float) -> None:
    with pytest.raises(ValueError, match=r"longer than|no finite number"):
        seconds(text)
