"""The ranging pass: a step with autorange tells the peaks, the measured steps of its cell keep to ranges above them.

SPECpower and MLPerf Power do the same with PTDaemon: a meter that changes its range spoils the window it changes in,
and a range far above the load makes the range's share the whole uncertainty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iojoule.errors import ConfigError, RunFailed
from iojoule.meters.base import Fatal
from iojoule.meters.config import MeterConfig
from iojoule.meters.table import driver_class, parse_meter

if TYPE_CHECKING:
    from iojoule.experiment.plan import Step

FIND = "find"
ROLE = "ranging"
OVERLOADED = "choose a larger range"
REPEAT = "repeat the ranging (run the experiment anew)"


def seeking(meters: Iterable[MeterConfig]) -> list[MeterConfig]:
    """The meters that have a range to be found."""
    return [meter for meter in meters if any(getattr(meter, key) == FIND for key in _keys(meter))]


def _keys(meter: MeterConfig) -> tuple[str, ...]:
    return getattr(driver_class(meter.kind), "RANGES", ())


def with_ranging(steps: Sequence[Step], meters: Sequence[MeterConfig]) -> list[Step]:
    """``steps``, and before the first of each target and workload one that finds the ranges, where a meter asks."""
    if not seeking(meters):
        return list(steps)
    return [replace(step, index=index) for index, step in enumerate(_interspersed(steps))]


def _interspersed(steps: Sequence[Step]) -> Iterator[Step]:
    ranged: set[tuple[str, str]] = set()
    for step in steps:
        if (step.target, step.workload) not in ranged:
            ranged.add((step.target, step.workload))
            yield replace(step, repeat=0, role=ROLE)
        yield step


def found(meters: Iterable[MeterConfig], peaks: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """For the manifest of a ranging step: by meter its peaks and the keys that are to be set. RunFailed where no range
    is large enough, or nothing was seen."""
    document = {}
    for meter in seeking(meters):
        seen = peaks.get(meter.name)
        if not seen:
            raise RunFailed(f"{meter.name} gave no good reading, so there is no peak to find a range for")
        driver: Any = driver_class(meter.kind)
        try:
            ranges = driver.ranged(meter, seen).model_dump(mode="json")
        except Fatal as error:
            raise RunFailed(f"{meter.name}: {error}") from error
        before = meter.model_dump(mode="json")
        document[meter.name] = {
            "peaks": dict(seen),
            "ranges": {key: value for key, value in ranges.items() if value != before[key]},
        }
    return document


def ranged(meters: Sequence[MeterConfig], step: Step, runs: Path) -> tuple[list[MeterConfig], str]:
    """The meters as ``step`` needs them, and the name of the run their ranges come from (empty where none is needed).
    RunFailed where the ranging of its cell did not reach its end."""
    if step.role == ROLE or not seeking(meters):
        return list(meters), ""
    folder, ranges = _latest(step, runs)
    try:
        return [
            parse_meter(meter.model_dump(mode="json") | ranges[meter.name]["ranges"]) if meter.name in ranges else meter
            for meter in meters
        ], folder
    except ValueError as error:
        raise ConfigError(f"the ranges found by {folder} do not fit: {error}") from error


def _latest(step: Step, runs: Path) -> tuple[str, dict[str, Any]]:
    for path in sorted(runs.glob(f"*_{step.target}_{step.workload}_{ROLE}*/manifest.json"), reverse=True):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        made = manifest.get("step", {})
        same = (made.get("target"), made.get("workload")) == (step.target, step.workload)
        if same and manifest["status"] == "complete" and "ranging" in manifest:
            return path.parent.name, manifest["ranging"]
    raise RunFailed(
        f"the ranges for {step.workload} on {step.target} were not found: its ranging step did not reach its end",
        folder=runs,
    )
