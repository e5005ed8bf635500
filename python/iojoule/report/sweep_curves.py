"""Latency and power of a sweep over the rate, depth as the parameter, with the laws through the points.

The plane of power over rate is that of energy proportionality (Barroso and Hölzle 2007): an ideal device draws nothing
at rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .figures import Figure
from .numbers import plain
from .palette import faint
from .small_multiples import five, panels_layout
from .sweep import Line, Point, Sweep
from .sweep_words import by_label, modelled, said_of, text_of, whose

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon")
DASHES = ("solid", "dash", "dot", "dashdot")
CURVE_POINTS = 60


def latency_over_rate(sweep: Sweep, colour: Mapping[str, str]) -> Figure | None:
    """Latency over rate, depth as the parameter: points measured, the fitted law through them with its band."""
    if len(sweep.depths) < 2:
        return None
    data: list[dict[str, Any]] = []
    rows: list[list[str]] = []
    seen: set[str] = set()
    for panel, line, style in _curves(sweep, colour):
        place = {"xaxis": f"x{panel}", "yaxis": f"y{panel}", "legendgroup": style["name"]}
        data += [one | place for one in _law_curve(line, style)]
        points = [p for p in line.points if p.value("iops") and _latency(p)]
        data.append(
            _dots(points, style, seen) | place
            | {"x": [p.value("iops") for p in points], "y": [_latency(p) for p in points],
               "customdata": [said_of(p, "iops", "", "IOPS") for p in points]}
        )  # fmt: skip
        rows += [_law_row(line, p) for p in points]
    layout = panels_layout(list(by_label(sweep)), 300, "IOPS", "mean latency (ms)", log=data)
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
    for panel, line, style in _curves(sweep, colour):
        place = {"xaxis": f"x{panel}", "yaxis": f"y{panel}", "legendgroup": style["name"]}
        points = [p for p in line.points if p.value("power_mean", "system") is not None]
        if not points:
            continue
        data += [one | place for one in _power_lines(line, points, style, panel, seen)]
        power = [p.of("power_mean", "system") for p in points]
        data.append(
            _dots(points, style, seen) | place
            | {
                "x": [p.value("iops") for p in points],
                "y": [one.mean if one else None for one in power],
                "error_y": {"type": "data", "array": [one.expanded or 0 if one else 0 for one in power],
                            "thickness": 1, "width": 3, "color": style["colour"]},
                "customdata": [said_of(p, "power_mean", "system", "W") for p in points],
            }
        )  # fmt: skip
        for p in points:
            rows.append(
                [
                    line.name, str(p.depth), text_of(p.of("iops")), text_of(p.of("power_mean", "system")),
                    text_of(p.of("idle_power", "system")), text_of(p.of("power_above_idle", "system")),
                ]
            )  # fmt: skip
    layout = panels_layout(
        list(by_label(sweep)), 300, "IOPS", "modelled power (W)" if modelled(sweep) else "power (W)", zero=True
    )
    caption = (
        "Power over IOPS, one point for each queue depth with ± U; hollow at 0: idle. Lines: P = P_idle + ΔP · "
        "IOPS/X_max. Dotted: an ideal device, whose power is in proportion to its work." + whose(sweep)
    )
    head = ["series", "queue depth", "IOPS", "power (W)", "idle (W)", "above idle (W)"]
    title = "Power over throughput (energy proportionality)"
    return Figure("sweep-power", title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def _curves(sweep: Sweep, colour: Mapping[str, str]) -> Iterator[tuple[int, Line, dict[str, Any]]]:
    """Every line of the sweep with its style and the number of its panel."""
    for panel, lines in enumerate(by_label(sweep).values(), 1):
        for line in lines:
            yield panel, line, _style(sweep, line, colour)


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
        line.name, str(point.depth), text_of(point.of("iops")), plain(_latency(point)),
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
