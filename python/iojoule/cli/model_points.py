"""Measured points over queue depth from a CSV file; what is wrong in it is said with its line."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iojoule.models.laws import Point

COLUMNS = ("queue_depth", "iops", "watts", "latency_ms")
NEEDED = COLUMNS[:2]
MOST = 1e15
"""Far beyond what can be measured; the squares of what lies farther out are no numbers."""


def read_points(file: Path) -> list[Point]:
    """The points of a CSV with the columns ``queue_depth`` and ``iops``; ``watts`` and ``latency_ms`` may be there.

    Depth 0 is the idle measurement: watts, and no rate. Other columns are left alone. ConfigError with file and line.
    """
    from iojoule.errors import ConfigError
    from iojoule.models.laws import Point

    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {getattr(error, 'strerror', None) or error}", file=file) from None
    separator = _separator(lines[0] if lines else "")
    rows = csv.DictReader(lines, skipinitialspace=True, delimiter=separator)
    names = [name.strip() for name in rows.fieldnames or ()]
    rows.fieldnames = names
    if missing := [name for name in NEEDED if name not in names]:
        raise ConfigError(
            f"no column {' and no column '.join(missing)} in the first line", file=file, line=1, allowed=COLUMNS
        )
    points = []
    for row in rows:
        cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
        if separator == ";":  # which spreadsheets write where the comma is the decimal mark
            cells = {name: text.replace(",", ".") for name, text in cells.items()}
        if not any(cells.values()):
            continue
        found = {name: _number(file, rows.line_num, name, text) for name, text in cells.items() if text}
        if "queue_depth" not in found:
            raise ConfigError("a row without its depth", key="queue_depth", file=file, line=rows.line_num)
        idle = found["queue_depth"] == 0
        if not idle and not found.get("iops"):
            raise ConfigError("a row without its rate", key="iops", file=file, line=rows.line_num)
        if idle and "watts" not in found:
            raise ConfigError("depth 0 is idle: it needs its watts", key="watts", file=file, line=rows.line_num)
        points.append(Point(found["queue_depth"], found.get("iops", 0.0), found.get("watts"), found.get("latency_ms")))
    return points


def _separator(header: str) -> str:
    """What stands between the columns: a comma, or the semicolon or tab that spreadsheets also write."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def _number(file: Path, line: int, name: str, text: str) -> float:
    from iojoule.errors import ConfigError

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value == 0 or 1 / MOST <= value <= MOST):
        raise ConfigError(
            f"{name} is a number from 0 to {MOST:g}, not {text!r}", key=name, file=file, line=line, value=text
        )
    return value
