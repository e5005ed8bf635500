"""A whole log of power, CSV or Excel: which column is what, and its rows as windows on the log's own time.

Nothing is left out for being strange: samples that are lost leave a gap, codes for "no value" and stamps that go back
are kept and flagged. Stamps coarser than the rows (a minute for sixty of them) place each row by its turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import groupby, pairwise
from pathlib import Path
from statistics import median
from typing import Any, Literal

from iojoule.meters import log_text, ptdaemon_log
from iojoule.meters.log_text import Stamp

Window = Literal["before", "after", "instant"]


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a log as text, its header if it has one, and how many other lines there were."""

    names: tuple[str, ...]
    rows: list[list[str]]
    decimal: str
    other_lines: int

    def place(self, column: str) -> int:
        """Where a column stands: by its name, with or without its unit, or its number from 1. ValueError if nowhere."""
        if column.isdigit() and 1 <= int(column) <= self.width:
            return int(column) - 1
        plain = [log_text.header_unit(name)[0].lower() for name in self.names]
        for known, wanted in ((list(self.names), column), (plain, column.lower())):
            if wanted in known:
                return known.index(wanted)
        there = ", ".join(self.names) or f"numbers from 1 to {self.width}"
        raise ValueError(f"there is no column {column!r} (there are: {there})")

    @property
    def width(self) -> int:
        return len(self.rows[0]) if self.rows else len(self.names)

    def unit(self, place: int) -> str | None:
        """The unit its header gives a column."""
        return log_text.header_unit(self.names[place])[1] if self.names else None


