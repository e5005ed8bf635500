"""``iojoule trace info``: what a block trace is like."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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


def info(
    traces: Traces,
    format: Format = None,
    time_unit: TimeUnit = None,
    sort: Sort = False,
    keep_going: KeepGoing = False,
    align_starts: AlignStarts = False,
    device_size: DeviceSize = None,
    block: Annotated[str, typer.Option(help="Granularity by which a read is one after a write.")] = "4KiB",
    json: Json = False,
) -> None:
    """I/Os, rate, reads, seek locality, reads after writes, sizes, gaps, sequentiality; by device too.

    Examples:  iojoule trace info disk.trace.gz  ·  iojoule trace info --json --time-unit ms old.trace
    """
    from json import dumps, loads

    from iojoule import _native
    from iojoule.cli import console
    from iojoule.cli.trace_text import info_text

    asked = {
        "paths": [str(trace) for trace in traces],
        "reading": reading(
            format=format,
            time_unit=time_unit,
            sort=sort,
            keep_going=keep_going,
            align_starts=align_starts,
            device_size=device_size,
        ),
        "info": {"block_bytes": size_of(block, "--block")},
    }
    answer: dict[str, Any] = loads(_native.trace_info(dumps(asked)))
    console.answer(answer, answer["trace"]["warnings"], info_text, as_json=json)
