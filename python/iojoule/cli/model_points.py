"""Measured points over queue depth, from a CSV file or the command line; what is wrong is said with its place."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def told_points(rates: Sequence[str], watts: Sequence[str]) -> list[Point]:
    """The points of ``DEPTH=IOPS`` and ``DEPTH=WATTS``. Watts may stand at depths without a rate; ConfigError with
    the option and what was given."""
    from iojoule.errors import ConfigError
    from iojoule.models.laws import Point

    points = [Point(depth, iops) for depth, iops in (_pair("--point", text) for text in rates)]
    drawn = [_pair("--watts", text) for text in watts]
    if odd := next((point for point in points if not (point.queue_depth and point.iops)), None):
        raise ConfigError("depth and rate are above 0", key="--point", value=f"{odd.queue_depth:g}={odd.iops:g}")
    if watts and len({depth for depth, _ in drawn}) < 2:
        raise ConfigError("power over depth needs watts at two different depths; 0 is idle", key="--watts")
    for depth, power in drawn:
        here = (i for i, point in enumerate(points) if point.queue_depth == depth and point.watts is None)
        at = next(here, None)
        if at is None:
            points.append(Point(depth, 0.0, power))
        else:
            points[at] = Point(depth, points[at].iops, power)
    return points


def _pair(key: str, text: str) -> tuple[float, float]:
    from iojoule.errors import ConfigError

    depth, _, value = text.partition("=")
    try:
        pair = float(depth), float(value)
    except ValueError:
        pair = math.nan, math.nan
    if not all(_measurable(one) for one in pair):
        raise ConfigError(f"{key} is DEPTH=VALUE, numbers from 0 to {MOST:g}, for example 32=398", key=key, value=text)
    return pair


def _separator(header: str) -> str:
    """What stands between the columns: a comma, or the semicolon or tab that spreadsheets also write."""
    return next((mark for mark in ",;\t" if mark in header), ",")


def _number(file: Path, line: int, name: str, text: str) -> float:
    from iojoule.errors import ConfigError

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not _measurable(value):
        raise ConfigError(
            f"{name} is a number from 0 to {MOST:g}, not {text!r}", key=name, file=file, line=line, value=text
        )
    return value


def _measurable(value: float) -> bool:
    return value == 0 or 1 / MOST <= value <= MOST
