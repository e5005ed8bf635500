"""``iojoule sim``: drives and arrays on the simulated clock: one design, a measured disk, a sweep of designs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Drives and arrays on the simulated clock, with power. Every watt is the model's; no meter is there.",
    epilog="Examples:  iojoule sim run --drive cheetah9LP --layout raid5 --drives 5 --trace X  ·  "
    "iojoule sim validate --disk cheetah9LP --trace X  ·  iojoule sim sweep policies.toml",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
Setting = Annotated[
    list[str] | None, typer.Option("-S", "--set", help="Override a key of the design: section.key=value (repeatable).")
]


class Fit(StrEnum):
    """What is done with addresses beyond the array."""

    REFUSE = "refuse"
    WRAP = "wrap"
    SCALE = "scale"


class Reported(StrEnum):
    """Which requests the reported times are of."""

    ALL = "all"
    SYNC = "sync"


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(help="The design, as TOML; without it, options say it all.")] = None,
    trace: Annotated[list[Path] | None, typer.Option(help="Block trace, any known format (repeatable).")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the trace, where it is not recognised.")] = None,
    drive: Annotated[str | None, typer.Option(help="Preset name, or a file: .toml, .diskspecs, .parv.")] = None,
    layout: Annotated[str | None, typer.Option(help="single, concat, raid0, raid1, raid10, raid5, sr, paraid.")] = None,
    drives: Annotated[int | None, typer.Option(min=1, help="Drives of the array.")] = None,
    stripe_unit: Annotated[str | None, typer.Option(help="64KiB, 1MiB, ...")] = None,
    scheduler: Annotated[str | None, typer.Option(help="fcfs, sstf, look, clook, satf, rlook, rsatf.")] = None,
    disksim: Annotated[
        Path | None, typer.Option(help="A whole DiskSim system (.parv) instead of drive and array.")
    ] = None,
    policy: Annotated[str | None, typer.Option(help="Power policy by name.")] = None,
    speed: Annotated[float | None, typer.Option(help="Plays the trace this many times as fast.")] = None,
    fit: Annotated[Fit | None, typer.Option(help="Addresses beyond the array: refuse, wrap or scale.")] = None,
    report: Annotated[Reported | None, typer.Option(help="sync leaves out asynchronous writes from the times.")] = None,
    warmup: Annotated[
        str | None, typer.Option(help="Simulated time whose requests are not reported: 60s, 10min.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=0, help="End after this many requests.")] = None,
    max_outstanding: Annotated[
        int | None, typer.Option(min=1, help="Give up (sustained: false) when more requests are outstanding.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random.")] = None,
    setting: Setting = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Run folder: manifest, tables/states.parquet, hist/*.hdr.")
    ] = None,
    requests: Annotated[
        bool, typer.Option("--requests", help="Also tables/requests.parquet, a row per request.")
    ] = False,
    json: Json = False,
) -> int:
    """Simulate one design on one load: times, utilisation, energy by state, spin-ups.

    Examples:  iojoule sim run design.toml --json  ·  iojoule sim run --drive cheetah9LP --trace day.parquet -o out
    ·  iojoule sim run --disksim raid5_5_bare.parv --trace r4k_d4_120.trace
    """
    from iojoule.cli import console
    from iojoule.cli.sim_text import progress, summary_text
    from iojoule.errors import ConfigError
    from iojoule.sim import design as designs
    from iojoule.sim.run import run_point

    asked: dict[str, dict[str, Any]] = {
        "design": {"seed": seed},
        "drive": {**_drive(drive), "disksim": disksim},
        "array": {"layout": layout, "drives": drives, "stripe_unit": stripe_unit, "scheduler": scheduler},
        "policy": {"kind": policy},
        "trace": {"file": trace or None, "format": format, "speed": speed, "fit": None if fit is None else fit.value},
        "report": {
            "times": None if report is None else report.value,
            "warmup": warmup,
            "limit": limit,
            "max_outstanding": max_outstanding,
        },
    }
    sweep = designs.read_with(file, asked, setting or [])
    if len(sweep.points) > 1:
        raise ConfigError(
            f"the design has {len(sweep.points)} points: {', '.join(sweep.axes)} are lists; use iojoule sim sweep",
            file=file,
        )
    if requests and output is None:
        raise ConfigError("--requests writes a table and needs a folder: -o FOLDER", key="--requests")
    with progress() as control:
        summary = run_point(sweep, sweep.points[0], output, requests=requests, control=control)
    if json:
        console.document(summary)
    else:
        print(summary_text(summary))
        if output is not None:
            print(f"folder: {output}")
    return 0


@app.command()
def validate(
    disk: Annotated[str, typer.Option(help="Preset name, or a file: .toml, .diskspecs, .parv.")],
    trace: Annotated[Path, typer.Option(help='Measured trace in DiskSim\'s "validate" format.')],
    name: Annotated[str | None, typer.Option(help="Which disk, where the file holds several.")] = None,
    json: Json = False,
) -> None:
    """Replay a measured trace on a disk's model and compare the distributions of access time.

    Each request is sent as long after the answer to the one before it as it was on the real disk. rms is the root mean
    square of the horizontal distance between the two distributions, on DiskSim's 1 % bins; rms_exact without bins.

    Example:  iojoule sim validate --disk cheetah9LP --trace cheetah9LP.trace --json
    """
    from iojoule.cli import console
    from iojoule.cli.sim_text import validation_text
    from iojoule.sim.run import validate as replay

    answer = replay(disk, trace, name)
    if json:
        console.document(answer)
    else:
        print(validation_text(answer))


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(help="The design, as TOML; every list sweeps.")],
    setting: Setting = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the sweep; sweeps/NAME where it is not given.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on: points that are finished are not run again.")
    ] = False,
    threads: Annotated[int | None, typer.Option(min=1, help="Points at once; all cores where it is not given.")] = None,
    json: Json = False,
) -> int:
    """Simulate every point of a design over all cores: results.parquet, one row a point, and report.html.

    Lists are multiplied with each other; [sweep] zip = [["a.x", "b.y"]] makes lists go in step; [[case]] tables
    override. Every finished point is kept at once: after Ctrl-C or a kill, --resume goes on.

    Example:  iojoule sim sweep policies.toml -o sweeps/policies --resume
    """
    from iojoule.cli import console
    from iojoule.cli.sim_text import bar, sweep_text
    from iojoule.sim import design as designs
    from iojoule.sim.sweep import SweepFolder

    folder = SweepFolder.open(designs.read(file, setting or []), output, resume=resume)
    with bar(len(folder.points), len(folder.finished)) as control:
        outcome = folder.run(threads=threads, control=control)
    if json:
        console.document(outcome.document())
    else:
        print(sweep_text(outcome))
    return outcome.exit_code


def _drive(given: str | None) -> dict[str, Any]:
    """A drive option names a preset, or a file where it looks like one."""
    if given is None:
        return {}
    return {"file": given} if "/" in given or Path(given).suffix else {"preset": given}
