"""Plain sentences, the first thing on the page: what was served at what watts, and what stands against believing it."""

from __future__ import annotations

from collections.abc import Sequence

from iojoule.metrics.metric import MODELLED, Difference, Finding
from iojoule.metrics.rails import BURDEN_LIMIT_PCT

from .block_findings import block_doubts, block_result, sweep_results
from .data import CampaignData
from .numbers import percent, plain, quoted
from .reduce import Group, RunResult, Scenario
from .sweep import sweep_of
from .words import COMPARED, boundary_text, made_words

ORDER = {"fail": 0, "warning": 1, "result": 2, "ok": 3, "note": 4}
LIMIT_PER_TEXT = 4
MOST_DOUBTS = 8
SAID = {
    ("iops", ""): "IOPS",
    ("iops_per_w", "system"): "IOPS/W",
    ("j_per_request", "system"): "energy per request",
    ("power_mean", "system"): "power",
    ("completion_from_planned_p99", ""): "time by which 99 % are done",
}
"""What the comparison in words is about."""


def findings(campaign: CampaignData, scenarios: Sequence[Scenario]) -> list[Finding]:
    """Results first, then everything that weakens them, worst first."""
    runs = [result for scenario in scenarios for group in scenario.groups for result in group.runs]
    sweep = sweep_of(scenarios)
    alone = [one for one in scenarios if sweep is None or one not in sweep.scenarios]
    results = [] if sweep is None else list(sweep_results(sweep))
    results += [Finding("result", text) for scenario in alone for text in _results(scenario, len(scenarios) > 1)]
    block = [one for one in runs if one.run.cell is not None and one.run.status == "complete"]
    doubts = [*_incomplete(campaign, runs), *_fidelity(runs), *block_doubts(block), *_errors(runs), *_power(runs)]
    doubts += _events(runs)
    every = results + sorted(doubts, key=lambda one: ORDER[one.level])
    return [Finding(one.level, _glued(one.text)) for one in every]


def _glued(text: str) -> str:
    """No line ends before a percent sign or beside a ±."""
    return text.replace(" %", "\u00a0%").replace(" ± ", "\u00a0±\u00a0")


def _results(scenario: Scenario, named: bool) -> list[str]:
    where = f" ({scenario.title})" if named else ""
    said = [text + where + "." for group in scenario.groups if (text := _served(group))]
    if len(scenario.groups) > 1:
        said += [text + where + "." for text in _compared(scenario)]
    return said


def _served(group: Group) -> str:
    if group.runs[0].run.cell is not None:
        return block_result(group)
    rate, share = group.estimate("requests_per_s"), group.estimate("success_share")
    if rate is None or rate.mean is None or share is None:
        return ""
    text = f"{group.target} served {quoted(rate.mean, rate.expanded, 'requests/s')}"
    text += f" ({plain(share.mean)} % succeeded)"
    power = group.estimate("power_mean", "system")
    if power is not None and power.mean is not None:
        text += f" at {quoted(power.mean, power.expanded, 'W')} ({boundary_text(power.boundary)})"
    work = group.estimate("requests_per_j", "system")
    if work is not None and work.mean is not None:
        text += f": {quoted(work.mean, work.expanded, '')} requests per joule"
    slow = group.estimate("completion_from_planned_p99")
    if slow is not None and slow.mean is not None:
        text += f", 99 % of them done within {plain(slow.mean, 3)} ms of their planned time"
    return text


def _compared(scenario: Scenario) -> list[str]:
    said = []
    for baseline, other, differences in scenario.comparisons():
        # Measured boundaries come first; a modelled one speaks only where nothing was measured.
        chosen: dict[tuple[str, str], Difference] = {}
        for one in differences:
            if one.name in COMPARED and one.scope in ("", "system"):
                chosen.setdefault((one.name, one.scope), one)
        clear = [d for d in chosen.values() if d.significant and d.percent is not None]
        parts = [
            f"{words} {percent(d.percent)}"
            for key, words in SAID.items()
            if (d := chosen.get(key)) is not None and d in clear
        ]
        if parts:
            said.append(f"Against {baseline.target}, {other.target} differs beyond the scatter: {', '.join(parts)}")
        elif any(d.significant is not None for d in chosen.values()):
            said.append(
                f"{other.target} and {baseline.target} do not differ beyond the scatter of their repeats in "
                + ("rate, " if other.runs[0].run.cell else "")
                + "energy per request, power or completion time"
            )
        elif chosen:
            said.append(
                f"{other.target} and {baseline.target} lack repeats: whether they differ cannot be told from chance"
            )
    return said


def _incomplete(campaign: CampaignData, runs: Sequence[RunResult]) -> list[Finding]:
    found = [
        Finding("fail", f"{one.run.name} is incomplete ({one.run.status}); its numbers are not in the means.")
        for one in runs
        if one.run.status != "complete"
    ]
    if campaign.status not in ("complete", ""):
        found.append(Finding("fail", f"The campaign did not reach its end ({campaign.status})."))
    return found


