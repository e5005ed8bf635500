"""``iojoule meter truth``: what was measured of a laboratory's load beside what was true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from iojoule.report.data import RunData


def truth(
    folder: Annotated[Path, typer.Argument(help="Folder of a campaign or run; its latest campaign, for `runs`.")],
    file: Annotated[Path, typer.Argument(help="What iojoule meter lab kept with --truth.")],
    everything: Annotated[bool, typer.Option("--all", help="Every phase, not only those measured.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Energy of each phase by each channel, and the true energy of the load.

    U has k = 2, so about one in twenty may be off by more; exits 1 if one is off by more than twice its U.

    Example:  iojoule meter truth runs truth.csv
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError, Exit
    from iojoule.report import load_campaign
    from iojoule.store.reader import latest_campaign

    try:
        cells = read_truth(file)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"this is no truth of a laboratory: {error}", file=file) from error
    campaign = load_campaign(folder if (folder / "manifest.json").exists() else latest_campaign(folder))
    rows = [row for run in campaign.runs for row in compared(run, cells) if everything or row["phase"] == "measure"]
    if not rows:
        raise ConfigError("the truth covers no phase of these runs in which a meter gave an energy", file=file)
    code = int(Exit.FINE if all(abs(row["off_j"]) <= 2 * row["expanded"] for row in rows) else Exit.CHECK_FAILED)
    if json:
        console.document({"phases": rows, "exit": code})
        return code
    for row in rows:
        print(
            f"{row['run']}  {row['phase']:10} {row['channel']:24} {row['joules']:10.3f} ± {row['expanded']:.3f} J   "
            f"true {row['true_j']:10.3f} J   off by {row['off_j']:+.3f} J" + ("" if row["within"] else "   OUTSIDE")
        )
    return code


Cells = tuple[Any, Any]


def read_truth(file: Path) -> Cells:
    """Times and joules since the bench was opened, at the edges of its cells."""
    import csv

    with file.open(newline="", encoding="ascii") as text:
        rows = [row for row in csv.DictReader(text) if row["joules"]]  # a kill may have cut the last one
    if not rows:
        raise ValueError("it has no rows")
    times = [int(rows[0]["start_ns"]), *(int(row["end_ns"]) for row in rows)]
    return times, [0.0, *(float(row["joules"]) for row in rows)]


def compared(run: RunData, cells: Cells) -> list[dict[str, Any]]:
    """Each phase and each channel of power that has an energy, where the truth covers it. The rails of one meter share
    the load between them, so it is their sum that is compared."""
    import numpy as np

    from iojoule.metrics.channels import channels, series
    from iojoule.metrics.energy import energies, total

    times, joules = cells
    read = series(run.readings(), channels(run.meters))
    idle = run.phase("idle")
    resting = energies(read.values(), idle, {}) if idle else {}
    rows = []
    for phase in run.phases:
        if phase.start_ns < times[0] or phase.end_ns > times[-1]:
            continue
        true_j = float(np.diff(np.interp([phase.start_ns, phase.end_ns], times, joules))[0])
        shared: dict[str, list[Any]] = {}
        for name, energy in energies(read.values(), phase, resting).items():
            channel = read[name].channel
            shared.setdefault(f"{channel.meter}, all rails" if channel.made_of else name, []).append((channel, energy))
        for name, parts in shared.items():
            energy = total(name, parts[0][1].boundary, parts) if len(parts) > 1 else parts[0][1]
            if energy.joules is not None and energy.boundary != "modelled":
                rows.append(
                    {"run": run.name, "phase": phase.name, "channel": name, "seconds": phase.seconds}
                    | {"joules": energy.joules, "expanded": energy.expanded, "true_j": true_j, "budget": energy.budget}
                    | {"off_j": (off_j := energy.joules - true_j), "within": abs(off_j) <= energy.expanded}
                )
    return rows
