"""``iojoule trace convert``: from any format to the canonical table, or to one that another program replays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iojoule.cli.polled import polled
from iojoule.cli.trace_options import (
    AlignStarts,
    DeviceSize,
    Format,
    Json,
    KeepGoing,
    Sort,
    TimeUnit,
    Traces,
    reading,
    size_of,
)
from iojoule.cli.values import value_of

if TYPE_CHECKING:
    from iojoule._native import TraceProgress


class To(StrEnum):
    """What is written."""

    PARQUET = "parquet"
    DISKSIM = "disksim"
    FIO = "fio"
    CSV = "csv"


class Remap(StrEnum):
    """What becomes of addresses beyond the new device."""

    WRAP = "wrap"
    SCALE = "scale"
    REFUSE = "refuse"


def convert(
    traces: Traces,
    output: Annotated[Path, typer.Option("-o", "--output", help="What is written; its name tells the format.")],
    to: Annotated[To | None, typer.Option(help="Format written, where the name does not tell it.")] = None,
    format: Format = None,
    time_unit: TimeUnit = None,
    keep_going: KeepGoing = False,
    sort: Sort = False,
    align_starts: AlignStarts = False,
    device_size: DeviceSize = None,
    since: Annotated[str | None, typer.Option(help="From this time after the first request on: 90s, 2h.")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time after the first request.")] = None,
    device: Annotated[list[int] | None, typer.Option(help="Only this device (repeatable).")] = None,
    op: Annotated[list[str] | None, typer.Option(help="Only read, write, trim or flush (repeatable).")] = None,
    from_address: Annotated[str | None, typer.Option(help="Only requests from this byte on: 1GiB.")] = None,
    to_address: Annotated[str | None, typer.Option(help="Only requests that end at or before this byte.")] = None,
    concatenate: Annotated[
        bool, typer.Option("--concatenate", help="Put all devices behind one another as device 0.")
    ] = False,
    time_scale: Annotated[
        float | None, typer.Option(help="Multiply all times: 0.5 lets the trace run twice as fast.")
    ] = None,
    thin: Annotated[float | None, typer.Option(help="Keep one request in this many, each at its own time.")] = None,
    thin_seed: Annotated[int | None, typer.Option(min=0, help="Draw those kept; without it, evenly spaced.")] = None,
    remap: Annotated[Remap | None, typer.Option(help="Fit addresses to --remap-size: wrap, scale or refuse.")] = None,
    remap_size: Annotated[str | None, typer.Option(help="Size of the new device: 9GiB.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    json: Json = False,
) -> None:
    """Write the canonical Parquet table of traces in any known format, or DiskSim ASCII, a fio iolog (v3), CSV.

    Examples:  iojoule trace convert disk.trace -o disk.parquet  ·  iojoule trace convert sda.blktrace.* -o sda.parquet
    ·  iojoule trace convert day*.csv.gz -o quiet.parquet --until 1h --thin 4 --concatenate
    """
    from json import dumps, loads

    from iojoule import _native
    from iojoule.cli import console
    from iojoule.errors import ConfigError

    if (remap is None) != (remap_size is None):
        raise ConfigError("remap: --remap and --remap-size are given together", key="--remap")
    if thin_seed is not None and thin is None:
        raise ConfigError("thin-seed: needs --thin", key="--thin-seed")
    options: dict[str, Any] = {
        "paths": [str(trace) for trace in traces],
        "output": str(output),
        "force": force,
        "to": None if to is None else to.value,
        "read": reading(
            format=format,
            time_unit=time_unit,
            keep_going=keep_going,
            sort=sort,
            align_starts=align_starts,
            device_size=device_size,
        ),
        "select": {
            "since_s": _seconds(since, "--since"),
            "until_s": _seconds(until, "--until"),
            "devices": device,
            "ops": op,
            "from_byte": None if from_address is None else size_of(from_address, "--from-address"),
            "to_byte": None if to_address is None else size_of(to_address, "--to-address"),
        },
        "concatenate": concatenate,
        "time_scale": time_scale,
        "thin": None if thin is None else {"one_in": thin, "seed": thin_seed},
        "fit": None if remap is None else {"how": remap.value, "bytes": size_of(remap_size or "", "--remap-size")},
    }
    progress = _native.TraceProgress()
    with _shown(traces, progress):
        answer: dict[str, Any] = loads(_native.trace_convert(dumps(options), progress))
    console.answer(answer, answer["warnings"], convert_text, as_json=json)


def convert_text(answer: dict[str, Any]) -> str:
    """What was written, what was left out, where devices lie."""
    read = answer["read"]
    formats = ", ".join(sorted({file["format"] for file in read["files"]}))
    lines = [
        f"{answer['output']}: {answer['requests']:,} requests over {answer['duration_s']:,.3f} s, "
        f"of {read['requests']:,} read ({formats})"
    ]
    if read["late"]:
        lines.append(f"put in order   {read['late']:,} requests that stood behind a later one")
    left = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in answer["left"].items() if count]
    if left:
        lines.append(f"left out       {', '.join(left)}")
    for place in answer["layout"]:
        whence = "told" if place["size_from"] == "told" else "highest address, rounded up to 1 MiB"
        name = f" ({place['name']})" if place["name"] else ""
        lines.append(f"device {place['device']}{name} lies at {place['first_byte']}, {place['bytes']} bytes ({whence})")
    return "\n".join(lines)


def _seconds(text: str | None, option: str) -> float | None:
    from iojoule.quantities import seconds

    return None if text is None else value_of(text, seconds, option)


@contextmanager
def _shown(traces: list[Path], progress: TraceProgress) -> Iterator[None]:
    """A line on the terminal that says how much was read; nothing where stderr is not one."""
    if not sys.stderr.isatty():
        yield
        return
    total = sum(trace.stat().st_size for trace in traces if trace.is_file())

    def tell() -> None:
        print(f"\r{progress.bytes_read() / 1e6:,.0f} of {total / 1e6:,.0f} MB read", end="", file=sys.stderr)

    try:
        with polled(tell, 0.5):
            yield
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
