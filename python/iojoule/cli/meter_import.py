"""``iojoule meter import``: the log of a meter that was not attached, brought to a run's clock and kept beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from datetime import timedelta

    from iojoule.meters.base import Channel
    from iojoule.meters.log_table import Sheet

SEARCH_S = 60.0
"""How far the load is looked for, where nothing else is said."""


def import_log(
    run: Annotated[Path, typer.Argument(help="The folder of a run.")],
    log: Annotated[Path, typer.Argument(help="The log: .csv and other text, or .xlsx.")],
    name: Annotated[str | None, typer.Option(help="Of the meter; the name of the log if left out.")] = None,
    offset: Annotated[
        str | None, typer.Option(help="How far the log's clock is ahead of the host's, as -3.2s.")
    ] = None,
    pulse: Annotated[bool, typer.Option("--pulse", help="Find the offset by the load of the run.")] = False,
    search: Annotated[str | None, typer.Option(help="With --pulse: at most this far away; 60s.")] = None,
    u_clock: Annotated[str | None, typer.Option(help="Standard uncertainty of the offset; told by its digits.")] = None,
    time_column: Annotated[str | None, typer.Option(help="Name or number (from 1) of the column of times.")] = None,
    value_column: Annotated[str | None, typer.Option(help="Name or number of the column of values.")] = None,
    time_format: Annotated[str | None, typer.Option(help="Of the times, as of strptime.")] = None,
    utc_offset: Annotated[str, typer.Option(help="How far the log's time zone is ahead of UTC, as 2h or -5h.")] = "0s",
    unit: Annotated[
        str | None, typer.Option(help="Of the values: W, mW, kW, ...; from the header if it says so.")
    ] = None,
    interval: Annotated[str | None, typer.Option(help="Between two lines, where there are no times.")] = None,
    window: Annotated[str, typer.Option(help="A value holds before its time, after it, or at the instant.")] = "before",
    sentinel: Annotated[
        list[float] | None, typer.Option(help="A value that means 'no value'; may be repeated.")
    ] = None,
    u_rel: Annotated[float | None, typer.Option(help="Relative standard uncertainty of a value.")] = None,
    u_abs: Annotated[float | None, typer.Option(help="Standard uncertainty of a value, in its unit.")] = None,
    boundary: Annotated[str, typer.Option(help="ac_wall, dc_rail, device or modelled.")] = "ac_wall",
    role: Annotated[
        str, typer.Option(help="What it feeds: system, server, drive, cpu; other is added to no other meter.")
    ] = "other",
    drive: Annotated[str | None, typer.Option(help="The drive it feeds, for the role drive.")] = None,
    sheet: Annotated[str | None, typer.Option(help="Of an Excel file; the first if left out.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be imported; change nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier import of the same name.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Add the readings of a log to a run that is over; what was recorded is not touched.

    Exits 1 if the log does not overlap the run.

    Examples:  iojoule meter import runs/20260101T12_web/runs/000_web plug.csv --pulse --unit W
    · iojoule meter import RUN log.xlsx --offset 3.2s --time-column Time --value-column "Power (W)"
    """
    from iojoule.cli import console
    from iojoule.cli.values import value_of
    from iojoule.errors import ConfigError, Exit
    from iojoule.experiment.log_import import align, table
    from iojoule.meters.base import Description
    from iojoule.meters.log_table import read_sheet, samples, stamps_of
    from iojoule.meters.log_text import number
    from iojoule.quantities import seconds
    from iojoule.store import imported
    from iojoule.store.reader import open_run

    if offset is not None and pulse and search is None:
        search = "5s"  # the offset is where to look
    offset_s = None if offset is None else value_of(offset, _signed, "--offset")
    u_s = value_of(u_clock, seconds, "--u-clock") if u_clock else _digits(offset) if offset else None
    search_s = value_of(search, seconds, "--search") if search else SEARCH_S
    interval_s = None if interval is None else value_of(interval, seconds, "--interval")
    folder = open_run(run)
    if folder.status == "running":
        raise ConfigError("the run goes on; import when it has ended", value=str(run))
    try:
        page = read_sheet(log, sheet)
        when = _time_place(page, time_column)
        what = _value_place(page, value_column, when)
        channel, scale = _channel(page, what, unit, window, boundary, role, drive, u_rel, u_abs)
        ahead = _timedelta(utc_offset)
        stamps = None if when is None else stamps_of(page, when, time_format, ahead)
        values = [number(row[what], page.decimal) for row in page.rows]
        read = samples(
            stamps, values, interval_s=interval_s, window=cast("Any", _one_of(window, WINDOWS, "--window")),
            sentinels=sentinel or (),
        )  # fmt: skip
    except OSError as error:
        raise ConfigError(f"cannot read the log: {error.strerror}", file=log) from error
    except ValueError as error:
        raise ConfigError(str(error), file=log) from error
    read.value = [value * scale for value in read.value]
    aligned = align(folder, read, offset_s=offset_s, u_s=u_s, search_s=search_s if pulse else None)
    meter = name or _plain_name(log.stem)
    readings = table(meter, channel, read, aligned)
    span = _overlap(folder, aligned.start_ns, aligned.end_ns)
    identity = {"log": log.name, "sha256": _hash(log), "time_column": when and when + 1, "value_column": what + 1}
    document = Description(identity, (channel,)).document(meter, "import", read.interval_s)
    how = {"alignment": aligned.how, "found": read.found, "interval_s": read.interval_s}
    path = None if dry_run or not span else imported.add(run, document, readings, how, force=force)
    notes = [*read.notes, *aligned.notes]
    if not span:
        notes.append("the log and the run have no time in common: is it of this run, and its time zone UTC?")
    code = int(Exit.FINE if span else Exit.CHECK_FAILED)
    said = {"meter": meter, "readings": readings.num_rows, **how, "overlap_s": span, "notes": notes, "exit": code}
    if json:
        console.document(said | {"table": path and str(path)})
        return code
    print(
        f"{meter}: {readings.num_rows:,} readings of {channel.quantity} in {channel.unit}, every {read.interval_s:g} s"
    )
    ahead_s = f"{aligned.how['offset_s']:+.4f} s ahead, u = {aligned.u_s:.4f} s"
    print(f"  aligned by {aligned.how['by']}: the log's clock is {ahead_s}")
    print(f"  {span:.1f} s of it lie within the run")
    for what_found, count in read.found.items():
        print(f"  {what_found}: {count}")
    for note in notes:
        print(f"  note: {note}")
    print("nothing was changed" if path is None else f"kept in {path}")
    return code


