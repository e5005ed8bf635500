"""What is done to storage before a step is measured, always in this order: purge, precondition, drop caches (Issa and
Kassem, section 3, and the SNIA PTS). What was done stands in the run's manifest.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError, RunFailed
from iojoule.targets import procedure as targets
from iojoule.targets.precondition import Precondition
from iojoule.targets.storage import Storage
from iojoule.workloads.native import block_load, folder_beside
from iojoule.workloads.verification import begin, forget, state_of

Attend = Callable[[Callable[[Any], Any]], Any]
"""Runs a function of a ``Progress`` on a thread while the step is looked after; its result."""


def bring_into_state(
    config: Any, target: Storage, run: Path, seed: int, attend: Attend, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Bring an open target into the state its section of the experiment asks for; facts for the manifest. ``tell`` is
    told how far long work has come."""
    campaign = run.parent.parent
    facts: dict[str, Any] = {}
    purged = attend(lambda progress: targets.purge(target, tell))
    if purged is not None:
        forget(target, campaign)
        facts["purge"] = purged
    fill: Precondition | None = getattr(config, "precondition", None)
    marker = state_of(target, campaign).with_suffix(".preconditioned")
    if fill is not None and (fill.before == "step" or purged is not None or not marker.exists()):
        forget(target, campaign)
        begin(target, campaign)
        facts["precondition"] = attend(lambda progress: precondition(fill, target, run, seed, progress))
        marker.touch()
    facts["caches"] = attend(lambda progress: targets.drop_caches(target))
    return facts


def precondition(fill: Precondition, target: Storage, run: Path, seed: int, progress: Any) -> dict[str, Any]:
    """Write the target as ``fill`` says; what was written. RunFailed where a write fails."""
    block = fill.block_size
    if block % target.logical_block_bytes or block > target.size_bytes:
        raise ConfigError(
            f"precondition.block_size: requests of {block} B do not fit {target.name}",
            key="target.precondition.block_size",
            value=block,
            allowed=f"multiples of {target.logical_block_bytes} B up to {target.size_bytes} B",
        )
    config = {
        "run": str(folder_beside(run, "precondition")),
        "target": target.native(direct=True, writable=True),
        "work": {
            "kind": "synthetic",
            "pattern": {"kind": fill.pattern},
            "mix": {"write": 1.0},
            "sizes": [{"bytes": block}],
            "queue_depth": fill.queue_depth,
        },
        "duration_ns": None if fill.duration is None else round(fill.duration * 1e9),
        "requests": max(1, round(fill.passes * target.size_bytes / block)),
        "seed": seed,
        "record": False,
    }
    summary = block_load(config, progress)
    if summary["errors"]:
        failed = summary["errnos"] or summary["errors"]
        raise RunFailed(f"precondition: writing {target.name} failed: {failed}", folder=run)
    span_s = (summary["end_ns"] - summary["epoch_ns"]) / 1e9
    return {**fill.model_dump(mode="json"), "written_bytes": summary["bytes"], "seconds": span_s}


def shares_disk(target: Storage, folder: Path) -> bool:
    """Whether ``folder`` lies on the device that holds the target: what is recorded there disturbs what is measured."""
    home = folder.stat().st_dev
    for path in (*target.paths, *target.backing):
        found = path.stat()
        if home in (found.st_rdev, found.st_dev):
            return True
    return False
