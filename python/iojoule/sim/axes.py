"""Which swept parameter is which axis of a picture: what is a number and has most values runs along x, what is left
colours the lines, and what is then left makes pictures of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError
from iojoule.quantities import nbytes, rate, seconds

Row = Mapping[str, Any]

DECADES = 20
"""Values whose largest is so many times the least stand on a logarithmic axis."""

MOST_SERIES = 8
"""Colours that can be told apart; a parameter with more values does not colour lines unless nothing else can."""


@dataclass(frozen=True)
class Axes:
    """Roles of the parameters. `numeric`: x is a scale, not a list of names. `log`: its values spread over decades."""

    x: str | None
    series: tuple[str, ...]
    panels: tuple[str, ...]
    numeric: bool = False
    log: bool = False


def choose(parameters: Mapping[str, Sequence[Any]]) -> Axes:
    """Axes for swept parameters with their values; a parameter with one value is no axis."""
    swept = {key: list(values) for key, values in parameters.items() if len(values) > 1}
    if not swept:
        return Axes(None, (), ())
    scales = {key: numbers for key, values in swept.items() if (numbers := _scale(values)) is not None}
    x = max(scales or swept, key=lambda key: len(swept[key]))
    rest = [key for key in swept if key != x]
    # Cases and words first: they are what is compared.
    rest.sort(key=lambda key: (key != "case", key in scales, len(swept[key]) > MOST_SERIES))
    series: list[str] = []
    lines = 1
    for key in rest:
        if lines * len(swept[key]) <= MOST_SERIES or not series:
            series.append(key)
            lines *= len(swept[key])
    numbers = scales.get(x, [])
    positive = [value for value in numbers if value > 0]
    log = len(positive) == len(numbers) > 2 and max(positive) / min(positive) >= DECADES
    panels = tuple(key for key in rest if key not in series)
    return Axes(x, tuple(series), panels, x in scales, log)


def number(value: Any) -> float | None:
    """A value as a number, also where it is written as a size, time or rate."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    for read in (nbytes, seconds, rate):
        try:
            return float(read(value))
        except (ValueError, TypeError, ConfigError):
            continue
    return None


def shown(key: str, value: Any) -> str:
    """A value as a reader knows it: the end of the key where the value does not speak for itself."""
    if key == "case" or (isinstance(value, str) and number(value) is None):
        return word(value)
    return f"{label(key)} {word(value)}"


def label(key: str) -> str:
    """A key in words."""
    return key.rsplit(".", 1)[-1].replace("_", " ")


def spread(values: Sequence[float | None]) -> bool:
    """Whether the values ask for a logarithmic axis; zero has no place on one."""
    known = [value for value in values if value is not None]
    return bool(known) and min(known) > 0 and max(known) / min(known) >= DECADES


def word(value: Any) -> str:
    """A value as it is written on a page."""
    if isinstance(value, list):
        return ", ".join(map(word, value))
    text = str(value)
    # Of a file its name says enough; a rate has a slash, too.
    return Path(text).name if text.startswith(("/", "./", "../")) else text


def _scale(values: Sequence[Any]) -> list[float] | None:
    numbers = [number(value) for value in values]
    return None if any(one is None for one in numbers) else [one for one in numbers if one is not None]
