"""The comparison as one HTML page in the house's style: nothing is fetched from anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from comparison import Row, bounds
from figures import INTERVAL_S, Floats, Run

from iojoule.report.figures import Figure
from iojoule.report.numbers import plain
from iojoule.report.page import embedded
from iojoule.report.palette import colours

SHARES = (0.5, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999, 1.0)
LEAST_MS = 0.1
"""Left end of the time axis. A request that memory answers takes no time in the simulation and lies further left."""


def build(
    runs: Mapping[str, Run],
    columns: Sequence[str],
    rows: Sequence[Row],
    variants: Sequence[Mapping[str, str]],
    about: Mapping[str, str],
) -> str:
    """`runs` are drawn; `columns` name the variants that `rows` compare."""
    from jinja2 import Environment, StrictUndefined
    from plotly.offline import get_plotlyjs

    paint = colours(list(runs))
    drawn = [
        _power(runs, paint),
        _distribution("latency", "Latency", {name: run.latency_ms for name, run in runs.items()}, paint),
        _distribution("completion", "Completion time", {name: run.completion_ms for name, run in runs.items()}, paint),
    ]
    template = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    part = files("iojoule.report").joinpath("templates")
    return (
        Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        .from_string(template)
        .render(
            columns=columns,
            rows=rows,
            variants=variants,
            about=about,
            colours=paint,
            figures=drawn,
            documents={figure.id: embedded(figure.document) for figure in drawn},
            style=part.joinpath("style.css").read_text(encoding="utf-8"),
            script=part.joinpath("report.js").read_text(encoding="utf-8"),
            plotly=get_plotlyjs().replace("</script", "<\\/script"),
        )
    )


def _power(runs: Mapping[str, Run], paint: Mapping[str, str]) -> Figure:
    traces = [_line(name, run.course_s, run.course_w, paint[name]) for name, run in runs.items()]
    layout: dict[str, Any] = {
        "height": 380,
        "xaxis": {"title": {"text": "seconds of the day, eight times as fast", "standoff": 8}},
        "yaxis": {"title": {"text": "power of four drives (W)<br>modelled"}, "rangemode": "tozero"},
        "hovermode": "x unified",
        "shapes": [],
        "annotations": [],
    }
    caption = (
        f"Means over {INTERVAL_S:g} s, the interval of the thesis' figure 8. Power is the model's, not measured. Four "
        f"idle drives draw 40.8 W; two of four in standby save {bounds()['low_gear']:.1f} % of that."
    )
    at = next(iter(runs.values())).course_s
    step = max(len(at) // 48, 1)
    table = [
        [plain(float(at[i])), *(plain(float(run.course_w[i])) for run in runs.values())]
        for i in range(0, len(at), step)
    ]
    head = ["time (s)", *(f"{name} (W)" for name in runs)]
    return Figure("power", "Power over the day", caption, {"data": traces, "layout": layout}, head, table, wide=True)


def _distribution(name: str, title: str, times: Mapping[str, Floats], paint: Mapping[str, str]) -> Figure:
    traces = []
    lowest = 1.0
    for case, ms in times.items():
        # The curve steps at each request; requests from memory are its height at the left end.
        served = ms[ms >= LEAST_MS]
        at = np.unique(np.linspace(0, max(len(served) - 1, 0), 400).astype(int))
        x = np.concatenate([[LEAST_MS], served[at]]) if len(served) else np.array([LEAST_MS])
        y = np.searchsorted(ms, x, side="right") / len(ms)
        traces.append(_line(case, x, y, paint[case], "hv"))
        lowest = min(lowest, float(y[0]))
    floor = max(0.0, math.floor(10 * lowest) / 10 - 0.1)
    layout: dict[str, Any] = {
        "height": 380,
        "xaxis": {"type": "log", "title": {"text": "ms", "standoff": 8}, "exponentformat": "none", "dtick": 1},
        "yaxis": {
            "title": {"text": "share of requests"},
            "range": [floor, 1.01],
        },
        "hovermode": "closest",
        "shapes": [],
        "annotations": [],
    }
    caption = (
        "From arrival to the first read (latency) or the last (completion) of the file, of requests that arrived in "
        "the day. Those that memory answers take no time and are the curve's height at its left end."
    )
    rows = [
        [f"{100 * share:g} %", *(plain(float(np.quantile(ms, share, method="inverted_cdf"))) for ms in times.values())]
        for share in SHARES
    ]
    head = ["share", *(f"{case} (ms)" for case in times)]
    return Figure(name, title, caption, {"data": traces, "layout": layout}, head, rows)


def _line(name: str, x: Floats, y: Floats, colour: str, shape: str = "linear") -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [float(f"{value:.5g}") for value in x],
        "y": [float(f"{value:.5g}") for value in y],
        "line": {"color": colour, "width": 2, "shape": shape},
    }
