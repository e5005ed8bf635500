"""``iojoule plan``: what an experiment would do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def app(
    file: Annotated[Path, typer.Argument(help="The experiment file.")],
    setting: Annotated[
        list[str] | None, typer.Option("-S", "--set", help="Override: section.key=value or section.name.key=value.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Print the steps an experiment would run; reads the file and nothing else.

    Example:  iojoule plan examples/web-replay.toml -S experiment.repeats=1
    """
    from iojoule.cli import console
    from iojoule.experiment.plan import plan_file

    plan = plan_file(file, setting or [])
    if json:
        console.document(plan.describe())
        return
    meters = (
        ", ".join(f"{meter.name} ({meter.kind})" for meter in plan.experiment.meter) or "none: power will not be known"
    )
    print(f"{plan.header.name}: {len(plan.steps)} steps, meters: {meters}")
    for step in plan.steps:
        parameters = "  ".join(f"{key}={value}" for key, value in step.parameters.items())
        print(f"{step.index + 1:4}  {step.target:16} {step.workload:24} repeat {step.repeat}  {parameters}".rstrip())
