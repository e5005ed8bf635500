"""``iojoule meter coverage``: how often the truth of the laboratory lies within what is quoted."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from iojoule.experiment.coverage import Coverage

HEAD = f"{'front':24}{'runs':>6}{'quoted':>8}{'held':>9}{'median U':>11}{'95 % error':>12}{'U/error':>9}{'used':>7}"


def coverage(
    fronts: Annotated[list[str] | None, typer.Argument(help="Fronts of the laboratory; all if none is named.")] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Seeded trials of each front.")] = 200,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Seeded phases of a laboratory's load, read by the drivers on a simulated clock: how often E ± U (k = 2) holds the
    true energy, and how U compares with the errors there are.

    Example:  iojoule meter coverage yokogawa_wt310 --runs 20
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError
    from iojoule.experiment.coverage import cover
    from iojoule.meters.lab import FRONTS

    for name in fronts or ():
        if name not in FRONTS:
            raise ConfigError.unknown_key(name, FRONTS)
    found = []
    if not json:
        print(HEAD)
    for name in fronts or FRONTS:
        one, trials = cover(name, range(runs))
        notes = sorted({trial.note for trial in trials if trial.joules is None})
        found.append(_document(one) | {"refused": notes})
        if not json:
            print(_line(one), flush=True)
            for note in notes:
                print(f"    not quoted: {note}")
    if json:
        console.document({"fronts": found})


def _document(one: Coverage) -> dict[str, Any]:
    return asdict(one) | {"share": _known(one.share), "useful": _known(one.useful)}


def _known(value: float) -> float | None:
    return value if value == value else None


def _line(one: Coverage) -> str:
    return (
        f"{one.front:24}{one.runs:>6}{one.quoted:>8}{one.share:>9.1%}{one.median_u_pct:>9.3g} %"
        f"{one.error_95_pct:>10.3g} %{one.useful:>9.2f}{one.used:>7.2f}"
    )
