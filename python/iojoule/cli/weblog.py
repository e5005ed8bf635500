"""``iojoule weblog``: what an access log holds, its replay table, and logs that never happened."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Access logs in Common or Combined Log Format, plain or compressed (gzip, zstd, bzip2, xz).",
    epilog="Examples:  iojoule weblog info access.log.gz --json  ·  iojoule weblog prepare access.log -o d.parquet",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]
Logs = Annotated[list[Path], typer.Argument(help="Access logs, read as one.")]


class Keep(StrEnum):
    """Which requests stay."""

    STATIC = "static"
    GET = "get"
    ALL = "all"


class Names(StrEnum):
    """How paths are pseudonymised."""

    HMAC = "hmac"
    SHA1 = "sha1"
    PLAIN = "plain"


@app.command()
def info(logs: Logs, json: Json = False) -> int:
    """Requests, span, rates, clients, objects, and which lines are broken. Exits 1 where a compressed log is damaged.

    Examples:  iojoule weblog info access.log  ·  iojoule weblog info --json access.log.*.gz
    """
    from iojoule.cli import console
    from iojoule.cli.weblog_text import info_text

    answer = _call("weblog_info", {"paths": [str(log) for log in logs]})
    if json:
        console.document(answer)
    else:
        print(info_text(answer))
    return 1 if answer["truncated"] else 0


@app.command()
def prepare(
    logs: Logs,
    output: Annotated[Path, typer.Option("-o", "--output", help="The replay table; the objects table goes beside it.")],
    keep: Annotated[
        Keep, typer.Option(help="static: GET/HEAD of files that were served; get: every GET/HEAD; all: every request.")
    ] = Keep.STATIC,
    status: Annotated[list[int] | None, typer.Option(help="Keep these statuses only (repeatable).")] = None,
    since: Annotated[str | None, typer.Option(help="First instant kept: 2024-05-12, 2024-05-12T06:30Z, ...")] = None,
    until: Annotated[str | None, typer.Option(help="First instant no longer kept.")] = None,
    hours: Annotated[
        str | None, typer.Option(help="Hours of the day kept, in the log's zone: 8-17 or 0,1,22-23.")
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(help="Leave out: robots, attacks, host=, agent=, path=, status= (repeatable)."),
    ] = None,
    names: Annotated[
        Names, typer.Option(help="hmac: keyed hash; sha1: bare hash, can be guessed; plain: as logged.")
    ] = Names.HMAC,
    key_file: Annotated[
        Path | None, typer.Option(help="Key of the names; default OUTPUT.key, drawn at random.")
    ] = None,
    spread: Annotated[bool, typer.Option(help="Spread requests inside the second their stamp names.")] = True,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the spreading.")] = 0,
    allow_damaged: Annotated[bool, typer.Option(help="Take what can be read of a damaged log.")] = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write the replay table of a log: time, method, object, size, client, status; names pseudonymised.

    Examples:  iojoule weblog prepare access.log.gz -o day.parquet --since 2024-05-12 --until 2024-05-13
    ·  iojoule weblog prepare *.log -o week.parquet --cut robots --cut attacks --cut path=/private/
    """
    from iojoule.cli import console
    from iojoule.cli.weblog_text import prepare_text

    answer = _call(
        "weblog_prepare",
        {
            "paths": [str(log) for log in logs],
            "output": str(output),
            "force": force,
            "keep": keep.value,
            "statuses": status or None,
            "since": since,
            "until": until,
            "hours": None if hours is None else _hours(hours),
            "cut": cut or [],
            "names": names.value,
            "key_file": None if key_file is None else str(key_file),
            "spread": spread,
            "seed": seed,
            "allow_damaged": allow_damaged,
        },
    )
    console.answer(answer, answer["warnings"], prepare_text, as_json=json)


@app.command()
def synth(
    output: Annotated[Path, typer.Option("-o", "--output", help="The log; compressed where it ends in .gz.")],
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bytes.")] = 0,
    requests: Annotated[int, typer.Option(min=1, help="Lines of the log.")] = 100_000,
    duration: Annotated[str, typer.Option(help="Span: 1d, 6h, 90min, 30s.")] = "1d",
    start: Annotated[str, typer.Option(help="First instant, UTC.")] = "2026-01-01",
    clients: Annotated[int, typer.Option(min=1, help="Clients that take part.")] = 2000,
    objects: Annotated[int, typer.Option(min=1, help="Objects on the server.")] = 2000,
    zipf: Annotated[float, typer.Option(min=0, max=5, help="Exponent of Zipf's law over objects.")] = 0.8,
    swing: Annotated[float, typer.Option(min=0, max=1, help="Swing of the rate over a day; highest at 15:00.")] = 0.7,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a Combined log that never happened: day/night curve, Zipf objects, lognormal sizes with a Pareto tail.

    Example:  iojoule weblog synth -o day.log.gz --seed 1 --requests 40000 --duration 1d --start 2026-01-01
    """
    from iojoule.cli import console
    from iojoule.cli.values import value_of
    from iojoule.quantities import seconds

    answer = _call(
        "weblog_synth",
        {
            "output": str(output),
            "force": force,
            "seed": seed,
            "requests": requests,
            "duration_s": value_of(duration, seconds, "--duration"),
            "start": start,
            "clients": clients,
            "objects": objects,
            "zipf": zipf,
            "swing": swing,
        },
    )
    if json:
        console.document(answer)
    else:
        print(f"{answer['output']}: {answer['requests']} requests, {answer['first']} to {answer['last']}")


def _call(verb: str, options: dict[str, Any]) -> dict[str, Any]:
    from json import dumps, loads

    from iojoule import _native

    answer: dict[str, Any] = loads(getattr(_native, verb)(dumps(options)))
    return answer


def _hours(text: str) -> list[int]:
    """`8-17` or `0,1,22-23` as a list of hours."""
    from iojoule.errors import ConfigError

    hours: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.strip().isdigit() or not (last or first).strip().isdigit():
            raise ConfigError(f"hours: {text!r} is not a list of hours such as 8-17 or 0,1,22-23", key="--hours")
        hours += range(int(first), int(last or first) + 1)
    if not hours or max(hours) > 23:
        raise ConfigError(f"hours: {text!r} names no hours of a day (0 to 23)", key="--hours")
    return hours
