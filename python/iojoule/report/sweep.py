"""Scenarios of block load that differ in pattern, read or write, size and depth are one sweep: one section, not fifty.

A `Line` is a device under one pattern and size over its depths, with the laws through it; a `Panel` is all lines of one
device under one pattern, which is one picture of the small multiples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from iojoule.metrics.cell import AXES, Cell
from iojoule.metrics.metric import MODELLED, Estimate
from iojoule.metrics.operating_point import Best, best
from iojoule.models import laws
from iojoule.models.laws import Laws
from iojoule.models.laws import Point as Measured

from .reduce import Group, Scenario, usable

FEWEST = 3
"""Cells that make a sweep; fewer are shown one by one."""


@dataclass(frozen=True)
class Point:
    """One cell: what was asked for and what the repeats gave."""

    cell: Cell
    group: Group
    extra: str = ""

    @property
    def depth(self) -> int:
        return self.cell.outstanding or self.cell.queue_depth

    @property
    def label(self) -> str:
        return f"{self.cell.label}, {self.extra}" if self.extra else self.cell.label

    def of(self, name: str, scope: str = "") -> Estimate | None:
        """The estimate of that name; measured boundaries come before modelled ones."""
        return self.group.estimate(name, scope)

    def value(self, name: str, scope: str = "") -> float | None:
        one = self.of(name, scope)
        return None if one is None else one.mean

    @property
    def boundary(self) -> str:
        one = self.of("power_mean", "system")
        return "" if one is None else one.boundary


@dataclass(frozen=True)
class Line:
    """One device, one pattern, one size: points by depth."""

    target: str
    label: str
    size: str
    points: Sequence[Point]

    @property
    def name(self) -> str:
        return f"{self.target}, {self.label}, {self.size}"

    @cached_property
    def laws(self) -> Laws | None:
        """Every law its runs allow; None where they have no asymptote or too few depths."""
        try:
            return laws.fit(self.measured)
        except ValueError:
            return None

    @property
    def measured(self) -> list[Measured]:
        """Every complete run as a point of the laws, and its idle power as depth 0."""
        return _measured(self.points)

    @property
    def modelled(self) -> bool:
        return any(MODELLED in point.boundary for point in self.points)


@dataclass(frozen=True)
class Panel:
    """One device under one pattern, all sizes."""

    target: str
    label: str
    lines: Sequence[Line]

    @property
    def points(self) -> list[Point]:
        return [point for line in self.lines for point in line.points]

    @cached_property
    def best(self) -> Best | None:
        """Which of `points` has the most IOPS/W, and which cannot be told from it."""
        return best([point.of("iops_per_w", "system") for point in self.points])

    @property
    def best_points(self) -> list[Point]:
        return [] if self.best is None else [self.points[i] for i in self.best.indistinguishable]


@dataclass(frozen=True)
class Sweep:
    """All closed-loop cells of a campaign."""

    scenarios: Sequence[Scenario]
    panels: Sequence[Panel]

    @property
    def points(self) -> list[Point]:
        return [point for panel in self.panels for point in panel.points]

    @property
    def lines(self) -> list[Line]:
        return [line for panel in self.panels for line in panel.lines]

    @property
    def targets(self) -> list[str]:
        return list(dict.fromkeys(panel.target for panel in self.panels))

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(panel.label for panel in self.panels))

    @property
    def sizes(self) -> list[str]:
        """Smallest first."""
        found = {(point.cell.block_bytes or 0, point.cell.size_label) for point in self.points}
        return [label for _, label in sorted(found)]

    @property
    def depths(self) -> list[int]:
        return sorted({point.depth for point in self.points})

    @property
    def deepest(self) -> list[Point]:
        """The point of each line with the most outstanding requests, where the seed compares its systems."""
        return [line.points[-1] for line in self.lines]

    @property
    def boundaries(self) -> list[str]:
        return sorted({point.boundary for point in self.points} - {""})


def sweep_of(scenarios: Sequence[Scenario]) -> Sweep | None:
    """The sweep among the scenarios; None where there are too few cells for one."""
    members = [one for one in scenarios if _sweepable(one)]
    if len(members) < FEWEST:
        return None
    lines: dict[tuple[str, str, str], list[Point]] = {}
    apart = _apart(members)
    for scenario in members:
        for group in scenario.groups:
            cell = group.runs[0].run.cell
            assert cell is not None
            point = Point(cell, group, ", ".join(filter(None, (_extra(scenario, cell), apart.get(scenario.workload)))))
            size = cell.size_label + (f", {cell.jobs} jobs" if cell.jobs > 1 else "")
            lines.setdefault((group.target, point.label, size), []).append(point)
    made = [
        Line(target, label, size, sorted(points, key=lambda point: point.depth))
        for (target, label, size), points in lines.items()
    ]
    made.sort(key=lambda line: line.points[0].cell.block_bytes or 0)
    targets = list(dict.fromkeys(group.target for one in members for group in one.groups))
    labels = sorted({line.label for line in made})
    panels = [
        Panel(target, label, chosen)
        for label in labels
        for target in targets
        if (chosen := [line for line in made if (line.target, line.label) == (target, label)])
    ]
    return Sweep(members, panels)


def _sweepable(scenario: Scenario) -> bool:
    cells = [run.run.cell for group in scenario.groups for run in group.runs]
    return all(cell is not None and cell.outstanding is not None for cell in cells)


def _extra(scenario: Scenario, cell: Cell) -> str:
    """Swept keys of the workload that have no axis of their own; those of a target are in its name."""
    load = _load(scenario)
    found = {key: value for key, value in scenario.parameters.items() if key not in AXES and key in load}
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in found.items())


def _apart(members: Sequence[Scenario]) -> dict[str, str]:
    """For each workload what tells it from others of the same cell, such as ours and fio's; empty where no two are."""
    same: dict[tuple[object, ...], list[Scenario]] = {}
    for one in members:
        cell = one.groups[0].runs[0].run.cell
        assert cell is not None
        same.setdefault((cell.label, cell.size_label, cell.queue_depth, cell.jobs, _extra(one, cell)), []).append(one)
    keys: set[str] = set()
    for rivals in same.values():
        keys |= _differing([_load(one) for one in rivals])
        if len(rivals) > 1 and not keys:
            return {one.workload: one.workload for one in members}
    if "kind" in keys:
        keys = {"kind"}
    return {one.workload: ", ".join(_told(key, _load(one).get(key)) for key in sorted(keys)) for one in members}


def _differing(loads: Sequence[Mapping[str, Any]]) -> set[str]:
    """Keys that all have and not all alike, but for those with an axis of their own."""
    shared = set.intersection(*(set(load) for load in loads)) - {"name", *AXES}
    return {key for key in shared if not key.startswith("prepared_") and len({str(load[key]) for load in loads}) > 1}


def _load(scenario: Scenario) -> Mapping[str, Any]:
    return scenario.groups[0].runs[0].run.manifest.get("workload") or {}


def _told(key: str, value: object) -> str:
    return str(value).replace("_", " ") if key == "kind" else f"{key.replace('_', ' ')} {value}"


def _measured(points: Sequence[Point]) -> list[Measured]:
    found = []
    for point in points:
        for run in point.group.runs:
            iops, watts = run.metric("iops"), run.metric("power_mean", "system")
            if not usable(run) or iops is None or not iops.value:
                continue
            drawn = watts.value if watts is not None else None
            mean = run.metric("completion_from_issued_mean")
            found.append(Measured(point.depth, iops.value, drawn, None if mean is None else mean.value))
            idle = run.metric("idle_power", "system")
            if drawn is not None and idle is not None and idle.value is not None and idle.value > 0:
                found.append(Measured(0, 0.0, idle.value))
    return found
