"""fio job files where an experiment is expected: read, brought into an experiment, and what became of each key said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iojoule.experiment.plan import Plan

SUFFIXES = (".fio", ".job", ".ini")
"""What a job file's name ends in; everything else is read as an experiment."""

TITLE = "made of the fio job file {}"


def plan_any(
    file: Path, settings: Sequence[str], sections: Sequence[str] = (), *, with_fio: bool, ignore_unknown: bool
) -> Plan:
    """The plan of an experiment file or, by its name, of a fio job file, for which the last three are."""
    from iojoule.errors import ConfigError
    from iojoule.experiment.plan import plan_file

    if file.suffix.lower() in SUFFIXES:
        return _plan_of_job(file, settings, sections, with_fio=with_fio, ignore_unknown=ignore_unknown)
    if sections or with_fio or ignore_unknown:
        raise ConfigError("--section, --with-fio and --ignore-unknown are for fio job files", file=file)
    return plan_file(file, settings)


def _plan_of_job(
    file: Path, settings: Sequence[str], sections: Sequence[str], *, with_fio: bool, ignore_unknown: bool
) -> Plan:
    """The plan of the job file; every key that is not simply taken over is said on stderr. ConfigError where keys are
    not understood, which ``ignore_unknown`` lets pass."""
    from iojoule.cli import console
    from iojoule.errors import ConfigError
    from iojoule.experiment.parse import loads
    from iojoule.experiment.plan import make_plan
    from iojoule.workloads.fio.become import become, real_fio

    found = real_fio(file, sections) if with_fio else become(file, sections)
    for line in (*found.differences, *found.no_effect):
        console.say(line)
    if found.not_understood and not ignore_unknown:
        many = len(found.not_understood)
        listed = "\n".join(f"  {line}" for line in found.not_understood)
        raise ConfigError(
            f"{many} {'line is' if many == 1 else 'lines are'} not understood, and the load would be another without "
            f"them:\n{listed}\n--with-fio runs the job by fio itself; --ignore-unknown runs it without these lines",
            file=file,
        )
    for line in found.not_understood:
        console.say(f"warning: left out: {line}")
    if not any(setting.startswith("meter.") for setting in settings):
        console.say("no meter: a job file has none; keep the experiment with iojoule plan --toml and add [[meter]]")
    try:
        return make_plan(loads(found.toml(TITLE.format(file)), file, settings))
    except ConfigError as error:
        error.line = None  # of the experiment, which the user has not written
        raise
