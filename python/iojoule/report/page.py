"""The page: one HTML file with its own styles, script and data. Nothing is fetched from anywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from .data import CampaignData
from .figures import Figure, scenario_figures
from .findings import findings
from .palette import colours
from .reduce import Scenario, reduce_campaign
from .tables import Table, budget_table, comparison_table, full_table, headline_table, provenance, runs_table


@dataclass(frozen=True)
class Section:
    """One scenario on the page."""

    id: str
    title: str
    figures: list[Figure]
    headline: Table
    comparison: Table | None
    budget: Table | None
    full: Table


def build_report(campaign: CampaignData, *, interval_s: float | None = None) -> str:
    """The report of a campaign as one self-contained HTML document.

    `interval_s` is the interval of the courses over time; without it the experiment's, shortened for short runs.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from plotly.offline import get_plotlyjs

    scenarios, step = reduce_campaign(campaign, interval_s)
    paint = colours(list(dict.fromkeys(run.target for run in campaign.runs)))
    sections = [_section(scenario, number, paint, step) for number, scenario in enumerate(scenarios, 1)]
    environment = Environment(
        loader=PackageLoader("iojoule.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template("report.html.j2").render(
        campaign=campaign,
        findings=findings(campaign, scenarios),
        sections=sections,
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
    return Section(
        f"scenario-{number}",
        scenario.title,
        scenario_figures(scenario, number, paint, interval_s),
        headline_table(scenario),
        comparison_table(scenario),
        budget_table(scenario),
        full_table(scenario),
    )


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
