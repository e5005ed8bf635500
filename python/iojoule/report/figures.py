"""Pictures as Plotly documents (plain dictionaries), each with the table that says the same without JavaScript.

Figures 7 to 10 of Oldham (2005): activity and power of the day, distributions of latency and completion time.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from iojoule.metrics.latency import MEASURES, ORIGINS, Cdf, envelope
from iojoule.metrics.metric import MODELLED
from iojoule.metrics.power import PowerOverTime
from iojoule.metrics.rates import RatesOverTime

from .numbers import plain
from .palette import COLOURS, faint
from .reduce import Group, RunResult, Scenario
from .words import MEASURE_TITLES, boundary_text

Floats = npt.NDArray[np.float64]

POINTS = 500
TABLE_ROWS = 60
SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
DASHES = ("solid", "dot", "dash", "dashdot")


@dataclass(frozen=True)
class Figure:
    """One picture. `document` is `{"data": [...], "layout": {...}}`; `head` and `rows` are its table."""

    id: str
    title: str
    caption: str
    document: Mapping[str, Any]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    wide: bool = False


@dataclass(frozen=True)
class Course:
    """A quantity over time of one group: middle and envelope over its repeats."""

    name: str
    colour: str
    t_s: Floats
    mean: Floats
    low: Floats
    high: Floats
    dash: str = "solid"
    group: str = ""
    repeats: int = 1
    boundary: str = ""


def scenario_figures(scenario: Scenario, number: int, colour: Mapping[str, str], interval_s: float) -> list[Figure]:
    """All pictures of one scenario that have anything to show."""
    made = [
        power_and_load(scenario, f"f{number}-power", colour, interval_s),
        traffic(scenario, f"f{number}-traffic", colour, interval_s),
        channels(scenario, f"f{number}-channels", interval_s),
        *(distribution(scenario, f"f{number}-{measure}", measure, colour) for measure in MEASURES),
    ]
    return [figure for figure in made if figure is not None]


def power_and_load(scenario: Scenario, name: str, colour: Mapping[str, str], interval_s: float) -> Figure | None:
    """Power over time above load over time, on one time axis."""
    power = [
        course
        for group in scenario.groups
        for boundary in _boundaries(group)
        if (course := _power_course(group, boundary, colour[group.target]))
    ]
    load = _rate_courses(scenario, colour, lambda rates: rates.requests_per_s)
    if not load:
        return None
    panels = [("requests per second", load)]
    measured = list(dict.fromkeys(course.boundary for course in power if course.dash == "solid"))
    if len(measured) < 2:
        # One boundary is said by the axis; the legend then needs no more than the target and what is modelled.
        power = [
            replace(one, name=one.group if one.dash == "solid" or not measured else f"{one.group}, modelled")
            for one in power
        ]
    caption = "Load over the run"
    if power:
        where = f"<br>{boundary_text(measured[0])}" if len(measured) == 1 else ("" if measured else "<br>modelled")
        panels.insert(0, (f"power (W){where}", power))
        caption = "Power of the whole system above the load that drew it"
        if any(course.dash != "solid" for course in power):
            caption += "; dashed power is modelled, not measured"
    caption += f". Means over {interval_s:g} s; {_band(scenario)}."
    return _courses(name, "Power and load over time" if power else "Load over time", caption, panels, scenario)


def traffic(scenario: Scenario, name: str, colour: Mapping[str, str], interval_s: float) -> Figure | None:
    """Throughput above concurrent requests."""
    sent = _rate_courses(scenario, colour, lambda rates: rates.mb_per_s)
    open_now = _rate_courses(scenario, colour, lambda rates: rates.in_flight)
    if not sent:
        return None
    caption = f"Megabytes per second, and requests in flight, means over {interval_s:g} s; {_band(scenario)}."
    panels = [("throughput (MB/s)", sent), ("concurrent requests", open_now)]
    return _courses(name, "Throughput and concurrent requests", caption, panels, scenario)


def channels(scenario: Scenario, name: str, interval_s: float) -> Figure | None:
    """Power of every channel, a panel for each target."""
    panels = []
    palette: dict[str, str] = {}
    for group in scenario.groups:
        names = list(dict.fromkeys(one.scope for result in group.runs for one in result.channels))
        found = []
        for scope in names:
            paint = palette.setdefault(scope, COLOURS[(len(palette) + 2) % len(COLOURS)])
            parts = [(result, one) for result in group.runs for one in result.channels if one.scope == scope]
            course = _course(scope, paint, [(r.t_s, one.watts) for r, one in parts], scope)
            if course:
                modelled = parts[0][1].boundary == MODELLED
                found.append(_dashed(course, modelled))
        if found:
            panels.append((f"{group.target} (W)", found))
    if not panels or max(len(courses) for _, courses in panels) < 2:
        return None
    caption = f"Power of each channel, means over {interval_s:g} s; dashed channels are modelled, not measured."
    return _courses(name, "Power of each channel", caption, panels, scenario)


def distribution(scenario: Scenario, name: str, measure: str, colour: Mapping[str, str]) -> Figure | None:
    """Share of all requests answered within a time, from planned and from issued, with the min–max envelope."""
    data: list[dict[str, Any]] = []
    columns: list[tuple[str, list[Cdf]]] = []
    for group in scenario.groups:
        paint = colour[group.target]
        for origin in ORIGINS:
            known = [one.cdfs[measure, origin] for one in group.runs if (measure, origin) in one.cdfs]
            curves = [one for one in known if len(one.ms)]
            if not curves:
                continue
            band = envelope(curves)
            label = f"{group.target}, from {origin}"
            columns.append((label, curves))
            if band.repeats > 1 and origin == "planned":
                data += _envelope(band.ms, 100 * band.low, 100 * band.high, paint, group.target)
            data.append(
                {
                    "type": "scatter", "mode": "lines", "name": label, "legendgroup": group.target,
                    "x": _numbers(band.ms), "y": _numbers(100 * band.median),
                    "line": {"color": paint, "width": 2, "dash": "solid" if origin == "planned" else "dot"},
                    "hovertemplate": "%{y:.2f} % within %{x:.4g} ms<extra>" + label + "</extra>",
                }
            )  # fmt: skip
    if not data:
        return None
    layout = {
        "xaxis": {
            "type": "log",
            "title": {"text": f"{MEASURE_TITLES[measure].lower()}, ms", "standoff": 8},
            **_decades(data),
        },
        "yaxis": {"title": {"text": "share of requests (%)"}, "range": [0, 101]},
        "height": 420,
    }
    rows = [[f"{100 * share:g} %", *(" … ".join(_span_at(curves, share)) for _, curves in columns)] for share in SHARES]
    caption = (
        "Share of all requests that had it within the time on the axis (logarithmic). Solid: counted from when a "
        f"request was planned; dotted: from when it was issued. {_band(scenario).capitalize()}."
    )
    head = ["share of requests", *(f"{label} (ms)" for label, _ in columns)]
    return Figure(name, MEASURE_TITLES[measure], caption, {"data": data, "layout": layout}, head, rows)


def _span_at(curves: Sequence[Cdf], share: float) -> list[str]:
    """Least and greatest time by which this share was served, over the repeats; one value where they agree."""
    times = []
    for one in curves:
        place = int(np.searchsorted(one.share, share - 1e-12))
        times.append(float(one.ms[place]) if place < len(one.ms) else math.inf)
    texts = [plain(value, 3) if math.isfinite(value) else "never" for value in (min(times), max(times))]
    return texts[:1] if texts[0] == texts[1] else texts


def _band(scenario: Scenario) -> str:
    most = max(len(group.runs) for group in scenario.groups)
    return f"the band is the least and greatest of up to {most} repeats" if most > 1 else "one repeat"


def _boundaries(group: Group) -> list[str]:
    return list(dict.fromkeys(one.boundary for run in group.runs for one in run.totals if one.scope == "system"))


def _power_course(group: Group, boundary: str, colour: str) -> Course | None:
    parts = [(run, _system(run, boundary)) for run in group.runs]
    pairs = [(run.t_s, one.watts) for run, one in parts if one is not None]
    course = _course(f"{group.target}, {boundary_text(boundary)}", colour, pairs, group.target)
    return None if course is None else replace(_dashed(course, MODELLED in boundary), boundary=boundary)


def _system(run: RunResult, boundary: str) -> PowerOverTime | None:
    return next((one for one in run.totals if (one.scope, one.boundary) == ("system", boundary)), None)


def _dashed(course: Course, modelled: bool) -> Course:
    return replace(course, dash="dash") if modelled else course


def _rate_courses(
    scenario: Scenario, colour: Mapping[str, str], pick: Callable[[RatesOverTime], Floats]
) -> list[Course]:
    found = []
    for group in scenario.groups:
        pairs = [(run.t_s, pick(run.rates)) for run in group.runs if run.rates is not None]
        course = _course(group.target, colour[group.target], pairs, group.target)
        if course:
            found.append(course)
    return found


def _course(name: str, colour: str, pairs: Sequence[tuple[Floats, Floats]], group: str) -> Course | None:
    """Mean and envelope over repeats, aligned by time; an interval that one repeat lacks is of the others."""
    pairs = [(t, values) for t, values in pairs if len(t)]
    if not pairs:
        return None
    t = np.unique(np.concatenate([np.round(one, 6) for one, _ in pairs]))
    stack = np.full((len(pairs), len(t)), np.nan)
    for row, (at, values) in enumerate(pairs):
        stack[row, np.searchsorted(t, np.round(at, 6))] = values
    with warnings.catch_warnings():
        # An interval that no repeat covers is a hole in the picture and stays NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        mean, low, high = np.nanmean(stack, axis=0), np.nanmin(stack, axis=0), np.nanmax(stack, axis=0)
    keep = slice(None, None, max(1, math.ceil(len(t) / (4 * POINTS))))
    return Course(name, colour, t[keep], mean[keep], low[keep], high[keep], group=group, repeats=len(pairs))


def _courses(
    name: str, title: str, caption: str, panels: Sequence[tuple[str, Sequence[Course]]], scenario: Scenario
) -> Figure:
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {"height": 200 + 180 * len(panels)}
    known: set[str] = set()
    share = 1 / len(panels)
    for row, (unit, courses) in enumerate(panels):
        # Panels from top to bottom; all of them share the time axis of the lowest.
        axis = "y" if row == 0 else f"y{row + 1}"
        key = "yaxis" if row == 0 else f"yaxis{row + 1}"
        top = 1 - row * share
        layout[key] = {
            "title": {"text": unit}, "domain": [max(0.0, top - share + (0.06 if row < len(panels) - 1 else 0)), top],
            "rangemode": "tozero",
        }  # fmt: skip
        for course in courses:
            if course.repeats > 1:
                data += [
                    one | {"yaxis": axis}
                    for one in _envelope(course.t_s, course.low, course.high, course.colour, course.group)
                ]
            data.append(
                {
                    "type": "scatter", "mode": "lines", "name": course.name, "legendgroup": course.group, "yaxis": axis,
                    "x": _numbers(course.t_s), "y": _numbers(course.mean), "showlegend": course.name not in known,
                    "line": {"color": course.colour, "width": 2, "dash": course.dash, "shape": "linear"},
                    "hovertemplate": "%{y:.4g}<extra>" + course.name + "</extra>",
                }
            )  # fmt: skip
            known.add(course.name)
    last = "y" if len(panels) == 1 else f"y{len(panels)}"
    layout["xaxis"] = {"title": {"text": "seconds after the start of the measure phase", "standoff": 8}, "anchor": last}
    layout["hovermode"] = "x unified"
    layout |= _phases(scenario)
    head = [
        "time (s)",
        *(f"{course.name}: {unit.replace('<br>', ', ')}" for unit, courses in panels for course in courses),
    ]
    every = [course for _, courses in panels for course in courses]
    times = np.unique(np.concatenate([course.t_s for course in every]))
    times = times[:: max(1, math.ceil(len(times) / TABLE_ROWS))]
    rows = [[plain(float(at)), *(plain(_value_at(course, float(at))) for course in every)] for at in times]
    return Figure(name, title, caption, {"data": data, "layout": layout}, head, rows, wide=True)


def _value_at(course: Course, at: float) -> float | None:
    place = int(np.searchsorted(course.t_s, at - 1e-9))
    found = place < len(course.t_s) and abs(float(course.t_s[place]) - at) < 1e-6
    return float(course.mean[place]) if found else None


def _phases(scenario: Scenario) -> dict[str, Any]:
    """Grey behind everything that is not the measure phase, with its name."""
    spans = next((run.spans for group in scenario.groups for run in group.runs if run.spans), ())
    shapes, notes = [], []
    for phase, begin, end in spans:
        if phase == "measure" or end <= begin:
            continue
        shapes.append(
            {
                "type": "rect", "xref": "x", "yref": "paper", "x0": begin, "x1": end, "y0": 0, "y1": 1,
                "fillcolor": "rgba(128,128,128,0.12)", "line": {"width": 0}, "layer": "below",
            }
        )  # fmt: skip
        notes.append(
            {
                "x": (begin + end) / 2, "y": 1, "xref": "x", "yref": "paper", "yanchor": "bottom", "text": phase,
                "showarrow": False, "font": {"size": 11},
            }
        )  # fmt: skip
    return {"shapes": shapes, "annotations": notes}


def _envelope(x: Floats, low: Floats, high: Floats, colour: str, group: str) -> list[dict[str, Any]]:
    """Two invisible lines with the space between them filled."""
    keep = np.isfinite(low) & np.isfinite(high)
    base = {
        "type": "scatter", "mode": "lines", "legendgroup": group, "showlegend": False, "hoverinfo": "skip",
        "line": {"width": 0, "color": colour}, "x": _numbers(x[keep]),
    }  # fmt: skip
    upper = base | {"y": _numbers(high[keep])}
    return [upper, base | {"y": _numbers(low[keep]), "fill": "tonexty", "fillcolor": faint(colour)}]


def _decades(data: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Range of the time axis: the data, with a little air; ticks at 1, 2 and 5 where there are few decades."""
    times = [value for trace in data for value in trace["x"] if value]
    low, high = math.log10(min(times)), math.log10(max(times))
    air = max(0.03 * (high - low), 0.02)
    return {"range": [low - air, high + air], "dtick": "D2" if high - low < 3 else 1, "exponentformat": "none"}


def _numbers(values: Floats) -> list[float | None]:
    """Five significant digits are more than a screen shows; NaN is a hole."""
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values.tolist()]
