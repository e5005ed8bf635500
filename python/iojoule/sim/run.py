"""One point of a design simulated, or a measured disk replayed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iojoule.sim.design import Point, Sweep
from iojoule.sim.request import drive_of, request

if TYPE_CHECKING:
    from iojoule._native import SimControl


def run_point(
    sweep: Sweep,
    point: Point,
    output: Path | None = None,
    *,
    requests: bool = False,
    control: SimControl | None = None,
) -> dict[str, Any]:
    """The summary of one point; with ``output`` also a run folder there, with a row per request if asked for."""
    asked = request(point.design)
    if output is None:
        return _simulate(asked, control)
    # The folder needs pyarrow, which takes longer to load than many a simulation runs.
    from iojoule.sim.folder import run_folder

    with run_folder(output, sweep, point) as folder:
        folder.manifest["resolved"] = asked
        folder.event("phase", phase="measure", edge="begin", ns=0)
        summary = _simulate({**asked, "output": {"folder": str(output), "requests": requests}}, control)
        folder.event("phase", phase="measure", edge="end", ns=round(summary["simulated_s"] * 1e9))
        folder.manifest["summary"] = summary
    return summary


def validate(disk: str, trace: Path, name: str | None = None) -> dict[str, Any]:
    """A measured trace replayed on the model of ``disk`` (a preset or a file), beside what was measured."""
    from iojoule import _native

    answer: dict[str, Any] = json.loads(
        _native.sim_validate(json.dumps({"drive": drive_of(disk, name), "trace": str(trace)}))
    )
    return answer


def _simulate(asked: dict[str, Any], control: SimControl | None) -> dict[str, Any]:
    from iojoule import _native

    answer: dict[str, Any] = json.loads(_native.sim_run(json.dumps(asked), control or _native.SimControl()))
    return answer