def read_sheet(path: Path, sheet: str | None = None) -> Sheet:
    """The log at ``path``; ``sheet`` names one of an Excel file's. ValueError where it is none, OSError."""
    if path.suffix.lower() in (".xlsx", ".xlsm"):
        return _sheet(_excel(path, sheet), ".")
    data = path.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError("the log is empty")
    if (found := ptdaemon_log.table(lines)) is not None:
        return Sheet(*found, ".", len(lines) - len(found[1]))
    # From its end: at its begin a log may tell of itself.
    how = log_text.dialect(lines[-min(20, max(1, len(lines) // 2)) :])
    return _sheet([log_text.cells(line, how) for line in lines], how.decimal)


def _sheet(rows: list[list[str]], decimal: str) -> Sheet:
    usual = Counter(len(row) for row in rows).most_common(1)[0][0]
    whole = [row for row in rows if len(row) == usual]
    names: tuple[str, ...] = ()
    # Of several lines of words, such as the name of the device with its value, the last is the header.
    while whole and all(
        math.isnan(log_text.number(cell, decimal)) and not _is_stamp(cell) for cell in whole[0] if cell
    ):
        names, whole = tuple(whole[0]), whole[1:]
    return Sheet(names, whole, decimal, len(rows) - len(whole) - bool(names))


def _is_stamp(text: str) -> bool:
    try:
        log_text.stamp(text)
    except ValueError as error:
        return "day or month" in str(error)
    return True


def _excel(path: Path, sheet: str | None) -> list[list[str]]:
    try:
        import openpyxl
    except ImportError as error:
        raise ValueError("reading Excel needs openpyxl: pip install 'iojoule[tables]'") from error
    try:
        book: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # it raises whatever the file breaks
        raise ValueError(f"this is no Excel file: {error}") from error
    if sheet is not None and sheet not in book.sheetnames:
        raise ValueError(f"there is no sheet {sheet!r} (there are: {', '.join(book.sheetnames)})")
    page = book[sheet] if sheet else book.worksheets[0]
    rows = [[_cell(value) for value in row] for row in page.iter_rows(values_only=True)]
    return [row for row in rows if any(row)]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime | time):
        return value.isoformat()
    return repr(value) if isinstance(value, float) else str(value)


@dataclass(slots=True)
class Samples:
    """Rows as windows of the log's time, nanoseconds since 1970 (``utc``) or since its own start.

    ``u_ns`` is what its stamps leave open. ``found`` counts what was noticed, ``notes`` says what to do about it.
    """

    utc: bool
    interval_s: float
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    u_ns: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    flags: list[frozenset[str]] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def stamps_of(sheet: Sheet, place: int, form: str | None, offset: timedelta) -> list[Stamp | None]:
    """The times of a column; None for a cell that is none. ValueError where no cell is, or the first is ambiguous."""
    found: list[Stamp | None] = []
    trouble: ValueError | None = None
    for row in sheet.rows:
        try:
            found.append(log_text.stamp(row[place], form, offset))
        except ValueError as error:
            trouble = trouble or error
            found.append(None)
    if trouble and (not any(found) or "day or month" in str(trouble)):
        raise trouble
    return found


def samples(
    stamps: Sequence[Stamp | None] | None,
    values: Sequence[float],
    *,
    interval_s: float | None = None,
    window: Window = "before",
    sentinels: Sequence[float] = (),
) -> Samples:
    """The rows of a log as windows; without stamps one every ``interval_s``. ValueError where there is neither."""
    if stamps is None:
        if interval_s is None:
            raise ValueError("without a column of times, say how far apart the lines are with --interval")
        step_ns = int(interval_s * 1e9)
        stamps = [Stamp(i * step_ns, False, 1) for i in range(len(values))]
    rows = [(stamp, value) for stamp, value in zip(stamps, values, strict=True) if stamp is not None]
    if len(rows) < 2:
        raise ValueError("fewer than two lines have a time")
    utc = rows[0][0].utc
    times, given_s, u_ns = _times([stamp for stamp, _ in rows])
    said = interval_s or given_s
    out = Samples(utc, said)
    _count(out, "lines without a time", len(stamps) - len(rows))
    dt_ns = int(said * 1e9)
    last_ns: int | None = None
    for at_ns, u, (_, value) in zip(times, u_ns, rows, strict=True):
        flags: set[str] = set()
        if value in sentinels or math.isnan(value):
            flags |= {"sentinel", "invalid"}
            _count(out, "codes or cells without a value", 1)
        since_ns = dt_ns if last_ns is None else at_ns - last_ns
        if since_ns <= 0:
            same = since_ns == 0 and value == out.value[-1]
            _count(out, "lines repeated" if same else "stamps that go back or stand still", 1)
            flags |= {"stale"} if same else {"invalid"}
        elif since_ns > 1.5 * dt_ns:
            _count(out, "samples lost", round(since_ns / dt_ns) - 1)
            flags.add("gap_before")
        # Between two stamps as far apart as usual, a value holds from one to the other: intervals of a log vary.
        length_ns = since_ns if 0 < since_ns <= 1.5 * dt_ns else dt_ns
        begin, end = {"before": (at_ns - length_ns, at_ns), "after": (at_ns, at_ns + dt_ns), "instant": (at_ns, at_ns)}[
            window
        ]
        out.start_ns.append(begin)
        out.end_ns.append(end)
        out.u_ns.append(u)
        out.value.append(math.nan if "invalid" in flags else value)
        out.flags.append(frozenset(flags))
        last_ns = at_ns if since_ns > 0 else last_ns
    _suspect(out, [value for _, value in rows], sentinels)
    return out


def _times(stamps: Sequence[Stamp]) -> tuple[list[int], float, list[int]]:
    """(time of each row, usual interval in s, what is open of each time)."""
    groups = [len(list(group)) for _, group in groupby(stamp.ns for stamp in stamps)]
    turns = median(groups[1:-1]) if len(groups) > 2 else 1
    step_ns = max(stamp.step_ns for stamp in stamps)
    if turns < 2:
        later = [b.ns - a.ns for a, b in pairwise(stamps) if b.ns > a.ns]
        if not later:
            raise ValueError("all lines have the same time")
        u_ns = math.ceil(step_ns / math.sqrt(12))
        return [stamp.ns + stamp.step_ns // 2 for stamp in stamps], median(later) * 1e-9, [u_ns] * len(stamps)
    dt_ns = step_ns / turns
    times: list[int] = []
    u: list[int] = []
    at = 0
    for number, count in enumerate(groups):
        # The first stamp was cut short at its begin: its rows are the last ones of it.
        skipped = turns - count if number == 0 else 0
        times += [stamps[at].ns + round((skipped + turn + 1) * dt_ns) for turn in range(count)]
        missing = 0 if number in (0, len(groups) - 1) else abs(turns - count)
        u += [math.ceil((1 + missing) * dt_ns / math.sqrt(12))] * count
        at += count
    return times, dt_ns * 1e-9, u


def _suspect(out: Samples, values: Sequence[float], sentinels: Sequence[float]) -> None:
    """Whole numbers far below everything else that come again and again are codes rather than watts; say so."""
    positive = sorted(value for value in values if value > 0)
    if len(positive) < 10:
        return
    least = positive[len(positive) // 20] / 10
    low = [value for value in values if math.isfinite(value) and value < least and value not in sentinels]
    seen = Counter(value for value in low if value == int(value))
    codes = sorted((value, count) for value, count in seen.items() if count >= 3)
    if codes:
        listed = ", ".join(f"{value:g} ({count} times)" for value, count in codes)
        options = " ".join(f"--sentinel={value:g}" for value, _ in codes)
        out.notes.append(f"these look like codes rather than measurements: {listed}; if they are, give {options}")


def _count(out: Samples, what: str, more: int) -> None:
    if more:
        out.found[what] = out.found.get(what, 0) + more
