"""Asks before anything is overwritten: every device, file and directory that ``destroy`` names, with what is on it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iojoule.experiment.plan import Plan


def confirm_destruction(plan: Plan, *, yes: bool, campaign: Path | None = None) -> None:
    """Print what would be lost and have it confirmed; ``yes`` confirms. ConfigError where nobody does.

    What may not be written to at all is refused here, before a campaign is begun. ``campaign`` is one that goes on.
    """
    from iojoule.cli.console import say
    from iojoule.errors import ConfigError
    from iojoule.targets.doomed import check, to_be_destroyed

    models = [target.model for target in plan.targets.values()]
    written = {step.target for step in plan.steps if plan.workloads[step.workload].model.writes}
    check(
        [m for m in models if m.name in written or _prepares(m)], plan.header.destroy, campaign and campaign / "targets"
    )
    lines = to_be_destroyed(models, plan.header.destroy)
    if not lines:
        return
    say("what is there now is lost:")
    for line in lines:
        say(f"  {line}")
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to confirm this; add --yes", key="--yes")
    say("go on? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("not confirmed; nothing was touched", key="experiment.destroy")


def _prepares(model: object) -> bool:
    """Whether the target is written to by itself, before the workload."""
    return getattr(model, "purge", "never") != "never" or getattr(model, "precondition", None) is not None