def _fidelity(runs: Sequence[RunResult]) -> list[Finding]:
    judged = [one for one in runs if one.run.status == "complete" and one.run.cell is None]
    bad = [
        Finding(finding.level, f"{one.run.name}: {finding.text}.")
        for one in judged
        for finding in one.findings
        if finding.level != "ok"
    ]
    kept = [one for one in judged if all(finding.level == "ok" for finding in one.findings)]
    if judged and len(kept) == len(judged):
        late = [metric.value for one in kept if (metric := one.metric("lateness_p99")) and metric.value is not None]
        stretch = [metric.value for one in kept if (metric := one.metric("stretch")) and metric.value is not None]
        worst = f"stretch at most {max(stretch):.4f}, " if stretch else ""
        tail = f"99 % of requests left within {plain(max(late), 3)} ms of their time" if late else ""
        return [Finding("ok", f"The load kept its plan in all {len(kept)} runs: {worst}{tail}.")]
    return bad


def _errors(runs: Sequence[RunResult]) -> list[Finding]:
    """Runs that lost 1 % or more one by one; the others in one sentence."""
    failed = [
        (one, 100 - share.value, share.note)
        for one in runs
        if (share := one.metric("success_share")) is not None and share.value is not None and share.value < 100
    ]
    many = [entry for entry in failed if entry[1] >= 1]
    found = [
        Finding("warning", f"{one.run.name}: {lost:.3g} % of the requests failed ({why}).")
        for one, lost, why in many[:LIMIT_PER_TEXT]
    ]
    if len(many) > LIMIT_PER_TEXT:
        text = f"{len(many) - LIMIT_PER_TEXT} more runs lost 1 % of their requests or more; see the table of runs."
        found.append(Finding("warning", text))
    few = [entry for entry in failed if entry[1] < 1]
    if few:
        worst = max(few, key=lambda entry: entry[1])
        text = (
            f"In {len(few)} of {len(runs)} runs some requests failed, at most {worst[1]:.2g} % of a run ({worst[2]})."
        )
        found.append(Finding("note", text))
    return found


def _power(runs: Sequence[RunResult]) -> list[Finding]:
    if not runs:
        return []
    found = []
    systems = [m for one in runs for m in one.metrics if m.name == "energy" and m.scope == "system"]
    if not systems:
        found.append(Finding("warning", "No meter watched: there is no power and no efficiency in this report."))
    elif all(MODELLED in metric.boundary for metric in systems):
        found.append(Finding("warning", "Power is modelled from utilisation, not measured."))
    elif any(MODELLED in metric.boundary for metric in systems):
        found.append(Finding("note", "Modelled power is shown beside measured power and is marked as modelled."))
    if made := sorted({name for one in runs for name in one.run.made_meters}):
        found.append(Finding("warning", f"{made_words(made)}: every watt and joule of them is simulated."))
    for one in runs:
        for metric in one.metrics:
            if metric.name == "energy" and metric.scope == "system" and metric.value is None:
                found.append(Finding("warning", f"{one.run.name} has no energy: {metric.note}."))
    for one in runs:
        for metric in one.metrics:
            if metric.name == "burden" and (metric.value or 0.0) > BURDEN_LIMIT_PCT:
                rail = metric.scope.removeprefix("channel:")
                taken = f"the shunt of {rail} took up to {plain(metric.value, 2)} % of its rail's voltage"
                text = f"{one.run.name}: {taken}, more than the {BURDEN_LIMIT_PCT:g} % that ATX allows."
                found.append(Finding("warning", text))
    doubts = [Finding(doubt.level, f"{one.run.name}: {doubt.text}.") for one in runs for doubt in one.doubts]
    found += sorted(doubts, key=lambda doubt: ORDER[doubt.level])[:MOST_DOUBTS]
    if len(doubts) > MOST_DOUBTS:
        more = f"{len(doubts) - MOST_DOUBTS} more doubts about readings of single runs: iojoule check tells them."
        found.append(Finding("warning", more))
    if any("states no accuracy" in metric.note for metric in systems if metric.value is not None):
        text = "A meter states no accuracy: ± of its power holds scatter, alignment and gaps only."
        found.append(Finding("note", text))
    return found


def _events(runs: Sequence[RunResult]) -> list[Finding]:
    said: dict[tuple[str, str], list[str]] = {}
    for one in runs:
        for event in one.run.events:
            name = event.get("event")
            if name == "warning":
                key = ("warning", str(event.get("text", "")).rstrip("."))
            elif name == "meter_lost":
                key = ("warning", f"the meter {event.get('meter')} was lost for a while")
            elif name in ("meter_fatal", "meter_warning"):
                what = "gave up: " if name == "meter_fatal" else ""
                key = ("warning", f"the meter {event.get('meter')} {what}{event.get('text')}".rstrip("."))
            elif name == "server_down":
                key = ("warning", "the server was down for a while")
            elif name == "error":
                key = ("fail", str(event.get("text", "")).rstrip("."))
            else:
                continue
            names = said.setdefault(key, [])
            if one.run.name not in names:
                names.append(one.run.name)
    return [
        Finding(level, f"{text[:1].upper()}{text[1:]} ({_named(names, len(runs))}).")
        for (level, text), names in said.items()
    ]


def _named(names: Sequence[str], of: int) -> str:
    if len(names) == of and of > 1:
        return "all runs"
    return ", ".join(names[:LIMIT_PER_TEXT]) + (
        f" and {len(names) - LIMIT_PER_TEXT} more" if len(names) > LIMIT_PER_TEXT else ""
    )
