"""Pictures of a sweep: IOPS/W over size and depth, the curves of `sweep_curves`, throughput over size. Each is small
multiples, a panel for each device and pattern, which the page's script arranges for the width there is (`meta` of the
layout).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from iojoule.metrics.metric import Estimate

from .figures import Figure
from .numbers import plain
from .small_multiples import five, panels_layout, ticks_of
from .sweep import Sweep
from .sweep_curves import latency_over_rate, power_over_rate
from .sweep_words import by_label, modelled, said_of, text_of, whose

STAR = "★"
COLOUR_SCALE = [[0, "#eef4fb"], [0.5, "#8dbbdf"], [1, "#08487a"]]
"""One hue from light to dark, so that a value can be read on it, also without seeing colours."""


def sweep_figures(sweep: Sweep, colour: Mapping[str, str]) -> list[Figure]:
    """All pictures of a sweep that have anything to show."""
    made = [
        heat_map(sweep),
        latency_over_rate(sweep, colour),
        power_over_rate(sweep, colour),
        rate_over_size(sweep, colour),
    ]
    return [figure for figure in made if figure is not None]


def heat_map(sweep: Sweep) -> Figure | None:
    """IOPS/W, the value in each cell, ± when pointed at; without any power, IOPS."""
    name, scope, unit = ("iops_per_w", "system", "IOPS/W")
    if all(point.value(name, scope) is None for point in sweep.points):
        name, scope, unit = ("iops", "", "IOPS")
    values = [value for point in sweep.points if (value := point.value(name, scope)) and value > 0]
    if len(sweep.depths) * len(sweep.sizes) < 2 or not values:
        return None
    data, rows = [], []
    for i, panel in enumerate(sweep.panels, 1):
        best = panel.best_points if unit == "IOPS/W" else []
        at = {(point.cell.size_label, point.depth): point for point in panel.points}
        depths, sizes = sweep.depths, sweep.sizes
        grid = [[at.get((size, depth)) for depth in depths] for size in sizes]
        cells = [[None if p is None else p.of(name, scope) for p in row] for row in grid]
        data.append(
            {
                "type": "heatmap", "xaxis": f"x{i}", "yaxis": f"y{i}", "coloraxis": "coloraxis",
                "x": [str(depth) for depth in depths], "y": sizes, "xgap": 2, "ygap": 2,
                "z": [[_log(one) for one in row] for row in cells],
                "text": [
                    [_in_cell(one, p in best) for one, p in zip(row, points, strict=True)]
                    for row, points in zip(cells, grid, strict=True)
                ],
                "texttemplate": "%{text}", "hoverongaps": False,
                "customdata": [[said_of(p, name, scope, unit) for p in row] for row in grid],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )  # fmt: skip
        for size, row in zip(sizes, cells, strict=True):
            rows.append([f"{panel.target}, {panel.label}", size, *(text_of(one) for one in row)])
    low, high = math.log10(min(values)), math.log10(max(values))
    ticks = ticks_of(low, high)
    layout = panels_layout(sweep.panels, 96 + 44 * len(sweep.sizes), "queue depth", "", categories=True)
    layout["coloraxis"] = {
        "colorscale": COLOUR_SCALE, "cmin": low, "cmax": high if high > low else low + 1,
        "colorbar": {"title": {"text": unit}, "tickvals": [math.log10(t) for t in ticks],
                     "ticktext": [f"{t:g}" for t in ticks], "thickness": 12, "outlinewidth": 0},
    }  # fmt: skip
    caption = f"{unit} by block size and queue depth, on one logarithmic scale of colour; point at a cell for ±."
    if any(panel.best_points for panel in sweep.panels) and unit == "IOPS/W":
        caption += (
            f" {STAR} marks, in each panel, the best cell and those whose IOPS/W cannot be told from it (95 %, "
            "corrected for their number)."
        )
    caption += whose(sweep)
    head = ["device and pattern", "block size", *(f"depth {depth} ({unit})" for depth in sweep.depths)]
    title = f"{unit} over block size and queue depth" + (
        ", power modelled" if modelled(sweep) and unit != "IOPS" else ""
    )
    return Figure("sweep-heat", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def rate_over_size(sweep: Sweep, colour: Mapping[str, str]) -> Figure | None:
    """Throughput over block size at the greatest depth of each, where sizes were swept."""
    if len(sweep.sizes) < 3:
        return None
    data, rows, seen = [], [], set()
    labels = by_label(sweep)
    for i, lines in enumerate(labels.values(), 1):
        for target in sweep.targets:
            chosen = [line.points[-1] for line in lines if line.target == target and line.points[-1].cell.block_bytes]
            if not chosen:
                continue
            throughput = [p.of("throughput") for p in chosen]
            data.append(
                {
                    "type": "scatter", "mode": "lines+markers", "name": target, "legendgroup": target,
                    "showlegend": target not in seen, "xaxis": f"x{i}", "yaxis": f"y{i}",
                    "x": [(p.cell.block_bytes or 0) / 1024 for p in chosen],
                    "y": [one.mean if one else None for one in throughput],
                    "line": {"color": colour[target], "width": 2}, "marker": {"size": 7},
                    "customdata": [said_of(p, "throughput", "", "MB/s") for p in chosen],
                    "hovertemplate": "%{customdata}<extra></extra>",
                }
            )  # fmt: skip
            seen.add(target)
            for p, one in zip(chosen, throughput, strict=True):
                rows.append(
                    [f"{target}, {p.label}", p.cell.size_label, str(p.depth), text_of(one), text_of(p.of("iops"))]
                )
    layout = panels_layout(list(labels), 280, "block size (KiB)", "throughput (MB/s)", log=data)
    caption = "Throughput at the greatest queue depth measured, both axes logarithmic."
    head = ["device and pattern", "block size", "queue depth", "throughput (MB/s)", "IOPS"]
    title = "Throughput over block size"
    return Figure("sweep-size", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def _in_cell(one: Estimate | None, best: bool) -> str:
    if one is None or one.mean is None:
        return ""
    return f"{STAR} {plain(one.mean, 3)}" if best else plain(one.mean, 3)


def _log(one: Estimate | None) -> float | None:
    return None if one is None or not one.mean or one.mean <= 0 else five(math.log10(one.mean))
