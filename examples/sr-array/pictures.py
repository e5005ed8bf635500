"""Figures 6 to 11 as Plotly documents, each with its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from curves import BOUND_MS, Curves, natural

from iojoule.models.sr_array import Disk, Load, recommend
from iojoule.report.figures import Figure
from iojoule.report.numbers import plain
from iojoule.report.palette import COLOURS

LOCALITY = {"cello-base": 4.14, "cello-disk6": 16.67, "tpcc": 1.04}
TITLES = {"cello-base": "Cello base", "cello-disk6": "Cello disk 6", "tpcc": "TPC-C"}
PAPERS_DISK = Disk(seek_ms=10, rotation_ms=6, overhead_ms=2.7, track_switch_ms=0.9)
DATA_MB = {"cello-base": 8400, "tpcc": 9000}
MEMORY = "memory"

Line = tuple[str, list[tuple[float, float]]]
"""A name and its points."""


def figures(curves: Curves) -> list[Figure]:
    """All of them, in the order of the paper."""
    made = []
    for trace in ("cello-base", "cello-disk6"):
        made += [_against_disks(curves, trace, "6"), _shapes(curves, trace, "7")]
    made += [_against_disks(curves, "tpcc", "8a"), _shapes(curves, "tpcc", "8b")]
    for letter, trace, stripe, sr in (("a", "cello-base", "6x1x1", "2x3x1"), ("b", "tpcc", "36x1x1", "9x4x1")):
        pairs = [(stripe, "look"), (stripe, "satf"), (sr, "rlook"), (sr, "rsatf")]
        made.append(_over_speed(curves, trace, f"9{letter}", "schedulers", pairs))
    shapes = {
        "cello-base": ("6x1x1", "3x2x1", "2x3x1", "1x6x1", "3x1x2", "1x1x6"),
        "tpcc": ("36x1x1", "18x2x1", "12x3x1", "9x4x1", "18x1x2"),
    }
    for letter, trace in (("a", "cello-base"), ("b", "tpcc")):
        pairs = [(shape, natural(shape)) for shape in shapes[trace]]
        made.append(_over_speed(curves, trace, f"10{letter}", "shapes", pairs))
    made += [_memory(curves, "cello-base", "11a", "1x1x1"), _memory(curves, "tpcc", "11b", "4x3x1")]
    return made


def chosen(trace: str, disks: int) -> str:
    """The SR-Array the model recommends."""
    best = recommend(PAPERS_DISK, Load(LOCALITY[trace]), disks)
    return f"{best.ds}x{best.dr}x1"


def _against_disks(curves: Curves, trace: str, number: str) -> Figure:
    counts = sorted({s.disks for s in curves.points if s.trace == trace and s.speed == 1 and s.cache is None})
    families = {
        "SR-Array": lambda d: chosen(trace, d),
        "RAID-10": lambda d: f"{d // 2}x1x2" if d % 2 == 0 else "",
        "mirror": lambda d: f"1x1x{d}",
        "stripe": lambda d: f"{d}x1x1",
    }
    lines: list[Line] = []
    for name, shape in families.items():
        points = [(float(d), curves.mean(trace, shape(d))) for d in counts if shape(d)]
        lines.append((name, _known(points)))
    if trace != "tpcc":
        load = Load(LOCALITY[trace])
        model = [(float(d), recommend(PAPERS_DISK, load, d).response_ms) for d in counts]
        lines.append(("model of the SR-Array", model))
    caption = "Synchronous I/Os; shapes of the SR-Array are those the model recommends."
    return _figure(f"f{number}-{trace}", f"Figure {number}: {TITLES[trace]}", caption, lines, "disks")


def _shapes(curves: Curves, trace: str, number: str) -> Figure:
    setups = [s for s in curves.points if s.trace == trace and s.speed == 1 and s.cache is None]
    shapes = sorted({s.shape for s in setups if s.shape.endswith("x1") and s.scheduler in ("satf", "rsatf")})
    by_dr: dict[int, list[tuple[float, float]]] = {}
    for shape in shapes:
        ds, dr, _ = (int(part) for part in shape.split("x"))
        by_dr.setdefault(dr, []).append((float(ds * dr), curves.mean(trace, shape)))
    lines: list[Line] = [(f"Dr = {dr}", _known(sorted(points))) for dr, points in sorted(by_dr.items())]
    counts = sorted({x for _, points in lines for x, _ in points})
    lines.append(("recommended", _known([(d, curves.mean(trace, chosen(trace, int(d)))) for d in counts])))
    caption = "Every SR-Array Ds x Dr x 1; the line is the shape the model recommends."
    return _figure(f"f{number}-{trace}", f"Figure {number}: {TITLES[trace]}", caption, lines, "disks", dots=True)


def _over_speed(curves: Curves, trace: str, number: str, what: str, pairs: Sequence[tuple[str, str]]) -> Figure:
    lines: list[Line] = []
    for shape, scheduler in pairs:
        points = [
            (speed, found.mean_ms)
            for speed, found in curves.over_speed(trace, shape, scheduler)
            if found.sustained and found.mean_ms <= 3 * BOUND_MS
        ]
        lines.append((f"{shape} {scheduler.upper()}", _known(points)))
    caption = (
        f"Points whose queue grows without bound were given up and are not drawn, nor those above {3 * BOUND_MS:g} ms."
    )
    return _figure(
        f"f{number}", f"Figure {number}: {TITLES[trace]}, {what}", caption, lines, "times as fast", bound=True
    )  # fmt: skip


def _memory(curves: Curves, trace: str, number: str, shape: str) -> Figure:
    data, first = DATA_MB[trace], math.prod(int(part) for part in shape.split("x"))
    lines: list[Line] = []
    for speed in (1.0, 3.0):
        disks = [
            (float(s.disks), curves.mean(trace, s.shape, speed=speed))
            for s in curves.points
            if (s.trace, s.speed, s.cache) == (trace, speed, None) and s.disks >= first
            and s.shape in (shape, chosen(trace, s.disks)) and s.scheduler == natural(s.shape)
        ]  # fmt: skip
        memory = [
            (100.0 * float(s.cache.removesuffix("MB")) / data, found.mean_ms)
            for s, found in curves.points.items()
            if (s.trace, s.speed) == (trace, speed) and s.cache is not None and found.sustained
        ]
        start = (0.0, curves.mean(trace, shape, speed=speed))
        lines += [
            (f"disks, x{speed:g}", _known(sorted(disks))),
            (f"{MEMORY}, x{speed:g}", _known(sorted([start, *memory]))),
        ]
    caption = (
        f"More disks (axis below) against memory in front of {first} disk{'s' if first > 1 else ''} (axis above, in % "
        f"of the data set of {data / 1000:g} GB), at one and three times the speed."
    )
    return _figure(f"f{number}", f"Figure {number}: {TITLES[trace]}", caption, lines, "disks", memory=True)


def _known(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if not math.isnan(y)]


def _figure(
    name: str, title: str, caption: str, lines: Sequence[Line], x_title: str, *, dots: bool = False,
    bound: bool = False, memory: bool = False,
) -> Figure:  # fmt: skip
    data: list[dict[str, Any]] = []
    for number, (label, points) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        mode = "markers" if dots and label != "recommended" else "lines+markers"
        data.append(
            {
                "type": "scatter", "mode": mode, "name": label, "x": [x for x, _ in points],
                "y": [float(f"{y:.5g}") for _, y in points], "line": {"color": colour, "width": 2},
                "marker": {"color": colour, "size": 7},
                "hovertemplate": "%{x:.4g}: %{y:.4g} ms<extra>" + label + "</extra>",
                **({"xaxis": "x2"} if label.startswith(MEMORY) else {}),
            }
        )  # fmt: skip
    if bound:
        reach = [x for _, points in lines for x, _ in points] or [1.0]
        data.append(
            {
                "type": "scatter", "mode": "lines", "name": f"{BOUND_MS:g} ms", "x": [min(reach), max(reach)],
                "y": [BOUND_MS, BOUND_MS], "line": {"color": "#7a7a7a", "width": 1, "dash": "dot"},
            }
        )  # fmt: skip
    layout: dict[str, Any] = {
        "height": 420,
        "xaxis": {"title": {"text": x_title, "standoff": 8}},
        "yaxis": {"title": {"text": "mean response time (ms)"}, "rangemode": "tozero"},
    }
    if memory:
        layout["xaxis2"] = {"title": {"text": "memory, % of the data"}, "overlaying": "x", "side": "top"}
    places = sorted({x for _, points in lines for x, _ in points})
    rows = [
        [plain(x), *(plain(dict(points).get(x)) if x in dict(points) else "–" for _, points in lines)] for x in places
    ]
    return Figure(name, title, caption, {"data": data, "layout": layout}, [x_title, *(n for n, _ in lines)], rows)
