"""``iojoule run``: from an experiment file to a campaign folder with its report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """Examples:

  iojoule run examples/web-replay.toml

  iojoule run web.toml -S experiment.repeats=5 -S workload.speedup=8

  iojoule run job.fio

  iojoule run --resume runs/20260101T120000Z_web_1a2b3c

Ctrl-C once ends after the running step, twice ends now; what was recorded is kept either way."""


def app(
    file: Annotated[Path | None, typer.Argument(help="The experiment file, or a fio job file.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("-S", "--set", help="Override: section.key=value or section.name.key=value.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with a campaign that was interrupted.")] = None,
    timeout: Annotated[str | None, typer.Option(help="Stop after this long (exit 124), e.g. 10min.")] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not make report.html at the end.")] = False,
    section: Annotated[
        list[str] | None, typer.Option("--section", help="Of a fio job file: only this job; may be repeated.")
    ] = None,
    with_fio: Annotated[bool, typer.Option("--with-fio", help="Of a fio job file: run it by fio itself.")] = False,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Of a fio job file: run without the keys that are not understood.")
    ] = False,
    debug_build: Annotated[
        bool, typer.Option("--debug-build", help="Measure although the engine is a debug build.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Overwrite what destroy names without asking.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> int:
    """Run an experiment: load, meters, tables, report."""
    from iojoule.cli.confirm import confirm_destruction
    from iojoule.cli.job_file import plan_any
    from iojoule.cli.live import live_view
    from iojoule.cli.meter_manual_note import asked
    from iojoule.errors import ConfigError
    from iojoule.experiment.resume import plan_of
    from iojoule.experiment.runner import Campaign
    from iojoule.quantities import seconds
    from iojoule.store.reader import open_campaign

    try:
        timeout_s = None if timeout is None else seconds(timeout)
    except ValueError as error:
        raise ConfigError(str(error), key="--timeout", value=timeout) from None
    earlier = None
    if resume is not None and file is None:
        earlier = open_campaign(resume)
        plan = plan_of(earlier)
    elif file is not None and resume is None:
        plan = plan_any(file, setting or [], section or [], with_fio=with_fio, ignore_unknown=ignore_unknown)
    else:
        raise ConfigError("name an experiment file, or a campaign with --resume")
    confirm_destruction(plan, yes=yes, campaign=earlier.path if earlier else None)
    with live_view() as view:
        campaign = Campaign(plan, show=view.show, note=view.note, ask=view.asking(asked), allow_debug=debug_build)
        folder, code = campaign.run(resume=earlier, timeout_s=timeout_s)
    return finish(folder, code, report=not no_report, json=json)


def finish(folder: Path, code: int, *, report: bool, json: bool) -> int:
    """Make the report, print what was found, and say where it lies."""
    from iojoule.cli import console
    from iojoule.cli.report import write_page
    from iojoule.cli.show import print_campaign, summary
    from iojoule.errors import RunFailed
    from iojoule.report import build_report, load_campaign
    from iojoule.report.intervals import write_intervals

    campaign = load_campaign(folder)
    if not campaign.runs:
        console.say("no step was begun; there is nothing to report")
        report = False
    page = folder / "report.html"
    if report:
        try:
            for run in campaign.runs:
                write_intervals(run, folder / "runs" / run.name)
            write_page(page, build_report(campaign))
        except (RunFailed, OSError) as error:
            console.say(f"no report: {error}")
            report, code = False, code or int(RunFailed.exit_code)
    if json:
        console.document(
            {"campaign": str(folder), "report": str(page) if report else None, "exit": code, **summary(campaign)}
        )
    else:
        print_campaign(campaign)
        if report:
            print(f"report: {page}")
    return code


app.__doc__ = (app.__doc__ or "") + "\n\n" + EPILOG