WINDOWS = ("before", "after", "instant")


def _one_of(text: str, allowed: tuple[str, ...], option: str) -> str:
    from iojoule.errors import ConfigError

    if text not in allowed:
        raise ConfigError(f"{text!r} is none of them", key=option, value=text, allowed=allowed)
    return text


def _signed(text: str) -> float:
    from iojoule.quantities import seconds

    return -seconds(text[1:]) if text.startswith("-") else seconds(text.removeprefix("+"))


def _digits(offset: str) -> float:
    """3.2s is known to a tenth of a second, one standard deviation being 0.03 s."""
    import math
    import re

    from iojoule.quantities import seconds

    match = re.search(r"(?:\.(\d+))?\s*([a-zµ]+)\s*$", offset)
    one: float = seconds(f"1{match[2]}") if match else 1.0
    digits = len(match[1] or "") if match else 0
    return float(one / 10**digits / math.sqrt(12))


def _timedelta(text: str) -> timedelta:
    from datetime import timedelta

    return timedelta(seconds=_signed(text))


def _time_place(page: Sheet, column: str | None) -> int | None:
    """The column of times: the one that is named, or the first whose first cell is a time and no plain value."""
    from iojoule.meters.log_text import stamp

    if column is not None:
        return page.place(column)
    if not page.rows:
        raise ValueError("the log has a header and nothing else")
    for place, cell in enumerate(page.rows[0]):
        try:
            found = stamp(cell)
        except ValueError as error:
            if "day or month" in str(error):
                return place
            continue
        if found.utc or ":" in cell or (page.names and page.names[place].lower().startswith(("time", "zeit", "t"))):
            return place
    return None


def _value_place(page: Sheet, column: str | None, when: int | None) -> int:
    """The column of values: the one that is named, the only other one, or the only one in watts."""
    if column is not None:
        return page.place(column)
    others = [place for place in range(page.width) if place != when]
    if len(others) == 1:
        return others[0]
    watts = [place for place in others if (page.unit(place) or "") in ("W", "mW", "kW")]
    if len(watts) == 1:
        return watts[0]
    there = ", ".join(page.names) or f"numbers from 1 to {page.width}"
    raise ValueError(f"which column holds the power? give --value-column (there are: {there})")


def _channel(
    page: Sheet, what: int, unit: str | None, window: str, boundary: str, role: str, drive: str | None,
    u_rel: float | None, u_abs: float | None,
) -> tuple[Channel, float]:  # fmt: skip
    from typing import get_args

    from iojoule.meters.base import Boundary, Channel, Role
    from iojoule.meters.log_text import UNITS

    written = unit or page.unit(what)
    if written is None:
        raise ValueError("the header names no unit; give --unit W")
    if UNITS.get(written, ("",))[0] != "power":
        powers = ", ".join(name for name, (quantity, _, _) in UNITS.items() if quantity == "power")
        raise ValueError(f"{written!r} is no unit of power ({powers})")
    _one_of(boundary, get_args(Boundary), "--boundary")
    _one_of(role, get_args(Role), "--role")
    scale = UNITS[written][2]
    kind = "instant" if window == "instant" else "window_mean"
    absolute = None if u_abs is None else u_abs * scale
    return Channel(
        "power", "power", "W", cast("Any", boundary), cast("Any", kind), u_rel=u_rel, u_abs=absolute,
        role=cast("Any", role), drive=drive,
    ), scale  # fmt: skip


def _plain_name(stem: str) -> str:
    import re

    return re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "log"


def _overlap(run: Any, start_ns: list[int], end_ns: list[int]) -> float:
    """Seconds of the log within the run."""
    pairs = run.manifest["clock_pairs"]
    first_ns, last_ns = int(pairs[0][0]), int(pairs[-1][0])
    return max(0.0, (min(max(end_ns), last_ns) - max(min(start_ns), first_ns)) * 1e-9)


def _hash(path: Path) -> str:
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
