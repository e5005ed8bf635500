"""Quantities mean what a storage engineer reads in them."""

import pytest

from iojoule.quantities import nbytes, rate, seconds


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
