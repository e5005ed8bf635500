"""Logs of power that other programs write, as people find them: CSV with commas or semicolons, decimal commas, units in
the header, stamps in a dozen notations. Everything is told by what stands there; what is ambiguous is an error.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

#: Written unit → (quantity, unit of the reading, factor).
UNITS = {
    **{f"{prefix}W": ("power", "W", scale) for prefix, scale in (("", 1.0), ("u", 1e-6), ("m", 1e-3), ("k", 1e3))},
    **{f"{prefix}Wh": ("energy", "J", 3600 * scale) for prefix, scale in (("", 1.0), ("m", 1e-3), ("k", 1e3))},
    **{f"{prefix}J": ("energy", "J", scale) for prefix, scale in (("", 1.0), ("u", 1e-6), ("m", 1e-3), ("k", 1e3))},
    **{f"{prefix}V": ("voltage", "V", scale) for prefix, scale in (("", 1.0), ("u", 1e-6), ("m", 1e-3))},
    **{f"{prefix}A": ("current", "A", scale) for prefix, scale in (("", 1.0), ("u", 1e-6), ("m", 1e-3))},
}
_LONG = {"watt": "W", "watts": "W", "volt": "V", "volts": "V", "amp": "A", "amps": "A", "ampere": "A", "joules": "J"}
_FORMATS = (
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%d.%m.%Y %H:%M:%S.%f",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%H:%M:%S.%f",
    "%H:%M:%S",
)
#: Day or month first: never guessed.
_AMBIGUOUS = re.compile(r"\d{1,2}[/-]\d{1,2}[/-]\d{4}")


@dataclass(frozen=True, slots=True)
class Dialect:
    """What separates the columns and what the decimals."""

    delimiter: str
    decimal: str


def dialect(lines: Sequence[str]) -> Dialect:
    """The dialect of a log, from its first lines; ValueError where they have no columns in common."""
    for delimiter in (";", "\t", ",", " "):
        counts = [line.count(delimiter) for line in lines if line.strip()]
        if delimiter == " " and not re.match(r"\s*[+-]?\d", lines[-1] if lines else ""):
            continue  # a name of two words is no two columns
        if counts and min(counts) >= 1:
            comma = delimiter != "," and any(re.search(r"\d,\d", line) for line in lines)
            return Dialect(delimiter, "," if comma else ".")
    if lines and all(re.fullmatch(r"[^;,\t]*", line) for line in lines):
        return Dialect(",", ".")  # a single column
    raise ValueError("the lines have no separator in common: semicolon, tab, comma or blank")


def cells(line: str, how: Dialect) -> list[str]:
    """The columns of a line; quoted ones may hold the separator. Runs of blanks are one separator."""
    if how.delimiter == " ":
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line], delimiter=how.delimiter), [])]


def number(text: str, decimal: str = ".") -> float:
    """The number in a cell, a unit after it left aside; NaN where there is none."""
    text = text.strip().replace("\u2212", "-")
    if decimal == ",":
        text = text.replace(".", "").replace(",", ".")
    match = re.match(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(?=\s*[A-Za-zµ%°]*\s*$)", text)
    return float(match[0]) if match else math.nan


def header_unit(name: str) -> tuple[str, str | None]:
    """``Power (W)``, ``P [mW]``, ``power_w``, ``Watts`` → the name without its unit, and the unit as in ``UNITS``."""
    bracketed = re.fullmatch(r"(.*?)[\s_]*[\[(]\s*([^\])]+?)\s*[\])]", name.strip())
    if bracketed:
        return bracketed[1].strip(), unit_named(bracketed[2])
    stem, _, tail = name.strip().rpartition("_")
    if stem and unit_named(tail):
        return stem, unit_named(tail)
    return name.strip(), unit_named(name)


def unit_named(text: str) -> str | None:
    """The key of ``UNITS`` that ``text`` spells, in any case but for milli and mega; None where it spells none."""
    text = text.strip().replace("µ", "u").replace("μ", "u")
    if text in UNITS:
        return text
    if text.lower() in _LONG:
        return _LONG[text.lower()]
    found = [unit for unit in UNITS if unit.lower() == text.lower()]
    return found[0] if len(found) == 1 and not text.startswith("M") else None


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time in a log: nanoseconds since 1970 (``utc``) or since some start, and the step it is written in."""

    ns: int
    utc: bool
    step_ns: int


def stamp(text: str, form: str | None = None, offset: timedelta = timedelta()) -> Stamp:
    """The time ``text`` says; ``offset`` is how far its clock is ahead of UTC where it does not say so itself.

    Numbers are seconds (milli-, micro-, nanoseconds) since 1970 by their size, small ones seconds since the start.
    ``form`` is a format of strptime. ValueError where it is no time, or day and month cannot be told apart.
    """
    text = text.strip()
    if form is None and re.fullmatch(r"[+-]?\d+([.,]\d+)?", text):
        return _of_number(text.replace(",", "."))
    if form is None and _AMBIGUOUS.match(text):
        raise ValueError(f"{text!r}: day or month first? give the format, such as %d/%m/%Y %H:%M:%S")
    found = _parsed(text, form)
    step_ns = _step_ns(text)
    if found.year == 1900:  # a time of day alone
        since = found - datetime(1900, 1, 1)
        return Stamp(round(since.total_seconds() * 1e9), False, step_ns)
    if found.tzinfo is None:
        found = found.replace(tzinfo=timezone(offset))
    since = found.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return Stamp((since // timedelta(microseconds=1)) * 1000, True, step_ns)


def _parsed(text: str, form: str | None) -> datetime:
    if form is None:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass
    for one in [form] if form else _FORMATS:
        try:
            return datetime.strptime(text, one)
        except ValueError:
            continue
    raise ValueError(f"{text!r} is no time" + (f" of the form {form}" if form else ""))


def _of_number(text: str) -> Stamp:
    whole, _, part = text.partition(".")
    unit_ns = next((u for most, u in ((1e11, 10**9), (1e14, 10**6), (1e17, 10**3)) if abs(int(whole)) < most), 1)
    ns = int(whole) * unit_ns + (-1 if text.startswith("-") else 1) * round(float(f"0.{part or 0}") * unit_ns)
    return Stamp(ns, abs(ns) > 5 * 10**17, max(1, unit_ns // 10 ** len(part)))


def _step_ns(text: str) -> int:
    """What one more in the last place means: minutes, seconds, or a decimal part of one."""
    clock = re.search(r"\d{1,2}:\d{2}(:\d{2}(?:[.,](\d+))?)?", text)
    if clock is None or clock[1] is None:
        return 60 * 10**9
    digits = min(9, len(clock[2] or ""))
    return int(10 ** (9 - digits))
