"""The layout of small multiples: axes and titles of each panel, ticks of logarithmic scales."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .numbers import plain
from .sweep import Panel


def panels_layout(
    panels: Sequence[Panel] | Sequence[str], height: int, x: str, y: str, *,
    log: Sequence[Mapping[str, Any]] = (), zero: bool = False, categories: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The layout of small multiples: axes and titles; where they stand is decided on the page."""
    titles = [one if isinstance(one, str) else f"{one.target}: {one.label}" for one in panels]
    kind: dict[str, Any] = {"rangemode": "tozero"} if zero else {}
    kind |= {"type": "category"} if categories else {}
    layout: dict[str, Any] = {"height": height, "meta": {"panels": len(titles), "height": height}, "annotations": []}
    for i, title in enumerate(titles, 1):
        for axis, other, text in (("x", "y", x), ("y", "x", y)):
            values = [v for one in log if one[f"{axis}axis"] == f"{axis}{i}" for v in one[axis] if v and v > 0]
            layout[f"{axis}axis{i}"] = {"title": {"text": text}, "anchor": f"{other}{i}", **kind}
            layout[f"{axis}axis{i}"] |= _log_axis(values) if log else {}
        layout["annotations"].append(
            {
                "text": f"<b>{title}</b>", "xref": "paper", "yref": "paper", "x": 0, "y": 1, "xanchor": "left",
                "yanchor": "bottom", "showarrow": False, "yshift": 4,
            }
        )  # fmt: skip
    return layout


def _log_axis(values: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis whose ticks are written out: 1, 2, 5, 10."""
    if not values:
        return {"type": "log"}
    low, high = math.log10(min(values)), math.log10(max(values))
    if high - low < 0.3:
        low, high = low - 0.15, high + 0.15
    air = max(0.04 * (high - low), 0.02)
    ticks = ticks_of(low - air, high + air)
    return {
        "type": "log", "range": [low - air, high + air], "tickmode": "array", "tickvals": ticks,
        "ticktext": [plain(t, 3) if t >= 1 else f"{t:g}" for t in ticks],  # short: the title stands beside them
    }  # fmt: skip


def five(value: float) -> float:
    """As many digits as a picture shows, so that the page stays small."""
    return float(f"{value:.5g}")


def ticks_of(low: float, high: float) -> list[float]:
    """1, 2, 5 between the ends of a logarithmic scale; only the decades where there are many."""
    steps = (1, 2, 5) if high - low < 2.5 else (1,)
    found = [s * 10.0**e for e in range(math.floor(low), math.ceil(high) + 1) for s in steps]
    inside = [t for t in found if 10**low * 0.999 <= t <= 10**high * 1.001]
    return inside if len(inside) > 1 else [float(f"{10**low:.3g}"), float(f"{10**high:.3g}")]
