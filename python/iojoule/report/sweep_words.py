"""What the pictures of a sweep say: its lines by pattern, a point in words, whose watts they are."""

from __future__ import annotations

from iojoule.metrics.metric import MODELLED, Estimate

from .numbers import quoted, with_uncertainty
from .sweep import Line, Point, Sweep
from .words import boundary_text


def by_label(sweep: Sweep) -> dict[str, list[Line]]:
    """Lines of all devices by pattern: what shares a panel."""
    return {label: [line for line in sweep.lines if line.label == label] for label in sweep.labels}


def whose(sweep: Sweep) -> str:
    """Whose watts these are."""
    said = ", ".join(boundary_text(one) for one in sweep.boundaries)
    if not said:
        return ""
    return " Power is modelled, not measured." if modelled(sweep) else f" Power {said}."


def modelled(sweep: Sweep) -> bool:
    """Whether no watt of it was measured."""
    return bool(sweep.boundaries) and all(MODELLED in one for one in sweep.boundaries)


def said_of(point: Point | None, name: str, scope: str, unit: str) -> str:
    """A point as it is told when pointed at, the metric of `name` first."""
    if point is None:
        return ""
    one = point.of(name, scope)
    lines = [f"<b>{point.group.target}, {point.label}</b>", f"{point.cell.size_label}, queue depth {point.depth}"]
    if one is not None and one.mean is not None:
        lines.append(quoted(one.mean, one.expanded, unit))
    for other, at, text in (("iops", "", "IOPS"), ("completion_from_issued_mean", "", "ms"),
                            ("power_mean", "system", "W"), ("iops_per_w", "system", "IOPS/W")):  # fmt: skip
        found = point.of(other, at)
        if (other, at) != (name, scope) and found is not None and found.mean is not None:
            lines.append(quoted(found.mean, found.expanded, text))
    if point.boundary:
        lines.append(f"power {boundary_text(point.boundary)}")
    return "<br>".join(lines)


def text_of(one: Estimate | None) -> str:
    """An estimate in a table."""
    return "–" if one is None else with_uncertainty(one.mean, one.expanded)
