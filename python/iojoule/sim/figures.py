"""Pictures of a sweep as Plotly documents, each with the table that says the same without JavaScript."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iojoule.report.figures import Figure
from iojoule.report.numbers import plain
from iojoule.report.palette import COLOURS
from iojoule.sim.axes import Axes, Row, label, number, shown, spread


@dataclass(frozen=True)
class Quantity:
    """One picture: solid `mean`, dotted `tail` where there is one."""

    id: str
    title: str
    unit: str
    mean: str
    tail: str | None = None
    caption: str = ""
    factor: float = 1.0


QUANTITIES = (
    Quantity(
        "response",
        "Response time",
        "ms",
        "response_mean_ms",
        "response_p95_ms",
        "Solid: mean; dotted: 95th percentile.",
    ),
    Quantity("power", "Mean power", "W", "mean_w", None, "All drives together; modelled, not measured."),
    Quantity(
        "busy", "Busy drives", "% of the time", "busy_mean", "busy_max", "Solid: mean; dotted: busiest drive.", 100
    ),
    Quantity("spinups", "Spin-ups", "in all", "spinups", None, "Of all drives over the run."),
    Quantity(
        "web",
        "Web completion time",
        "ms",
        "web_completion_mean_ms",
        "web_completion_p99_ms",
        "Solid: mean; dotted: 99th percentile.",
    ),
    Quantity("throughput", "Answers", "per s", "rate_per_s", None, "Per simulated second."),
)
"""What is drawn, in this order, where a sweep has more than one value of it."""


def panels(rows: Sequence[Row], axes: Axes) -> Iterator[tuple[str, list[Row]]]:
    """Title and rows of each group of pictures; one without a title where no parameter is left for it."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(shown(key, row.get(key)) for key in axes.panels), []).append(row)
    for names, members in groups.items():
        yield ", ".join(names), members


def figures(rows: Sequence[Row], axes: Axes, prefix: str) -> list[Figure]:
    """The pictures of one panel that have anything to show."""
    made = [_figure(rows, axes, quantity, prefix) for quantity in QUANTITIES if _varies(rows, quantity.mean)]
    if axes.x and _varies(rows, "mean_w") and _varies(rows, "response_mean_ms"):
        made.insert(2, _trade(rows, axes, prefix))
    return made


def _varies(rows: Sequence[Row], column: str) -> bool:
    values = {row.get(column) for row in rows} - {None}
    return len(values) > 1 or (column == "response_mean_ms" and bool(values))


def _lines(rows: Sequence[Row], axes: Axes) -> dict[str, list[Row]]:
    lines: dict[str, list[Row]] = {}
    for row in rows:
        name = ", ".join(shown(key, row.get(key)) for key in axes.series) or "all points"
        lines.setdefault(name, []).append(row)
    return lines


def _figure(rows: Sequence[Row], axes: Axes, quantity: Quantity, prefix: str) -> Figure:
    data: list[dict[str, Any]] = []
    for colour, (name, members) in zip(itertools.cycle(COLOURS), _lines(rows, axes).items(), strict=False):
        data += (
            _bars(name, members, axes, quantity, colour)
            if not axes.numeric
            else _curves(name, members, axes, quantity, colour)
        )
    layout: dict[str, Any] = {
        "height": 420,
        "xaxis": _x_axis(rows, axes),
        "yaxis": {"title": {"text": f"{quantity.title.lower()} ({quantity.unit})"}, **_y_scale(data, axes)},
        "showlegend": bool(axes.series),
    }
    if not axes.numeric:
        layout["barmode"] = "group"
    caption = quantity.caption
    if any(row.get("sustained") is False for row in rows):
        caption += " Hollow: given up, the array does not sustain the load."
    return Figure(
        f"{prefix}-{quantity.id}", quantity.title, caption.strip(), {"data": data, "layout": layout},
        *_table(rows, axes, quantity),
    )  # fmt: skip


def _y_scale(data: Sequence[Mapping[str, Any]], axes: Axes) -> dict[str, Any]:
    if axes.numeric and spread([value for one in data for value in one["y"]]):
        return {"type": "log", "exponentformat": "none"}
    return {"rangemode": "tozero"}


def _x_axis(rows: Sequence[Row], axes: Axes) -> dict[str, Any]:
    title = {"text": label(axes.x) if axes.x else "", "standoff": 8}
    if not axes.numeric:
        return {"title": title, "type": "category"}
    places = {number(row.get(axes.x)): str(row.get(axes.x)) for row in rows if axes.x}
    ticks: dict[str, Any] = {}
    if len(places) <= 12 or any(not isinstance(row.get(axes.x or ""), int | float) for row in rows):
        # The values themselves, as they are written in the design.
        ticks = {"tickmode": "array", "tickvals": list(places), "ticktext": list(places.values())}
    return {"title": title, "type": "log" if axes.log else "linear", **ticks}


