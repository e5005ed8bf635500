"""``iojoule model``: what formulas predict, without a simulation."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iojoule.cli.model_amdahl import amdahl

if TYPE_CHECKING:
    from iojoule.models.sr_array import Disk, Load, Prediction

app = typer.Typer(
    help="Laws that predict without simulating.",
    epilog="Example:  iojoule model sr-array --disks 6 --seek 10ms --rotation 6ms --locality 4.14",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def laws() -> None:
    """Laws that predict without simulating."""


class Round(StrEnum):
    """How whole numbers of replicas are found."""

    FLOOR = "floor"
    ARGMIN = "argmin"


app.command("amdahl")(amdahl)


@app.command("sr-array")
def sr_array(
    disks: Annotated[int, typer.Option(min=1, max=4096, help="D: disks of the array.")],
    seek: Annotated[str, typer.Option(help="S: longest seek over the data on one disk.")] = "10ms",
    rotation: Annotated[str, typer.Option(help="R: one rotation.")] = "6ms",
    track_switch: Annotated[
        str, typer.Option(help="Limits Dr to the switches in a rotation; 0 for no limit.")
    ] = "0.9ms",
    overhead: Annotated[str, typer.Option(help="Added to every request.")] = "2.7ms",
    locality: Annotated[float, typer.Option(help="L: mean random over mean observed seek distance.")] = 1.0,
    p: Annotated[float | None, typer.Option(help="Share of requests that need one copy only; default 1.")] = None,
    reads: Annotated[
        float | None, typer.Option(help="Share of reads where writes reach every copy at once; stands for --p.")
    ] = None,
    outstanding: Annotated[int | None, typer.Option(min=1, help="Requests outstanding over the array.")] = None,
    q: Annotated[float | None, typer.Option(help="Requests per stroke of one arm; default outstanding/disks.")] = None,
    round: Annotated[
        Round, typer.Option(help="floor: largest Dr up to the real optimum, as the paper; argmin: least time.")
    ] = Round.FLOOR,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Striping, rotational replicas or mirrors: how to lay data out over D disks (Yu et al., OSDI 2000).

    Examples:  iojoule model sr-array --disks 6 --seek 10ms --rotation 6ms --locality 4.14
    ·  iojoule model sr-array --disks 36 --locality 1.04 --reads 0.55 --round argmin --outstanding 64 --json
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError
    from iojoule.models import sr_array as model

    if p is not None and reads is not None:
        raise ConfigError("--p and --reads name the same share; give one", key="--p")
    share = 1.0 if p is None and reads is None else (p if p is not None else reads)
    if share is None or not 0 <= share <= 1:
        raise ConfigError("a share is between 0 and 1", key="--p" if p is not None else "--reads", value=share)
    switch = _ms("--track-switch", track_switch, at_least=0)
    disk = model.Disk(
        seek_ms=_ms("--seek", seek, at_least=0),
        rotation_ms=_ms("--rotation", rotation, above=0),
        overhead_ms=_ms("--overhead", overhead, at_least=0),
        track_switch_ms=switch or None,
    )
    if disk.max_replicas == 0:
        raise ConfigError("a track switch is longer than a rotation", key="--track-switch", value=track_switch)
    if not locality > 0:
        raise ConfigError("locality is above 0", key="--locality", value=locality)
    stroke = q if q is not None else (outstanding or disks) / disks
    if not stroke > 0:
        raise ConfigError("q is above 0", key="--q", value=q)
    answer = _answer(disk, model.Load(locality, share, stroke), disks, outstanding, model.Rule(round.value))
    if json:
        console.document(answer)
    else:
        print(_text(answer))


def _answer(disk: Disk, load: Load, disks: int, outstanding: int | None, rule: Any) -> dict[str, Any]:
    from iojoule.models import sr_array as model

    def row(prediction: Prediction) -> dict[str, Any]:
        rate = None if outstanding is None else model.array_rate(prediction, disks, outstanding)
        return asdict(prediction) | ({} if rate is None else {"rate_per_s": rate})

    return {
        "disks": disks,
        "disk": asdict(disk) | {"max_replicas": disk.max_replicas},
        "load": asdict(load) | {"outstanding": outstanding},
        "rule": rule.value,
        "optimum": asdict(model.optimum(disk, load, disks)),
        "recommended": row(model.recommend(disk, load, disks, rule)),
        "configurations": [row(each) for each in model.configurations(disk, load, disks)],
    }


def _text(answer: dict[str, Any]) -> str:
    chosen, optimum = answer["recommended"], answer["optimum"]
    rates = "rate_per_s" in chosen
    lines = ["Ds x Dr x Dm      seek  rotation  response" + ("    requests/s" if rates else "")]
    for row in answer["configurations"]:
        mark = "  <- recommended" if all(row[key] == chosen[key] for key in ("ds", "dr", "dm")) else ""
        name = f"{row['ds']} x {row['dr']} x {row['dm']}"
        times = f"{row['seek_ms']:7.3f}   {row['rotation_ms']:7.3f}  {row['response_ms']:8.3f} ms"
        lines.append(f"{name:<13} {times}" + (f"  {row['rate_per_s']:9.1f}" if rates else "") + mark)
    lines.append(f"over real numbers: {optimum['ds']:.2f} x {optimum['dr']:.2f}, rule {answer['rule']}")
    return "\n".join(lines)


def _ms(key: str, text: str, *, at_least: float | None = None, above: float | None = None) -> float:
    from iojoule.errors import ConfigError
    from iojoule.quantities import seconds

    try:
        value = 1000 * (float(text) if text == "0" else seconds(text))
    except ValueError as error:
        raise ConfigError(f"{key}: {error}", key=key, value=text) from None
    if (at_least is not None and value < at_least) or (above is not None and value <= above):
        raise ConfigError(f"{key}: {text} is too little", key=key, value=text)
    return value
