"""A run's tables → its metrics, courses over time and distributions; runs → groups of repeats.

One run is in memory at a time; what is kept of it is small enough for a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iojoule.metrics import block
from iojoule.metrics.block_verdict import block_verdict
from iojoule.metrics.fidelity import fidelity, verdict
from iojoule.metrics.latency import MEASURES, ORIGINS, Cdf, cdf, times_ms
from iojoule.metrics.metric import Difference, Estimate, Finding, Metric, Span
from iojoule.metrics.power import INTERVAL_S, PowerOverTime, add, power_over_time
from iojoule.metrics.profiles import Verdict
from iojoule.metrics.rates import COLUMNS, RatesOverTime, in_phase, rates_over_time
from iojoule.metrics.repeats import campaign_metrics, compare
from iojoule.metrics.summary import channel_series, requests_unlogged, run_metrics

from .data import CampaignData, RunData
from .pulses import pulses
from .reading_flags import flagged
from .verdicts import phase_length, verdicts

Floats = npt.NDArray[np.float64]

SHORT_INTERVALS_S = (1.0, 2.0, 5.0)
"""Intervals for runs too short for 15 s to show a course."""
ENOUGH_POINTS = 40
SHOWN = ("idle", "warmup", "measure", "cooldown")


@dataclass(frozen=True)
class RunResult:
    """What the page keeps of a run. `t_s` is the middle of each interval, in seconds after the measure phase began."""

    run: RunData
    metrics: Sequence[Metric]
    findings: Sequence[Finding]
    t_s: Floats
    rates: RatesOverTime | None
    totals: Sequence[PowerOverTime]
    channels: Sequence[PowerOverTime]
    cdfs: Mapping[tuple[str, str], Cdf]
    spans: Sequence[tuple[str, float, float]]
    verdicts: Sequence[Verdict] = ()
    doubts: Sequence[Finding] = ()
    """What speaks against its readings: their flags, a phase too short for its meters."""

    def metric(self, name: str, scope: str = "") -> Metric | None:
        """The first metric of that name and scope; measured boundaries come before modelled ones."""
        return next((one for one in self.metrics if (one.name, one.scope) == (name, scope)), None)


@dataclass(frozen=True)
class Group:
    """The repeats of one target under one scenario, with their estimates."""

    target: str
    runs: Sequence[RunResult]
    estimates: Sequence[Estimate]

    def estimate(self, name: str, scope: str = "") -> Estimate | None:
        return next((one for one in self.estimates if (one.name, one.scope) == (name, scope)), None)


@dataclass(frozen=True)
class Scenario:
    """One workload with one set of parameters, and the targets it was put to."""

    workload: str
    parameters: Mapping[str, object]
    groups: Sequence[Group]

    @property
    def title(self) -> str:
        cell = self.groups[0].runs[0].run.cell
        if cell is not None:
            depth = f", depth {cell.outstanding}" if cell.outstanding else ""
            return f"{self.workload}: {cell.label}, {cell.size_label}{depth}"
        return ", ".join([self.workload, *(f"{key} = {value}" for key, value in self.parameters.items())])

    def comparisons(self) -> list[tuple[Group, Group, list[Difference]]]:
        """Every other target against the first one."""
        baseline, *others = self.groups
        return [(baseline, other, compare(baseline.estimates, other.estimates)) for other in others]


def columns_of(run: RunData) -> Sequence[str]:
    """The columns of `requests` that its metrics need."""
    return COLUMNS if run.cell is None else block.COLUMNS


def metrics_of(run: RunData, requests: pa.Table | None = None) -> list[Metric]:
    """The metrics of one run from its folder."""
    if requests is None:
        requests = run.requests(columns_of(run))
    return run_metrics(requests, run.readings(), run.phases, run.meters, run.limits, manifest=run.manifest)


def findings_of(
    run: RunData, measured: pa.Table | None = None, metrics: Sequence[Metric] | None = None
) -> list[Finding]:
    """The verdict on one run, from the requests of its measure phase; what `iojoule check` looks at."""
    if run.simulated:
        return [Finding("ok", "simulated: requests arrive exactly as planned; until issued they wait in queues")]
    if requests_unlogged(run.manifest):
        return [Finding("ok", "not judged: requests were not logged")]
    cell = run.cell
    if measured is None and (cell is None or not cell.closed or metrics is None):
        measured = in_phase(run.requests(columns_of(run)), "measure")
    plan = [] if measured is None or (cell and cell.closed) else verdict(fidelity(measured), run.limits)
    if cell is None:
        return plan
    return block_verdict(cell, run.manifest, metrics_of(run) if metrics is None else metrics, plan)


def interval_for(spans: Sequence[Span]) -> float:
    """15 s, or less where that would leave too few points to see a course."""
    longest = max((span.seconds for span in spans), default=0.0)
    fitting = [step for step in SHORT_INTERVALS_S if longest / step <= 2 * ENOUGH_POINTS]
    return INTERVAL_S if longest / INTERVAL_S >= ENOUGH_POINTS else min(fitting, default=SHORT_INTERVALS_S[-1])


def reduce_run(run: RunData, interval_s: float) -> RunResult:
    """Everything the page shows of one run."""
    requests, readings = run.requests(columns_of(run)), run.readings()
    metrics = metrics_of(run, requests)
    measured = in_phase(requests, "measure")
    cdfs = {
        (measure, origin): cdf(times_ms(measured, measure, origin), of_all=len(measured))
        for measure, ended in MEASURES.items()
        for origin in ORIGINS
        if ended in measured.column_names
    }
    said = findings_of(run, measured, metrics)
    judged, doubts = verdicts(run, metrics), [*flagged(run), *phase_length(run, metrics), *pulses(run)]
    main = run.phase("measure")
    shown = [span for span in run.phases if span.name in SHOWN]
    if main is None or main.seconds <= 0:
        return RunResult(run, metrics, said, np.empty(0), None, (), (), cdfs, (), judged, doubts)
    # The grid starts a whole number of intervals before the measure phase, so that repeats share their edges.
    before = (main.start_ns - min(span.start_ns for span in shown)) / 1e9
    step_ns = round(interval_s * 1e9)
    start = main.start_ns - int(np.ceil(before / interval_s - 1e-9)) * step_ns
    whole = Span("run", start, max(span.end_ns for span in shown))
    rates = rates_over_time(requests, whole, interval_s)
    series, totals = channel_series(readings, run.meters)
    courses = {
        name: power_over_time(one, whole.start_ns, whole.end_ns, interval_s)
        for name, one in series.items()
        if len(one.value)
    }
    summed = [
        add(scope, boundary, [courses[part.name] for part in parts])
        for scope, boundary, parts in totals
        if all(part.name in courses for part in parts)
    ]
    relative = [(s.name, (s.start_ns - main.start_ns) / 1e9, (s.end_ns - main.start_ns) / 1e9) for s in shown]
    # A mean stands in the middle of its interval.
    t_s = rates.t_s + (whole.start_ns - main.start_ns) / 1e9 + interval_s / 2
    return RunResult(run, metrics, said, t_s, rates, summed, list(courses.values()), cdfs, relative, judged, doubts)


def reduce_campaign(campaign: CampaignData, interval_s: float | None = None) -> tuple[list[Scenario], float]:
    """Scenarios in the order they were run, each with its targets in that order; and the interval of the courses."""
    runs = [run for run in campaign.runs if not run.ranging] or campaign.runs
    spans = [span for run in runs for span in run.phases if span.name == "measure"]
    asked = next((float(run.manifest["interval_s"]) for run in campaign.runs if run.manifest.get("interval_s")), None)
    step = interval_s or asked or interval_for(spans)
    found: dict[tuple[str, str], tuple[RunData, dict[str, list[RunResult]]]] = {}
    for run in runs:
        key = (run.workload, repr(sorted(run.parameters.items(), key=lambda item: item[0])))
        _, targets = found.setdefault(key, (run, {}))
        targets.setdefault(run.target, []).append(reduce_run(run, step))
    order = list(dict.fromkeys(run.target for run in runs))
    return [
        Scenario(
            first.workload,
            first.parameters,
            [
                Group(
                    target, targets[target], campaign_metrics([one.metrics for one in targets[target] if usable(one)])
                )
                for target in order
                if target in targets
            ],
        )
        for first, targets in found.values()
    ], step


def usable(result: RunResult) -> bool:
    """Only runs that reached their end enter means over repeats; the others are shown in their own rows."""
    return result.run.status == "complete"
