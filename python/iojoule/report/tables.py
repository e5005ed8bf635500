"""The tables of the page: metrics, comparison, runs, budget, provenance. Rows of text, no markup."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iojoule.metrics.metric import COVERAGE_FACTOR, MODELLED, Estimate
from iojoule.metrics.profiles import Verdict
from iojoule.metrics.uncertainty import variance_shares

from .data import CampaignData, plain
from .numbers import fixed, percent, quoted, unit_text, with_uncertainty
from .numbers import plain as number
from .reduce import Group, RunResult, Scenario
from .words import COMPARED, HEADLINES, SOURCES, boundary_text, label


@dataclass(frozen=True)
class Row:
    """Cells of one row; `kind` styles it: "", "section", "good", "bad", "doubt", "modelled"."""

    cells: Sequence[str]
    kind: str = ""


@dataclass(frozen=True)
class Table:
    title: str
    head: Sequence[str]
    rows: Sequence[Row]
    note: str = ""


def headline_table(scenario: Scenario) -> Table:
    """The metrics a reader asks for first, a column for each target."""
    rows: list[Row] = []
    for section, entries in HEADLINES:
        found = [row for name, scope, text in entries for row in _headline(scenario.groups, name, scope, text)]
        if found:
            rows += [Row([section], "section"), *found]
    head = ["metric", *(f"{group.target} (n = {_repeats(group)})" for group in scenario.groups), "boundary"]
    note = (
        "Means over the repeats. ± is U with k = 2 of the instruments' budget or the 95 % t-interval of the repeats, "
        "whichever is larger; without ± nothing is known about the uncertainty, or it is a count."
    )
    return Table("Metrics", head, rows, note)


def _headline(groups: Sequence[Group], name: str, scope: str, text: str) -> Iterator[Row]:
    """One row for each boundary under which the metric is known."""
    of = [e for group in groups for e in group.estimates if (e.name, e.scope) == (name, scope)]
    for boundary in dict.fromkeys(e.boundary for e in of):
        cells = []
        for group in groups:
            one = next((e for e in group.estimates if e.key == (name, scope, boundary)), None)
            cells.append("–" if one is None else _cell(one))
        if name == "requests":
            text = f"{text}, mean" if max(_repeats(group) for group in groups) > 1 else text
        yield Row([text, *cells, boundary_text(boundary)], "modelled" if MODELLED in boundary else "")


def _cell(one: Estimate) -> str:
    if one.mean is None:
        return f"no value: {one.note}" if one.note else "no value"
    return quoted(one.mean, one.expanded, one.unit)


def _repeats(group: Group) -> int:
    return sum(1 for run in group.runs if run.run.status == "complete")


def full_table(scenario: Scenario) -> Table:
    """Every metric of every target with both intervals."""
    rows = []
    for group in scenario.groups:
        rows.append(Row([group.target], "section"))
        for e in group.estimates:
            u = e.budget_expanded
            rows.append(
                Row(
                    [
                        label(e.name, e.scope), boundary_text(e.boundary), unit_text(e.unit), str(e.n),
                        number(e.mean, 6), number(e.ci90, 2), number(e.ci95, 2), number(u, 2) if u else "–",
                        number(e.low), number(e.high), e.note,
                    ],
                    "modelled" if MODELLED in e.boundary else "",
                )
            )  # fmt: skip
    head = [
        "metric", "boundary", "unit", "n", "mean", "± 90 % of repeats", "± 95 % of repeats", "U of instruments (k = 2)",
        "least", "greatest", "remark",
    ]  # fmt: skip
    return Table("All metrics", head, rows)


def comparison_table(scenario: Scenario) -> Table | None:
    """Every other target as percent of the first."""
    if len(scenario.groups) < 2:
        return None
    rows = []
    for baseline, other, differences in scenario.comparisons():
        rows.append(Row([f"{other.target} against {baseline.target}"], "section"))
        chosen = [d for d in differences if d.name in COMPARED and d.scope in ("", "system", "drives")]
        for d in sorted(chosen, key=lambda d: (MODELLED in d.boundary, ("", "system", "drives").index(d.scope))):
            kind = "" if not d.significant or d.better is None else ("good" if d.better else "bad")
            said = "one repeat: not tested" if d.significant is None else ("yes" if d.significant else "no")
            if d.p_value is not None and d.significant is not None:
                said += f" (p = {d.p_value:.3f})" if d.p_value >= 0.0005 else " (p < 0.001)"
            unit = unit_text(d.unit)
            cells = [label(d.name, d.scope), f"{number(d.baseline)} {unit}".strip()]
            cells += [f"{number(d.other)} {unit}".strip(), percent(d.percent, d.percent_ci95), said]
            cells.append(boundary_text(d.boundary))
            rows.append(Row(cells, kind))
    head = ["metric", "baseline", "other", "difference (95 %)", "beyond the scatter of repeats?", "boundary"]
    note = (
        "The baseline is the first target of the experiment. The test is Welch's on the repeats: gain and offset of an "
        "instrument that watched both are the same on both sides and cancel."
    )
    return Table("Comparison with the baseline", head, rows, note)


def runs_table(scenarios: Sequence[Scenario]) -> Table:
    """One row for each run, with its errors by class."""
    rows = []
    for scenario in scenarios:
        for group in scenario.groups:
            rows += [_run(one) for one in group.runs]
    head = [
        "run", "status", "requests", "succeeded", "errors", "requests/s (IOPS)", "MB/s", "done by 99 % (ms)", "stretch",
        "lateness 99 % (ms)", "power (W)", "energy (J)", "boundary", "energy rule and coverage",
    ]  # fmt: skip
    return Table(
        "Runs", head, rows, "Errors are counted by class; requests dropped at the cap on connections are among them."
    )


def _run(one: RunResult) -> Row:
    def of(name: str, scope: str = "") -> str:
        metric = one.metric(name, scope)
        return "–" if metric is None else with_uncertainty(metric.value, metric.expanded)

    share, energy = one.metric("success_share"), one.metric("energy", "system")
    rate = "requests_per_s" if one.run.cell is None else "iops"
    cells = [
        one.run.name, one.run.status, of("requests"),
        "–" if share is None or share.value is None else f"{number(share.value)} %",
        (share.note if share else "") or "none",
        of(rate), of("throughput"), of("completion_from_planned_p99"), _stretch(one), of("lateness_p99"),
        of("power_mean", "system"), of("energy", "system"), boundary_text(energy.boundary) if energy else "–",
        energy.note if energy else "–",
    ]  # fmt: skip
    failed = any(finding.level == "fail" for finding in one.findings)
    return Row(cells, "bad" if one.run.status != "complete" or failed else "")


def _stretch(one: RunResult) -> str:
    metric = one.metric("stretch")
    return "–" if metric is None or metric.value is None else fixed(metric.value, 4)


def budget_table(scenario: Scenario) -> Table | None:
    """Where the uncertainty of the energies of the system and its drives comes from, in joules and as share of the
    variance."""
    chosen = [
        (group.target if e.scope == "system" else f"{group.target}, {e.scope}", e)
        for group in scenario.groups
        for e in group.estimates
        if e.name == "energy" and e.scope in ("system", "drives") and e.mean is not None and e.budget
    ]
    if not chosen:
        return None
    sources = [source for source in SOURCES if any(source in e.budget for _, e in chosen)]
    # Shunts are named after their rails.
    sources += sorted({source for _, e in chosen for source in e.budget} - set(SOURCES))
    rows = []
    for source in sources:
        cells = []
        for _, e in chosen:
            share = variance_shares(e.budget).get(source, 0.0)
            cells.append(f"{number(e.budget.get(source, 0.0), 3)} J ({100 * share:.0f} %)" if e.budget else "0")
        rows.append(Row([SOURCES.get(source, source), *cells]))
    rows.append(Row(["rule and coverage", *(e.note for _, e in chosen)]))
    rows.append(
        Row(["U of the instruments (k = 2)", *(quoted_u(e.budget_expanded, e.unit) for _, e in chosen)], "section-like")
    )
    rows.append(Row(["95 % interval of the repeats", *(quoted_u(e.ci95, e.unit) for _, e in chosen)]))
    rows.append(Row(["quoted", *(quoted(e.mean, e.expanded, e.unit) for _, e in chosen)], "section-like"))
    head = ["source (k = 1)", *(f"{target}, {boundary_text(e.boundary)}" for target, e in chosen)]
    note = "Standard uncertainties, means over the repeats, with their share of the variance. U = 2 u."
    return Table("Uncertainty of the energy", head, rows, note)


def profiles_table(scenarios: Sequence[Scenario]) -> Table | None:
    """Every rule of every profile: how many runs keep it, and the worst figure of those that do not."""
    runs = [run for scenario in scenarios for group in scenario.groups for run in group.runs]
    by_rule: dict[tuple[str, str], list[Verdict]] = {}
    for run in runs:
        for verdict in run.verdicts:
            by_rule.setdefault((verdict.profile, verdict.rule), []).append(verdict)
    if not by_rule:
        return None
    rows: list[Row] = []
    for profile in dict.fromkeys(profile for profile, _ in by_rule):
        rows.append(Row([profile], "section"))
        for (of, _), verdicts in by_rule.items():
            if of == profile:
                rows.append(_profile_row(verdicts))
    note = (
        "A rule is kept where every run keeps it. Rules marked unverified were not read in the standard itself: their "
        "limits are known second-hand, and keeping them is no claim of compliance."
    )
    return Table("Profiles", ["rule", "verdict", "figure", "limit", "channel", "standing"], rows, note)


def _profile_row(verdicts: Sequence[Verdict]) -> Row:
    first = verdicts[0]
    worst = next((v for state in ("broken", "unknown", "kept") for v in verdicts if v.state == state), first)
    count = sum(v.state == worst.state for v in verdicts)
    said = worst.state if count == len(verdicts) else f"{worst.state} in {count} of {len(verdicts)} runs"
    figure = "not known" if worst.figure is None else f"{number(worst.figure, 4)} {worst.unit}".strip()
    limit = f"{first.bound} {first.limit:g} {first.unit}".strip()
    if first.bound == "is":
        figure, limit = {"kept": "yes", "broken": "no"}.get(worst.state, "not known"), "yes"
    kind = {"kept": "good", "broken": "bad", "unknown": "doubt"}[worst.state]
    of = worst.of if worst.state != "kept" else ""
    return Row([first.what, said, figure, limit, of, "" if first.verified else "unverified"], kind)


def quoted_u(half: float | None, unit: str) -> str:
    return "–" if half is None else f"± {number(half, 2)} {unit}"


def provenance(campaign: CampaignData) -> list[Table]:
    """Where the numbers come from: the campaign, the host, targets, workloads and meters."""
    tables = [
        Table("Campaign", ["", ""], [Row([k, v]) for k, v in _campaign_facts(campaign)]),
        Table(
            "Meters",
            METER_HEAD,
            list(_meters(campaign)),
            f"Accuracies are standard uncertainties (k = 1); U is {COVERAGE_FACTOR:g} u.",
        ),
    ]
    if said := sorted(_identities(campaign), key=lambda row: row.cells[0]):
        tables.append(Table("What the meters say", ["meter", "", ""], said))
    first = campaign.runs[0].manifest if campaign.runs else {}
    for title, key in (("Host", "host"), ("Target", "target"), ("Workload", "workload"), ("Engine", "engine")):
        seen: dict[str, str] = {}
        for run in campaign.runs if key in ("target", "workload") else campaign.runs[:1]:
            for name, value in _flat(run.manifest.get(key) or {}):
                place = f"{getattr(run, key)}: {name}" if key in ("target", "workload") else name
                seen.setdefault(place, value)
        if not seen and key == "host":
            seen = dict(_flat(campaign.manifest.get("host") or first.get("host") or {}))
        if seen:
            tables.append(Table(title, ["", ""], [Row([name, value]) for name, value in seen.items()]))
    hashes = [Row([run.name, f, str(h)]) for run in campaign.runs for f, h in (run.manifest.get("files") or {}).items()]
    if hashes:
        tables.append(Table("Files", ["run", "file", "SHA-256"], hashes))
    return [table for table in tables if table.rows]


METER_HEAD = ["meter", "channel", "boundary", "kind", "drive", "accuracy (k = 1)", "contains"]


def _meters(campaign: CampaignData) -> Iterator[Row]:
    seen = set()
    for run in campaign.runs:
        for meter in run.meters:
            for channel in meter.get("channels", ()):
                key = (meter.get("name"), channel.get("id"))
                if key in seen:
                    continue
                seen.add(key)
                boundary = str(channel.get("boundary", ""))
                yield Row(
                    [
                        f"{meter.get('name')} ({meter.get('driver', '?')})", str(channel.get("id")),
                        boundary_text(boundary), str(channel.get("kind", "")).replace("_", " "),
                        str(channel.get("drive") or "–"), _accuracy(channel),
                        ", ".join(channel.get("contains") or ()) or "–",
                    ],
                    "modelled" if boundary == MODELLED else "",
                )  # fmt: skip


def _identities(campaign: CampaignData) -> Iterator[Row]:
    """What each meter said of itself and confirmed of its settings, a row each; what changed between runs too."""
    seen = {
        (str(meter.get("name")), name, value): None
        for run in campaign.runs
        for meter in run.meters
        for name, value in _flat(meter.get("identity") or {})
    }
    for meter, name, value in seen:
        yield Row([meter, name, value])


def _accuracy(channel: Mapping[str, Any]) -> str:
    parts = []
    if channel.get("u_rel") is not None:
        parts.append(f"{number(100 * channel['u_rel'], 3)} % of the value")
    if channel.get("u_abs") is not None:
        parts.append(f"{number(channel['u_abs'], 3)} {channel.get('unit', 'W')}")
    if channel.get("u_digit") is not None:
        parts.append(f"{number(channel['u_digit'], 3)} {channel.get('unit', 'W')} of rounding")
    return " + ".join(parts) or "not stated"


def _campaign_facts(campaign: CampaignData) -> Iterator[tuple[str, str]]:
    first = campaign.runs[0].manifest if campaign.runs else {}
    yield "experiment", campaign.experiment
    if campaign.description:
        yield "description", campaign.description
    yield "status", campaign.status
    yield "folder", campaign.folder
    for key in ("started_utc", "ended_utc", "seed", "version", "argv"):
        value = campaign.manifest.get(key, first.get(key))
        if value is not None:
            yield key.replace("_utc", " (UTC)"), " ".join(map(str, value)) if isinstance(value, list) else plain(value)
    limits = campaign.runs[0].limits if campaign.runs else None
    if limits is not None:
        yield "limits", f"stretch {limits.stretch:g}, lateness 99 % {limits.lateness_p99_ns / 1e6:g} ms"


def _flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as dotted names; lists of plain values on one line."""
    for key, value in document.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ", ".join(plain(item) for item in value)
        elif value is not None and value != "":
            yield name, plain(value)
