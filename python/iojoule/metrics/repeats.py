"""Means over the repeats of a step, with Student-t intervals, and the comparison of two steps in percent.

The instrument's gain and offset are the same in every repeat, so repeats cannot reveal them: the mean is quoted with
the larger of the budget and the interval. Between two steps on one instrument they cancel, so a difference is tested on
the scatter of the repeats alone (Welch).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from .metric import Difference, Estimate, Metric
from .uncertainty import t_interval, t_quantile

HIGHER_IS_BETTER = frozenset(
    {
        "requests", "success_share", "requests_per_s", "throughput", "requests_per_j", "mb_per_j", "iops",
        "iops_per_w", "mb_per_j_above_idle", "iops_per_w_above_idle",
    }
)  # fmt: skip
NEUTRAL = frozenset(
    {
        "concurrency_mean", "concurrency_max", "duration", "bytes", "idle_power", "idle_power_before",
        "idle_power_after", "little_outstanding", "little_deviation",
    }
)  # fmt: skip


def campaign_metrics(runs: Iterable[Sequence[Metric]]) -> list[Estimate]:
    """Estimates over repeats of one step, in the order in which the metrics first appear."""
    groups: dict[tuple[str, str, str], list[Metric]] = {}
    for run in runs:
        for metric in run:
            groups.setdefault(metric.key, []).append(metric)
    return [estimate(group) for group in groups.values()]


def estimate(group: Sequence[Metric]) -> Estimate:
    """One quantity over its repeats. Repeats without a value are not counted and are named in the note."""
    first = group[0]
    valued = [metric for metric in group if metric.value is not None]
    values = [metric.value for metric in valued if metric.value is not None]
    notes = sorted({metric.note for metric in group if metric.note})
    if len(values) < len(group) and values:
        notes.insert(0, f"{len(group) - len(values)} of {len(group)} repeats have no value")
    expanded = [metric.expanded for metric in valued if metric.expanded is not None]
    sources = list(dict.fromkeys(source for metric in valued for source in metric.budget))
    budget = {s: float(np.mean([metric.budget.get(s, 0.0) for metric in valued])) for s in sources}
    return Estimate(
        first.name,
        first.unit,
        first.scope,
        first.boundary,
        len(values),
        float(np.mean(values)) if values else None,
        min(values, default=None),
        max(values, default=None),
        float(np.std(values, ddof=1)) if len(values) > 1 else None,
        t_interval(values, 0.90),
        t_interval(values, 0.95),
        float(np.mean(expanded)) if expanded else None,
        budget,
        "; ".join(notes),
    )


def compare(baseline: Iterable[Estimate], other: Iterable[Estimate]) -> list[Difference]:
    """Every quantity both have, as percent of the baseline, with Welch's test where there are repeats."""
    theirs = {one.key: one for one in other}
    return [
        difference(one, theirs[one.key])
        for one in baseline
        if one.key in theirs and one.mean is not None and theirs[one.key].mean is not None
    ]


def difference(a: Estimate, b: Estimate) -> Difference:
    """b against the baseline a. Both must have a mean."""
    if a.mean is None or b.mean is None:
        raise ValueError(f"{a.name} has no value on both sides")
    percent = 100 * (b.mean / a.mean - 1) if a.mean else None
    half = p = significant = None
    note = "one repeat: the difference is not tested" if min(a.n, b.n) < 2 else ""
    if a.n > 1 and b.n > 1 and a.sd is not None and b.sd is not None:
        va, vb = a.sd**2 / a.n, b.sd**2 / b.n
        if va + vb > 0:
            degrees = (va + vb) ** 2 / (va**2 / (a.n - 1) + vb**2 / (b.n - 1))
            p = _two_sided_p((b.mean - a.mean) / math.sqrt(va + vb), degrees)
            if a.mean:
                # The ratio's variance: the baseline's own scatter counts too (delta method).
                half = t_quantile(0.975, degrees) * 100 * math.hypot(math.sqrt(vb), b.mean / a.mean * math.sqrt(va))
                half /= abs(a.mean)
            significant = p < 0.05
        else:
            p, half, significant = (1.0, 0.0, False) if a.mean == b.mean else (0.0, 0.0, True)
    better = None
    if b.mean != a.mean and a.name not in NEUTRAL:
        better = (b.mean > a.mean) == (a.name in HIGHER_IS_BETTER)
    return Difference(
        a.name, a.unit, a.scope, a.boundary, a.mean, b.mean, percent, half, p, significant, better, note
    )  # fmt: skip


def _two_sided_p(t: float, degrees: float) -> float:
    from scipy.special import stdtr

    return 2 * float(stdtr(degrees, -abs(t)))
