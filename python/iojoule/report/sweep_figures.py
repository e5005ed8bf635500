"""Pictures of a sweep: IOPS/W over size and depth, latency over rate, power over rate. Each is small multiples, a panel
for each device and pattern, which the page's script arranges for the width there is (`meta` of the layout).

The last is the plane of energy proportionality (Barroso and Hölzle 2007): an ideal device draws nothing at rest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from iojoule.metrics.metric import MODELLED, Estimate

from .figures import Figure
from .numbers import plain, quoted, with_uncertainty
from .palette import faint
from .small_multiples import five, panels_layout, ticks_of
from .sweep import Line, Point, Sweep
from .words import boundary_text

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
DASHES = ("solid", "dash", "dot", "dashdot")
CURVE_POINTS = 60
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
                "customdata": [[_said(p, name, scope, unit) for p in row] for row in grid],
                "hovertemplate": "%{customdata}<extra></extra>",
            }
        )  # fmt: skip
        for size, row in zip(sizes, cells, strict=True):
            rows.append([f"{panel.target}, {panel.label}", size, *(_text(one) for one in row)])
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
    caption += _whose(sweep)
    head = ["device and pattern", "block size", *(f"depth {depth} ({unit})" for depth in sweep.depths)]
    title = f"{unit} over block size and queue depth" + (
        ", power modelled" if _modelled(sweep) and unit != "IOPS" else ""
    )
    return Figure("sweep-heat", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def latency_over_rate(sweep: Sweep, colour: Mapping[str, str]) -> Figure | None:
    """Latency over rate, depth as the parameter: points measured, the fitted law through them with its band."""
    if len(sweep.depths) < 2:
        return None
    data: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    seen: set[str] = set()
    labels = _by_label(sweep)
    for i, lines in enumerate(labels.values(), 1):
        for line in lines:
            style = _style(sweep, line, colour)
            place = {"xaxis": f"x{i}", "yaxis": f"y{i}", "legendgroup": style["name"]}
            data += [one | place for one in _law_curve(line, style)]
            points = [p for p in line.points if p.value("iops") and _latency(p)]
            data.append(
                _dots(points, style, seen) | place
                | {"x": [p.value("iops") for p in points], "y": [_latency(p) for p in points],
                   "customdata": [_said(p, "iops", "", "IOPS") for p in points]}
            )  # fmt: skip
            rows += [_law_row(line, p) for p in points]
    layout = panels_layout(list(labels), 300, "IOPS", "mean latency (ms)", log=data)
    caption = (
        "Mean latency from issue over IOPS, one point for each queue depth, both logarithmic. Lines: T = 1/IOPS = a + "
        "b/Q through the points, so that latency is aQ + b, with its 95 % band; the table below has a and b."
    )
    head = ["series", "queue depth", "IOPS", "latency (ms)", "IOPS by the law", "latency by the law (ms)"]
    title = "Latency over throughput, with the fitted law"
    return Figure("sweep-latency", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def power_over_rate(sweep: Sweep, colour: Mapping[str, str]) -> Figure | None:
    """Power over rate from idle on, the fitted line, and the line of a device that draws nothing at rest."""
    if len(sweep.depths) < 2 or all(point.value("power_mean", "system") is None for point in sweep.points):
        return None
    data: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    seen: set[str] = set()
    labels = _by_label(sweep)
    for i, lines in enumerate(labels.values(), 1):
        for line in lines:
            style = _style(sweep, line, colour)
            place = {"xaxis": f"x{i}", "yaxis": f"y{i}", "legendgroup": style["name"]}
            points = [p for p in line.points if p.value("power_mean", "system") is not None]
            if not points:
                continue
            data += [one | place for one in _power_lines(line, points, style, i, seen)]
            power = [p.of("power_mean", "system") for p in points]
            data.append(
                _dots(points, style, seen) | place
                | {
                    "x": [p.value("iops") for p in points],
                    "y": [one.mean if one else None for one in power],
                    "error_y": {"type": "data", "array": [one.expanded or 0 if one else 0 for one in power],
                                "thickness": 1, "width": 3, "color": style["colour"]},
                    "customdata": [_said(p, "power_mean", "system", "W") for p in points],
                }
            )  # fmt: skip
            for p in points:
                rows.append(
                    [
                        line.name, str(p.depth), _text(p.of("iops")), _text(p.of("power_mean", "system")),
                        _text(p.of("idle_power", "system")), _text(p.of("power_above_idle", "system")),
                    ]
                )  # fmt: skip
    layout = panels_layout(
        list(labels), 300, "IOPS", "modelled power (W)" if _modelled(sweep) else "power (W)", zero=True
    )
    caption = (
        "Power over IOPS, one point for each queue depth with ± U; hollow at 0: idle. Lines: P = P_idle + ΔP · "
        "IOPS/X_max. Dotted: an ideal device, whose power is in proportion to its work." + _whose(sweep)
    )
    head = ["series", "queue depth", "IOPS", "power (W)", "idle (W)", "above idle (W)"]
    title = "Power over throughput (energy proportionality)"
    return Figure("sweep-power", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def rate_over_size(sweep: Sweep, colour: Mapping[str, str]) -> Figure | None:
    """Throughput over block size at the greatest depth of each, where sizes were swept."""
    if len(sweep.sizes) < 3:
        return None
    data, rows, seen = [], [], set()
    labels = _by_label(sweep)
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
                    "customdata": [_said(p, "throughput", "", "MB/s") for p in chosen],
                    "hovertemplate": "%{customdata}<extra></extra>",
                }
            )  # fmt: skip
            seen.add(target)
            for p, one in zip(chosen, throughput, strict=True):
                rows.append([f"{target}, {p.label}", p.cell.size_label, str(p.depth), _text(one), _text(p.of("iops"))])
    layout = panels_layout(list(labels), 280, "block size (KiB)", "throughput (MB/s)", log=data)
    caption = "Throughput at the greatest queue depth measured, both axes logarithmic."
    head = ["device and pattern", "block size", "queue depth", "throughput (MB/s)", "IOPS"]
    title = "Throughput over block size"
    return Figure("sweep-size", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def _by_label(sweep: Sweep) -> dict[str, list[Line]]:
    return {label: [line for line in sweep.lines if line.label == label] for label in sweep.labels}


def _style(sweep: Sweep, line: Line, colour: Mapping[str, str]) -> dict[str, Any]:
    sizes = list(dict.fromkeys(one.size for one in sweep.lines))
    place = sizes.index(line.size)
    several = len(sizes) > 1
    return {
        "name": f"{line.target}, {line.size}" if several else line.target, "colour": colour[line.target],
        "symbol": SYMBOLS[place % len(SYMBOLS)], "dash": DASHES[place % len(DASHES)],
    }  # fmt: skip


def _dots(points: Sequence[Point], style: Mapping[str, Any], seen: set[str]) -> dict[str, Any]:
    first = style["name"] not in seen
    seen.add(style["name"])
    return {
        "type": "scatter", "mode": "markers", "name": style["name"], "showlegend": first,
        "marker": {"size": 8, "color": style["colour"], "symbol": style["symbol"]},
        "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip


def _latency(point: Point) -> float | None:
    return point.value("completion_from_issued_mean")


def _law_curve(line: Line, style: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The law from depth 1 on to twice the deepest, and its band: at each depth along the line R = Q/X."""
    if line.laws is None:
        return []
    law, last = line.laws.law, 2 * line.points[-1].depth
    depths = [math.exp(math.log(last) * i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
    # Where rate falls with depth b is below 0, and near depth 1 the law may say nothing that can be.
    depths = [q for q in depths if law.predict(q).response_ms > 0]
    said = [law.predict(q) for q in depths]
    base = {"type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
    curve = base | {
        "x": [five(p.throughput_per_s) for p in said], "y": [five(p.response_ms) for p in said],
        "line": {"color": style["colour"], "width": 1.5, "dash": style["dash"]},
    }  # fmt: skip
    if any(p.interval_per_s is None or p.interval_per_s[1] is None for p in said):
        return [curve]
    low = [p.interval_per_s[0] for p in said if p.interval_per_s]
    high = [p.interval_per_s[1] or 0.0 for p in said if p.interval_per_s]
    rates, times = [*low, *reversed(high)], [*depths, *reversed(depths)]
    band = base | {
        "x": [five(x) for x in rates], "y": [five(1000 * q / x) for q, x in zip(times, rates, strict=True)],
        "fill": "toself", "fillcolor": faint(style["colour"]), "line": {"width": 0},
    }  # fmt: skip
    return [band, curve]


def _law_row(line: Line, point: Point) -> list[str]:
    said = None if line.laws is None else line.laws.law.predict(point.depth)
    return [
        line.name, str(point.depth), _text(point.of("iops")), plain(_latency(point)),
        "–" if said is None else plain(said.throughput_per_s), "–" if said is None else plain(said.response_ms),
    ]  # fmt: skip


def _power_lines(
    line: Line, points: Sequence[Point], style: Mapping[str, Any], panel: int, seen: set[str]
) -> list[dict[str, Any]]:
    base = {"type": "scatter", "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
    top = max(points, key=lambda p: p.value("iops") or 0.0)
    x, y = top.value("iops") or 0.0, top.value("power_mean", "system") or 0.0
    found = [
        base | {"x": [0, five(x)], "y": [0, five(y)],
                "line": {"color": style["colour"], "width": 1, "dash": "dot"}, "opacity": 0.6}
    ]  # fmt: skip
    law = None if line.laws is None else line.laws.power
    if law is not None:
        found.append(
            base
            | {"x": [0, five(law.law.x_max_per_s)], "y": [five(law.idle_w), five(law.idle_w + law.delta_w)],
               "line": {"color": style["colour"], "width": 1.5, "dash": style["dash"]}}
        )  # fmt: skip
    idle = [value for p in points if (value := p.value("idle_power", "system")) is not None]
    key = f"idle {panel} {line.target}"
    if idle and key not in seen:
        seen.add(key)
        mean = sum(idle) / len(idle)
        found.append(
            base
            | {"mode": "markers", "x": [0], "y": [five(mean)], "hoverinfo": "text",
               "text": [f"{line.target}, idle: {plain(mean)} W"], "cliponaxis": False,
               "marker": {"size": 9, "color": style["colour"], "symbol": "circle-open", "line": {"width": 2}}}
        )  # fmt: skip
    return found


def _whose(sweep: Sweep) -> str:
    """Whose watts these are."""
    said = ", ".join(boundary_text(one) for one in sweep.boundaries)
    if not said:
        return ""
    return " Power is modelled, not measured." if _modelled(sweep) else f" Power {said}."


def _modelled(sweep: Sweep) -> bool:
    return bool(sweep.boundaries) and all(MODELLED in one for one in sweep.boundaries)


def _in_cell(one: Estimate | None, best: bool) -> str:
    if one is None or one.mean is None:
        return ""
    return f"{STAR} {plain(one.mean, 3)}" if best else plain(one.mean, 3)


def _said(point: Point | None, name: str, scope: str, unit: str) -> str:
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


def _text(one: Estimate | None) -> str:
    return "–" if one is None else with_uncertainty(one.mean, one.expanded)


def _log(one: Estimate | None) -> float | None:
    return None if one is None or not one.mean or one.mean <= 0 else five(math.log10(one.mean))
