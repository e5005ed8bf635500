"""``iojoule trace synth``: a block trace that never happened."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from iojoule.cli.trace_convert import To
from iojoule.cli.trace_options import Json
from iojoule.cli.values import value_of


class Profile(StrEnum):
    """The traces of Table 3 of Yu et al., OSDI 2000."""

    CELLO_BASE = "cello-base"
    CELLO_DISK6 = "cello-disk6"
    TPCC = "tpcc"


def synth(
    output: Annotated[Path, typer.Option("-o", "--output", help="The trace; its name tells the format.")],
    to: Annotated[To | None, typer.Option(help="Format written, where the name does not tell it.")] = None,
    profile: Annotated[Profile | None, typer.Option(help="What is not given below is this trace's.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    scale_rate: Annotated[float | None, typer.Option(help="2 halves the times between arrivals.")] = None,
    length: Annotated[float | None, typer.Option(help="Fraction of the I/Os and the duration that is drawn.")] = None,
    ios: Annotated[int | None, typer.Option(min=1, help="Requests of the whole length.")] = None,
    duration: Annotated[str | None, typer.Option(help="Span of the whole length: 7d, 2h, 30s.")] = None,
    data_size: Annotated[str | None, typer.Option(help="Size of the data set: 8.4GB.")] = None,
    reads: Annotated[float | None, typer.Option(help="Share of reads.")] = None,
    async_writes: Annotated[float | None, typer.Option(help="Share of I/Os: writes that nobody waits for.")] = None,
    flush_period: Annotated[
        str | None, typer.Option(help="Rounds of the daemon that writes those; 0 strews them.")
    ] = None,
    seek_locality: Annotated[
        float | None, typer.Option(help="L: mean random over mean observed seek distance.")
    ] = None,
    read_after_write: Annotated[
        float | None, typer.Option(help="Share of I/Os that read what was written within the hour.")
    ] = None,
    sequential_reads: Annotated[float | None, typer.Option(help="Share of reads that follow, of reads.")] = None,
    sequential_writes: Annotated[float | None, typer.Option(help="Share of writes that follow, of writes.")] = None,
    burstiness: Annotated[float | None, typer.Option(help="Bias of the b-model: 0.5 is Poisson, up to 0.99.")] = None,
    swing: Annotated[float | None, typer.Option(help="Swing of the rate over a day, 0 to 1.")] = None,
    zipf: Annotated[float | None, typer.Option(help="Exponent of Zipf's law over regions; 0 is uniform.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Request sizes and weights: 8KiB or 2KiB:0.5,8KiB:0.5.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite what is there.")] = False,
    json: Json = False,
) -> None:
    """Write a block trace with given rate, shares, seek locality and burstiness, or one like a published trace.

    Examples:  iojoule trace synth -o cello.parquet --profile cello-base --seed 1
    ·  iojoule trace synth -o load.parquet --ios 100000 --duration 1000s --reads 0.7 --seek-locality 3
    """
    from json import dumps, loads

    from iojoule import _native
    from iojoule.cli import console

    changes = {
        "seed": seed,
        "scale_rate": scale_rate,
        "length": length,
        "ios": ios,
        "duration_s": _read(duration, _seconds, "--duration"),
        "data_bytes": _read(data_size, _bytes, "--data-size"),
        "reads": reads,
        "async_writes": async_writes,
        "seek_locality": seek_locality,
        "read_after_write_1h": read_after_write,
        "sequential_reads": sequential_reads,
        "sequential_writes": sequential_writes,
        "burstiness": burstiness,
        "swing": swing,
        "zipf": zipf,
        "sizes": _read(sizes, _weighted, "--sizes"),
    }
    given: dict[str, Any] = {key: value for key, value in changes.items() if value is not None}
    if flush_period is not None:
        given["flush_period_s"] = _read(flush_period, _seconds, "--flush-period") or None
    asked = {
        "output": str(output),
        "force": force,
        "to": None if to is None else to.value,
        "profile": None if profile is None else profile.value,
        "changes": given,
    }
    answer: dict[str, Any] = loads(_native.trace_synth(dumps(asked)))
    line = "{output}: {ios:,} I/Os, {duration_s:,.1f} s, {bytes:,} bytes"
    console.answer(answer, answer["warnings"], line.format_map, as_json=json)


def _read(text: str | None, meaning: Callable[[str], Any], key: str) -> Any:
    return None if text is None else value_of(text, meaning, key)


def _seconds(text: str) -> float:
    from iojoule.quantities import seconds

    return float(text) if text.replace(".", "", 1).isdigit() else seconds(text)


def _bytes(text: str) -> int:
    from iojoule.quantities import nbytes

    return nbytes(text)


def _weighted(text: str) -> list[dict[str, float]]:
    """`2KiB:0.5,8KiB:0.5` as sizes with weights; a size alone has the weight 1."""
    sizes = []
    for part in text.split(","):
        size, colon, weight = part.partition(":")
        sizes.append({"bytes": _bytes(size), "weight": float(weight) if colon else 1.0})
    return sizes
