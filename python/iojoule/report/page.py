"""The page: one HTML file with its own styles, script and data. Nothing is fetched from anywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from .data import CampaignData
from .figures import Figure, scenario_figures
from .findings import findings
from .palette import colours
from .reduce import Scenario, reduce_campaign
from .steady_figures import steady_state
from .sweep import Sweep, sweep_of
from .sweep_figures import sweep_figures
from .sweep_tables import sweep_tables
from .tables import (
    Table,
    budget_table,
    comparison_table,
    full_table,
    headline_table,
    profiles_table,
    provenance,
    runs_table,
)


@dataclass(frozen=True)
class Shown:
    """A table of a section, with its style; `summary` where it is folded."""

    table: Table
    style: str = "metrics"
    summary: str = ""


@dataclass(frozen=True)
class Section:
    """One scenario on the page, or a sweep of many; `cells` are folded away behind one line."""

    id: str
    title: str
    figures: list[Figure]
    tables: list[Shown]
    cells: list[Shown] = field(default_factory=list)


def build_report(campaign: CampaignData, *, interval_s: float | None = None) -> str:
    """The report of a campaign as one self-contained HTML document.

    `interval_s` is the interval of the courses over time; without it the experiment's, shortened for short runs.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    scenarios, step = reduce_campaign(campaign, interval_s)
    paint = colours(list(dict.fromkeys(run.target for run in campaign.runs)))
    sweep = sweep_of(scenarios)
    alone = [one for one in scenarios if sweep is None or one not in sweep.scenarios]
    sections = [] if sweep is None else [_sweep_section(sweep, paint)]
    sections += [_section(scenario, number, paint, step) for number, scenario in enumerate(alone, 1)]
    environment = Environment(
        loader=PackageLoader("iojoule.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("report.html.j2").render(
        campaign=campaign,
        findings=findings(campaign, scenarios),
        sections=sections,
        profiles=profiles_table(scenarios),
        made=any(run.made_meters for run in campaign.runs),
        runs=runs_table(scenarios),
        provenance=provenance(campaign),
        colours=paint,
        modelled=_any_modelled(scenarios),
        figures={figure.id: embedded(figure.document) for section in sections for figure in section.figures},
        style=_part("style.css"),
        script=_part("report.js"),
        # Inside a script element only its end tag would be taken for markup.
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
    )
    return page.lstrip()


def _section(scenario: Scenario, number: int, paint: dict[str, str], interval_s: float) -> Section:
    optional = [headline_table(scenario), comparison_table(scenario), budget_table(scenario)]
    full = full_table(scenario)
    return Section(
        f"scenario-{number}",
        scenario.title,
        [*scenario_figures(scenario, number, paint, interval_s), *_steady([scenario], f"f{number}-steady", paint)],
        [
            *(Shown(table) for table in optional if table is not None),
            Shown(full, "data", f"{full.title}, with 90 % and 95 % intervals"),
        ],
    )


def _sweep_section(sweep: Sweep, paint: dict[str, str]) -> Section:
    named = [(scenario, full_table(scenario)) for scenario in sweep.scenarios]
    return Section(
        "sweep",
        f"Sweep of {len(sweep.points)} cells",
        [*sweep_figures(sweep, paint), *_steady(sweep.scenarios, "sweep-steady", paint)],
        [Shown(table, "data sweep", table.title if folded else "") for table, folded in sweep_tables(sweep)],
        [Shown(replace(table, title=""), "data", scenario.title) for scenario, table in named],
    )


def _steady(scenarios: Sequence[Scenario], name: str, paint: dict[str, str]) -> list[Figure]:
    runs = [run for scenario in scenarios for group in scenario.groups for run in group.runs]
    figure = steady_state(runs, name, paint)
    return [] if figure is None else [figure]


def _any_modelled(scenarios: list[Scenario]) -> bool:
    return any(
        total.boundary == "modelled"
        for scenario in scenarios
        for group in scenario.groups
        for run in group.runs
        for total in run.totals
    )


def embedded(document: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _part(name: str) -> str:
    return files("iojoule.report").joinpath("templates", name).read_text(encoding="utf-8")
