"""``iojoule plan``: what an experiment would do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from iojoule.experiment.plan import Plan


def app(
    file: Annotated[Path, typer.Argument(help="The experiment file, or a fio job file.")],
    setting: Annotated[
        list[str] | None, typer.Option("-S", "--set", help="Override: section.key=value or section.name.key=value.")
    ] = None,
    section: Annotated[
        list[str] | None, typer.Option("--section", help="Of a fio job file: only this job; may be repeated.")
    ] = None,
    with_fio: Annotated[bool, typer.Option("--with-fio", help="Of a fio job file: run it by fio itself.")] = False,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Of a fio job file: plan without the keys that are not understood.")
    ] = False,
    toml: Annotated[bool, typer.Option("--toml", help="Print the experiment itself, to keep and change.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Print the steps an experiment would run; reads the file and nothing else.

    Example:  iojoule plan examples/web-replay.toml -S experiment.repeats=1
    """
    from iojoule.cli import console
    from iojoule.cli.job_file import plan_any
    from iojoule.experiment.phase_length import short_phases

    plan = plan_any(file, setting or [], section or [], with_fio=with_fio, ignore_unknown=ignore_unknown)
    if toml and not json:
        print(plan.source.text, end="")
        return
    if json:
        console.document({"toml": plan.source.text} if toml else plan.describe())
        return
    meters = (
        ", ".join(f"{meter.name} ({meter.kind})" for meter in plan.experiment.meter) or "none: power will not be known"
    )
    print(f"{plan.header.name}: {len(plan.steps)} steps, {_length(plan)}, meters: {meters}")
    for step in plan.steps:
        parameters = "  ".join(f"{key}={value}" for key, value in step.parameters.items())
        print(f"{step.index + 1:4}  {step.target:16} {step.workload:24} {step.which}  {parameters}".rstrip())
    for short in short_phases(plan):
        print(f"warning: {short.text}")


def _length(plan: Plan) -> str:
    """How long it will take, as far as that is known without reading a trace or touching a target."""
    from iojoule.quantities import spelled_time

    known_s, unknown = plan.expected()
    if unknown == len(plan.steps) and not known_s:
        return "length not known beforehand"
    more = f" and {unknown} loads of unknown length" if unknown else ""
    return f"about {spelled_time(known_s)}{more}"
