"""The report of a sweep: one HTML file with its own styles, script and data, in the style of every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from iojoule.report.figures import Figure
from iojoule.report.numbers import plain
from iojoule.report.page import embedded
from iojoule.sim.axes import Row, choose, label, shown, word
from iojoule.sim.design import Sweep
from iojoule.sim.figures import figures, panels
from iojoule.sim.results import rows

MOST_PANELS = 12
"""Groups of pictures on a page; the table has every point."""

SHOWN = (
    ("requests", "requests"),
    ("response_mean_ms", "mean (ms)"),
    ("response_p95_ms", "p95 (ms)"),
    ("response_max_ms", "max (ms)"),
    ("queue_mean_ms", "queue (ms)"),
    ("busy_mean", "busy"),
    ("mean_w", "power (W)"),
    ("energy_j", "energy (J)"),
    ("oracle_ratio", "of oracle"),
    ("spinups", "spin-ups"),
)
"""Columns of the table of points, where any point has them."""


@dataclass(frozen=True)
class Panel:
    """Pictures under one title."""

    title: str
    figures: list[Figure]


@dataclass(frozen=True)
class Said:
    """One finding; `level` as on every report."""

    level: str
    text: str


def build_page(sweep: Sweep, lines: Sequence[Mapping[str, Any] | None], status: str) -> str:
    """The page of these points; `lines` are what the engine said of each, None where it has not."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    made = rows(sweep, lines)
    done = [row for row in made if row.get("requests") is not None]
    axes = choose(sweep.axes)
    groups = list(panels(done, axes))
    shown_panels = [
        Panel(title, figures(members, axes, f"p{index}")) for index, (title, members) in enumerate(groups[:MOST_PANELS])
    ]
    head, cells = _points(sweep, made)
    environment = Environment(
        loader=PackageLoader("iojoule.sim"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("sweep.html.j2").render(
        sweep=sweep,
        status=status,
        done=len(done),
        findings=list(_findings(sweep, made, lines)),
        panels=shown_panels,
        left_out=len(groups) - len(shown_panels),
        head=head,
        cells=cells,
        documents={f.id: embedded(f.document) for panel in shown_panels for f in panel.figures},
        style=_part("style.css"),
        script=_part("report.js"),
        # Inside a script element only its end tag would be taken for markup.
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
    )
    return page.lstrip()


def _findings(sweep: Sweep, made: Sequence[Row], lines: Sequence[Mapping[str, Any] | None]) -> Iterator[Said]:
    missing = sum(line is None for line in lines)
    failed = [row for row in made if row["error"]]
    if failed:
        text = f"{_count(len(failed), 'point', 'points')} failed; the first: {_name(sweep, failed[0])}"
        yield Said("fail", f"{text}: {failed[0]['error']}")
    if missing:
        yield Said("warning", f"{missing} of {len(lines)} points are not finished; --resume goes on with them.")
    sustained = [row for row in made if row.get("sustained")]
    yield from _best(sweep, sustained)
    if given_up := [row for row in made if row.get("sustained") is False]:
        names = "; ".join(_name(sweep, row) for row in given_up[:4])
        more = f" and {len(given_up) - 4} more" if len(given_up) > 4 else ""
        many = _count(len(given_up), "point does", "points do")
        yield Said("warning", f"{many} not sustain the load, and the simulation was given up: {names}{more}.")
    if lost := sum(row.get("lost") or 0 for row in made):
        yield Said("fail", f"{lost:,} requests asked for data that no drive holds any more.")
    if reasons := [row["energy_reason"] for row in made if row.get("energy_reason")]:
        yield Said("note", f"{_count(len(reasons), 'point has', 'points have')} no energy; of the first: {reasons[0]}.")
    if any(row.get("energy_j") is not None for row in made):
        yield Said("note", "Every watt and joule on this page is the model's: no meter was there.")


def _best(sweep: Sweep, sustained: Sequence[Row]) -> Iterator[Said]:
    known = [row for row in sustained if row.get("response_mean_ms") is not None]
    if len(known) > 1:
        fast, slow = (pick(known, key=lambda row: float(row["response_mean_ms"])) for pick in (min, max))
        ratio = slow["response_mean_ms"] / fast["response_mean_ms"] if fast["response_mean_ms"] else float("nan")
        yield Said(
            "result",
            f"Shortest mean response: {plain(fast['response_mean_ms'])} ms with {_name(sweep, fast)}; longest: "
            f"{plain(slow['response_mean_ms'])} ms with {_name(sweep, slow)} ({plain(ratio, 3)} times).",
        )
    powered = [row for row in sustained if row.get("mean_w") is not None]
    if len({row["mean_w"] for row in powered}) > 1:
        low, high = (pick(powered, key=lambda row: float(row["mean_w"])) for pick in (min, max))
        saved = 100 * (1 - low["mean_w"] / high["mean_w"])
        yield Said(
            "result",
            f"Least power: {plain(low['mean_w'])} W with {_name(sweep, low)}, {plain(saved, 3)}\u00a0% below the most "
            f"({plain(high['mean_w'])} W with {_name(sweep, high)}).",
        )


def _points(sweep: Sweep, made: Sequence[Row]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Head and rows of the table of all points; a row's kind colours it."""
    keys = list(sweep.axes)
    columns = [(column, title) for column, title in SHOWN if any(row.get(column) is not None for row in made)]
    cells: list[tuple[str, list[str]]] = []
    for row in made:
        values = [plain(row.get(column)) if row.get(column) is not None else "–" for column, _ in columns]
        note = row["error"] or ("not finished" if row.get("requests") is None else "")
        if row.get("sustained") is False:
            note = "not sustained"
        cells.append(
            ("bad" if note else "", [str(row["point"]), *(_cell(row.get(key)) for key in keys), *values, note])
        )
    return ["point", *(label(key) for key in keys), *(title for _, title in columns), ""], cells


def _cell(value: Any) -> str:
    return "–" if value is None else word(value)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _name(sweep: Sweep, row: Row) -> str:
    return ", ".join(shown(key, row.get(key)) for key, values in sweep.axes.items() if len(values) > 1) or "the design"


def _part(name: str) -> str:
    return files("iojoule.report").joinpath("templates", name).read_text(encoding="utf-8")
