"""``iojoule check``: is this run to be believed?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from iojoule.metrics.metric import Finding
    from iojoule.report.data import RunData


def app(
    folder: Annotated[Path, typer.Argument(help="Folder of a campaign or run; its latest campaign, for `runs`.")],
    profile: Annotated[
        list[str] | None,
        typer.Option("--profile", help="Hold it against this rule set instead of the experiment's; may be repeated."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Say whether each run kept its plan and has its energy; exits 1 if one did not.

    Looked at: the run's end, its tables' hashes, stretch and lateness against the limits, coverage of every meter; of
    block load errors, corrupt blocks, the steady state and Little's law; and every rule of a profile.

    Example:  iojoule check runs/20260101T120000Z_web_1a2b3c
    """
    from dataclasses import asdict

    from iojoule.cli import console
    from iojoule.errors import ConfigError, Exit
    from iojoule.metrics.profiles import PROFILES
    from iojoule.report import load_campaign
    from iojoule.store.reader import campaign_at, open_campaign

    for name in profile or ():
        if name not in PROFILES:
            raise ConfigError.unknown_key(name, PROFILES)
    folder = campaign_at(folder)
    changed = {run.path.name: run.verify() for run in open_campaign(folder).runs}
    runs = load_campaign(folder).runs
    found = {run.name: list(findings(run, changed[run.name], profile or ())) for run in runs}
    failed = not found or any(one.level == "fail" for said in found.values() for one in said)
    code = int(Exit.CHECK_FAILED if failed else Exit.FINE)
    if json:
        console.document({"runs": {name: [asdict(one) for one in said] for name, said in found.items()}, "exit": code})
        return code
    if not found:
        print("fail     no run was begun")
    for name, said in found.items():
        print(name)
        for one in said:
            print(f"  {one.level:8} {one.text}")
    return code


def findings(run: RunData, changed: list[str], profiles: Sequence[str] = ()) -> Iterator[Finding]:
    """What speaks for and against one run; rules are those of `profiles`, or of its experiment where there are none."""
    from iojoule.metrics.metric import Finding
    from iojoule.report import pulses, reading_flags, verdicts
    from iojoule.report.reduce import findings_of, metrics_of

    if run.status != "complete":
        yield Finding("fail", f"the run did not reach its end ({run.status})")
    for table in changed:
        yield Finding("fail", f"{table} is not what the run wrote: its hash differs")
    if run.ranging:
        yield Finding("note", "made to find the ranges of meters; what it measured enters no figure")
        return
    metrics = metrics_of(run)
    yield from findings_of(run, metrics=metrics)
    for metric in metrics:
        if metric.name == "energy" and metric.value is None:
            yield Finding("fail", f"no energy of {metric.scope or 'the run'}: {metric.note}")
    yield from reading_flags.flagged(run)
    yield from verdicts.phase_length(run, metrics)
    yield from pulses.pulses(run)
    yield from verdicts.findings(verdicts.verdicts(run, metrics, profiles))
    for event in run.events:
        if event["event"] in ("warning", "server_down", "meter_lost", "meter_fatal", "meter_warning"):
            said = event.get("text") or event.get("meter", "")
            what = "" if event["event"] == "warning" else f"{event['event'].replace('_', ' ')}: "
            yield Finding("warning", what + said)
    if run.simulated:
        yield Finding("note", "power is the model's: energy by state stands in the manifest and the table states")
    elif not run.meters:
        yield Finding("note", "no meter watched: there is no power in this run")
