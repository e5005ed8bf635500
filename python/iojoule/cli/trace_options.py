"""What every verb of ``iojoule trace`` that reads traces is told about reading them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from iojoule.cli.values import value_of

Traces = Annotated[list[Path], typer.Argument(help="Block traces, plain or compressed; merged by time.")]
Format = Annotated[str | None, typer.Option(help="Format, where it is not recognised.")]
KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Leave broken records out, and count them.")]
Sort = Annotated[bool, typer.Option("--sort", help="Requests of any order: sort them on disk.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


class Unit(StrEnum):
    """Units of time."""

    S = "s"
    MS = "ms"
    US = "us"
    TICKS = "100ns"
    NS = "ns"


TimeUnit = Annotated[Unit | None, typer.Option(help="Unit of the times, where it is not the format's own.")]
AlignStarts = Annotated[bool, typer.Option("--align-starts", help="Each file starts at time 0.")]
DeviceSize = Annotated[
    list[str] | None,
    typer.Option(help="Size of a device, 0=9GiB, or of all, 9GiB (repeatable); requests beyond it are errors."),
]


def reading(
    *,
    format: str | None = None,
    time_unit: Unit | None = None,
    keep_going: bool = False,
    sort: bool = False,
    align_starts: bool = False,
    device_size: list[str] | None = None,
) -> dict[str, Any]:
    """The engine's options for reading."""
    told: dict[str, Any] = {
        "format": format,
        "time_unit": None if time_unit is None else time_unit.value,
        "keep_going": keep_going,
        "sort": sort,
        "align_starts": align_starts,
        "device_bytes": {},
    }
    for text in device_size or []:
        device, _, size = text.rpartition("=")
        if device:
            told["device_bytes"][_device(device)] = size_of(size, "--device-size")
        else:
            told["all_device_bytes"] = size_of(size, "--device-size")
    return told


def size_of(text: str, option: str) -> int:
    """Bytes of ``9GiB`` or ``4096``."""
    from iojoule.quantities import nbytes

    return value_of(text, lambda given: int(given) if given.isdigit() else nbytes(given), option)


def _device(text: str) -> str:
    from iojoule.errors import ConfigError

    if not text.isdigit():
        raise ConfigError(f"device-size: {text!r} is not the number of a device, as in 0=9GiB", key="--device-size")
    return text
