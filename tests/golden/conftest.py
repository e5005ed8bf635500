"""Readers of the tables of the seeds, and printed digits."""

import csv
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

Rows = list[dict[str, str]]


@pytest.fixture
def rows(golden: Path) -> Callable[[str], Rows]:
    """Rows of a table as text, since a printed digit is text."""

    def read(name: str) -> Rows:
        with (golden / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return read


@pytest.fixture
def printed_as() -> Callable[[float, str], str]:
    """How a value relates to what was printed: `rounded` half up, `truncated`, or `differs`, to the last digit.

    The value is taken to ten significant digits first, as the tables keep it: 106.25 must not become 106.2499999.
    """

    def relation(value: float, printed: str) -> str:
        exact, step = Decimal(f"{value:.10g}"), Decimal(printed).as_tuple().exponent
        place = Decimal(1).scaleb(int(step))
        if exact.quantize(place, ROUND_HALF_UP) == Decimal(printed):
            return "rounded"
        return "truncated" if exact.quantize(place, ROUND_DOWN) == Decimal(printed) else "differs"

    return relation
