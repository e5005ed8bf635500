"""``iojoule show``: the figures of a run or campaign, each with its unit and uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iojoule.metrics.metric import Estimate, Metric

if TYPE_CHECKING:
    from iojoule.report.data import CampaignData
    from iojoule.report.reduce import Scenario
    from iojoule.report.sweep import Sweep

Figure = Estimate | Metric
"""One figure: of one run, or over its repeats."""

HEADLINES = (
    "requests",
    "success_share",
    "requests_per_s",
    "iops",
    "throughput",
    "concurrency_max",
    "little_deviation",
    "cpu_system",
    "cpu_engine",
    "latency_from_planned_p50",
    "latency_from_planned_p99",
    "completion_from_issued_mean",
    "completion_from_planned_p99",
    "stretch",
    "lateness_p99",
    "idle_power",
    "power_mean",
    "power_above_idle",
    "energy",
    "requests_per_j",
    "iops_per_w",
    "mb_per_j",
    "j_per_request",
    "j_per_io",
)
"""What is shown without ``--all``, in this order."""


def app(
    folder: Annotated[Path, typer.Argument(help="Folder of a campaign or run; its latest campaign, for `runs`.")],
    budget: Annotated[bool, typer.Option("--budget", help="Where the uncertainty of each energy comes from.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Every metric, not only the headlines.")] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """What a run or campaign recorded, with k = 2 or 95 % uncertainties; works on a killed run too.

    Examples:  iojoule show runs · iojoule show runs/20260101T120000Z_web_1a2b3c --budget
    """
    from iojoule.cli import console
    from iojoule.report import load_campaign
    from iojoule.store.reader import campaign_at

    campaign = load_campaign(campaign_at(folder))
    if json:
        console.document(summary(campaign))
    else:
        print_campaign(campaign, budget=budget, everything=everything)


def summary(campaign: CampaignData) -> dict[str, Any]:
    """The campaign's figures as one document: every run's status, every group's estimates."""
    from dataclasses import asdict

    from iojoule.report.reduce import metrics_of, reduce_campaign
    from iojoule.report.verdicts import verdicts

    scenarios, _ = reduce_campaign(campaign)
    return {
        "experiment": campaign.experiment,
        "status": campaign.status,
        "runs": [
            {
                "run": run.name,
                "status": run.status,
                "requests": run.requests(["seq"]).num_rows,
                "error": _error(run),
                "metrics": [asdict(m) | {"expanded": m.expanded} for m in metrics],
                "verdicts": [asdict(verdict) for verdict in verdicts(run, metrics)],
            }
            for run in campaign.runs
            for metrics in [metrics_of(run)]
        ],
        "groups": [
            {
                "workload": scenario.workload,
                "target": group.target,
                "parameters": dict(scenario.parameters),
                "repeats": len(group.runs),
                "metrics": [asdict(estimate) | {"expanded": estimate.expanded} for estimate in group.estimates],
            }
            for scenario in scenarios
            for group in scenario.groups
        ],
    }


def print_campaign(campaign: CampaignData, *, budget: bool = False, everything: bool = False) -> None:
    """The figures as text; an incomplete run speaks for itself and is kept out of the means."""
    from iojoule.report.reduce import metrics_of, reduce_campaign
    from iojoule.report.sweep import sweep_of
    from iojoule.report.words import made_words

    scenarios, _ = reduce_campaign(campaign)
    print(f"{campaign.experiment}: {campaign.status}, {len(campaign.runs)} runs")
    if made := sorted({name for run in campaign.runs for name in run.made_meters}):
        print(f"  {made_words(made)}: simulated watts")
    for run in campaign.runs:
        if run.status != "complete":
            rows = run.requests(["seq"]).num_rows
            print(f"  {run.name} is incomplete ({run.status}): {rows:,} requests recorded{_because(_error(run))}")
            for metric in _chosen(metrics_of(run) if rows else [], False, everything):
                print(f"    {_named(metric):32} {quoted(metric):>28} {_boundary(metric)}".rstrip())
    sweep = None if budget or everything else sweep_of(scenarios)
    if sweep is not None:
        _print_sweep(sweep)
    for scenario in scenarios:
        if sweep is None or scenario not in sweep.scenarios:
            _print_scenario(scenario, budget, everything)