def _curves(name: str, members: Sequence[Row], axes: Axes, quantity: Quantity, colour: str) -> list[dict[str, Any]]:
    ordered = sorted(members, key=lambda row: number(row.get(axes.x or "")) or 0.0)
    curves = []
    for column, dash in ((quantity.mean, "solid"), (quantity.tail, "dot")):
        if column is None or all(row.get(column) is None for row in ordered):
            continue
        tail = dash == "dot"
        hollow = ["circle-open" if row.get("sustained") is False else "circle" for row in ordered]
        curves.append(
            {
                "type": "scatter", "mode": "lines+markers", "name": name, "legendgroup": name, "showlegend": not tail,
                "x": [number(row.get(axes.x or "")) for row in ordered],
                "y": [_value(row, column, quantity) for row in ordered],
                "line": {"color": colour, "width": 2, "dash": dash},
                "marker": {"size": 5 if tail else 7, "symbol": hollow, "color": colour},
                "hovertemplate": f"%{{y:.4g}} {quantity.unit}{' (dotted)' if tail else ''}<extra>{name}</extra>",
            }
        )  # fmt: skip
    return curves


def _bars(name: str, members: Sequence[Row], axes: Axes, quantity: Quantity, colour: str) -> list[dict[str, Any]]:
    x = [shown(axes.x, row.get(axes.x)) if axes.x else "all" for row in members]
    bar: dict[str, Any] = {
        "type": "bar", "name": name, "legendgroup": name, "x": x, "marker": {"color": colour},
        "y": [_value(row, quantity.mean, quantity) for row in members],
        "hovertemplate": "%{x}: %{y:.4g} " + quantity.unit + f"<extra>{name}</extra>",
    }  # fmt: skip
    if quantity.tail is not None:
        # The tail stands above its mean as one arm of an error bar.
        over = [
            None
            if (high := _value(row, quantity.tail, quantity)) is None
            else high - (_value(row, quantity.mean, quantity) or 0)
            for row in members
        ]
        bar["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": over,
            "arrayminus": [0] * len(over),
            "thickness": 1.2,
        }
    return [bar]


def _trade(rows: Sequence[Row], axes: Axes, prefix: str) -> Figure:
    """Power against response time: every point of the panel; the best lie at the lower left."""
    data: list[dict[str, Any]] = []
    for colour, (name, members) in zip(itertools.cycle(COLOURS), _lines(rows, axes).items(), strict=False):
        known = [row for row in members if row.get("mean_w") is not None and row.get("response_mean_ms") is not None]
        if not known:
            continue
        texts = [shown(axes.x or "", row.get(axes.x or "")) for row in known]
        data.append(
            {
                "type": "scatter", "mode": "markers+text" if len(rows) <= 24 else "markers", "name": name,
                "x": [_five(row["response_mean_ms"]) for row in known], "y": [_five(row["mean_w"]) for row in known],
                "text": texts, "textposition": "top center", "textfont": {"size": 10}, "cliponaxis": False,
                "marker": {"size": 9, "color": colour},
                "hovertemplate": "%{text}: %{y:.4g} W, %{x:.4g} ms<extra>" + name + "</extra>",
            }
        )  # fmt: skip
    layout = {
        "height": 420,
        "xaxis": {
            "title": {"text": "mean response time (ms)", "standoff": 8},
            **({"type": "log", "exponentformat": "none"} if spread([x for one in data for x in one["x"]]) else {}),
        },
        "yaxis": {"title": {"text": "mean power (W)"}},
        "showlegend": bool(axes.series),
    }
    head = [*_keys(axes), "mean response (ms)", "mean power (W)"]
    cells = [
        [
            *(shown(key, row.get(key)) for key in _columns(axes)),
            plain(row.get("response_mean_ms")),
            plain(row.get("mean_w")),
        ]
        for row in rows
    ]
    caption = "What a millisecond costs: lower left is better. Power is modelled, not measured."
    return Figure(
        f"{prefix}-trade", "Power against response time", caption, {"data": data, "layout": layout}, head, cells
    )


def _table(rows: Sequence[Row], axes: Axes, quantity: Quantity) -> tuple[list[str], list[list[str]]]:
    columns = [one for one in (quantity.mean, quantity.tail) if one is not None]
    head = [
        *_keys(axes),
        *(f"{one.removesuffix('_ms').removesuffix('_w').replace('_', ' ')} ({quantity.unit})" for one in columns),
    ]
    cells = [
        [*(shown(key, row.get(key)) for key in _columns(axes)), *(plain(_value(row, one, quantity)) for one in columns)]
        for row in rows
    ]
    return head, cells


def _columns(axes: Axes) -> list[str]:
    return [*([axes.x] if axes.x else []), *axes.series]


def _keys(axes: Axes) -> list[str]:
    return [label(key) for key in _columns(axes)] or ["point"]


def _value(row: Row, column: str, quantity: Quantity) -> float | None:
    value = row.get(column)
    return None if value is None else _five(quantity.factor * float(value))


def _five(value: float) -> float | None:
    """Five significant digits are more than a screen shows."""
    return float(f"{value:.5g}") if math.isfinite(value) else None
