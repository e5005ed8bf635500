"""Readers of the golden vectors."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def document(golden: Path) -> Callable[[str], Any]:
    return lambda name: json.loads((golden / name).read_text(encoding="utf-8"))


@pytest.fixture
def table(golden: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Rows of a vector table, numbers as floats."""

    def read(name: str) -> list[dict[str, Any]]:
        with (golden / name).open(newline="", encoding="utf-8") as file:
            return [{key: _number(text) for key, text in row.items()} for row in csv.DictReader(file)]

    return read


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