def _print_sweep(sweep: Sweep) -> None:
    """A line for each cell, with the best operating points; `--all` has every figure of each."""
    from iojoule.report.numbers import plain, with_uncertainty
    from iojoule.report.sweep_tables import mark

    for panel in sweep.panels:
        boundaries = ", ".join(sorted({f"[{point.boundary}]" for point in panel.points if point.boundary}))
        print(f"\n{panel.label} on {panel.target} {boundaries}".rstrip())
        print(
            f"  {'size':>11} {'depth':>6} {'IOPS':>22}{'MB/s':>11}{'mean ms':>11}{'99 % ms':>11}{'W':>16}{'IOPS/W':>18}"
            f"  {'N = X·R'}"
        )
        best = panel.best_points
        for point in panel.points:
            rate, power, work = point.of("iops"), point.of("power_mean", "system"), point.of("iops_per_w", "system")
            cells = ["–" if one is None else with_uncertainty(one.mean, one.expanded) for one in (rate, power, work)]
            times = [plain(point.value(f"completion_from_issued_{name}"), 3) for name in ("mean", "p99")]
            print(
                f"  {point.cell.size_label:>11} {point.depth:>6} {cells[0]:>22}{plain(point.value('throughput')):>11}"
                f"{times[0]:>11}{times[1]:>11}{cells[1]:>16}{cells[2]:>18}  {mark(point)}"
                + ("  best" if point in best else "")
            )


def _print_scenario(scenario: Scenario, budget: bool, everything: bool) -> None:
    for group in scenario.groups:
        if not group.estimates:
            continue
        repeats = f"{len(group.runs)} repeat" + "s" * (len(group.runs) != 1)
        print(f"\n{scenario.title} on {group.target}, {repeats}")
        for estimate in _chosen(group.estimates, budget, everything):
            print(f"  {_named(estimate):34} {quoted(estimate):>28} {_boundary(estimate)}".rstrip())
            if budget and estimate.name == "energy" and isinstance(estimate, Estimate) and estimate.mean is not None:
                _print_budget(estimate)


def _print_budget(estimate: Estimate) -> None:
    """Where ± comes from: standard uncertainties by source with their share of the variance, rule and coverage."""
    from iojoule.metrics.uncertainty import variance_shares
    from iojoule.report.words import SOURCES

    shares = variance_shares(estimate.budget)
    for source, u in sorted(estimate.budget.items(), key=lambda item: -item[1]):
        print(f"      {SOURCES.get(source, source):38} {u:>20.4g} {estimate.unit} {shares[source]:>6.0%}")
    if estimate.budget_expanded is not None:
        print(f"      {'U of the instruments (k = 2)':38} {estimate.budget_expanded:>20.4g} {estimate.unit}")
    if estimate.ci95 is not None:
        print(f"      {'95 % interval of the repeats':38} {estimate.ci95:>20.4g} {estimate.unit}")
    if estimate.note:
        print(f"      {estimate.note}")


def _chosen(estimates: Sequence[Figure], budget: bool, everything: bool) -> Iterable[Figure]:
    """The headlines; where budgets are asked for, the energy of every drive as well."""
    if everything:
        return estimates
    shown = ("", "system")
    wanted = [
        e
        for e in estimates
        if e.name in HEADLINES
        and (e.scope in shown or _only(e, estimates) or (budget and e.name == "energy" and e.scope.startswith("drive")))
    ]
    return sorted(wanted, key=lambda e: HEADLINES.index(e.name))


def _only(estimate: Figure, estimates: Sequence[Figure]) -> bool:
    """Whether no whole-system figure of that name exists, so that the channels have to speak."""
    return not any(e.name == estimate.name and e.scope == "system" for e in estimates)


def quoted(estimate: Figure) -> str:
    """``12.17 ± 0.14 W``; the reason where there is no value."""
    value = estimate.value if isinstance(estimate, Metric) else estimate.mean
    if value is None:
        return f"no value ({estimate.note})"
    unit = "" if estimate.unit == "1" else f" {estimate.unit}"
    expanded = estimate.expanded
    if not expanded:
        return f"{value:,.6g}{unit}"
    from math import floor, log10

    digits = max(0, 1 - floor(log10(expanded)))
    return f"{value:,.{digits}f} ± {expanded:,.{digits}f}{unit}"


def _named(figure: Figure) -> str:
    return f"{figure.name} {figure.scope}".strip()


def _boundary(estimate: Figure) -> str:
    return f"[{estimate.boundary}]" if estimate.boundary else ""


def _error(run: Any) -> str | None:
    error = run.manifest.get("error")
    return error.get("message") if isinstance(error, dict) else error


def _because(reason: str | None) -> str:
    return f"; {reason}" if reason else ""
