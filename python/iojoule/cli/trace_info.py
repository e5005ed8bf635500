"""``iojoule trace info``: what a block trace is like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def info(
    traces: Annotated[list[Path], typer.Argument(help="Block traces of any known format, merged by time.")],
    format: Annotated[str | None, typer.Option(help="Name of the format; recognised where it is absent.")] = None,
    time_unit: Annotated[
        str | None, typer.Option(help="Unit of the times in the file: s, ms, us, 100ns, ns; default the format's.")
    ] = None,
    sort: Annotated[bool, typer.Option("--sort", help="The trace is in no order: sort it on disk.")] = False,
    keep_going: Annotated[bool, typer.Option("--keep-going", help="Leave broken records out.")] = False,
    align_starts: Annotated[bool, typer.Option("--align-starts", help="Each file starts at time 0.")] = False,
    device_size: Annotated[
        list[str] | None, typer.Option(help="Size of a device, as 0=9.1GB, or of all, as 9.1GB (repeatable).")
    ] = None,
    block: Annotated[str, typer.Option(help="Granularity by which a read is one after a write.")] = "4KiB",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """I/Os, rate, reads, seek locality, reads after writes, sizes, gaps, sequentiality; by device too.

    Examples:  iojoule trace info disk.trace.gz  ·  iojoule trace info --json --time-unit ms old.trace
    """
    from json import dumps, loads

    from iojoule import _native
    from iojoule.cli import console
    from iojoule.cli.trace_text import info_text

    sizes, size_of_all = _sizes(device_size or [])
    asked = {
        "paths": [str(trace) for trace in traces],
        "reading": {
            "format": format,
            "time_unit": time_unit,
            "sort": sort,
            "keep_going": keep_going,
            "align_starts": align_starts,
            "device_bytes": sizes,
            "all_device_bytes": size_of_all,
        },
        "info": {"block_bytes": _bytes(block, "--block")},
    }
    answer: dict[str, Any] = loads(_native.trace_info(dumps(asked)))
    for warning in answer["trace"]["warnings"]:
        console.say(f"warning: {warning}")
    if json:
        console.document(answer)
    else:
        print(info_text(answer))


def _sizes(given: list[str]) -> tuple[dict[str, int], int | None]:
    """Sizes by device, and the one of all others."""
    from iojoule.errors import ConfigError

    sizes: dict[str, int] = {}
    size_of_all = None
    for text in given:
        number, equals, size = text.partition("=")
        if not equals:
            size_of_all = _bytes(number, "--device-size")
        elif number.isdigit():
            sizes[number] = _bytes(size, "--device-size")
        else:
            raise ConfigError(f"device size: {text!r} does not start with a device's number", key="--device-size")
    return sizes, size_of_all


def _bytes(text: str, key: str) -> int:
    from iojoule.errors import ConfigError
    from iojoule.quantities import nbytes

    try:
        return nbytes(text)
    except ValueError as error:
        raise ConfigError(str(error), key=key) from None
