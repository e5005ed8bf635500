"""What a joule bought: requests/J or IOPS/W, MB/J, and what one request cost.

For one run a ratio of totals is `pooled`; means over repeats are formed in `repeats`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .metric import Metric
from .uncertainty import combine


@dataclass(frozen=True, slots=True)
class Served:
    """What the requests of a load are called, and so its efficiencies."""

    per_joule: str
    unit: str
    joules_each: str


REQUESTS = Served("requests_per_j", "1/J", "j_per_request")
IOS = Served("iops_per_w", "IOPS/W", "j_per_io")


def efficiencies(
    served: Served, count: int, megabytes: float, joules: Metric, *, rate: Metric | None = None, ending: str = ""
) -> list[Metric]:
    """Count and megabytes per joule and joules per request of one energy. `ending` names what is below it
    (`_above_idle`); without a value where there is no energy, or nothing succeeded.

    The count is exact: the budget is that of the energy and, where given, the scatter of the `rate`, both relative, in
    quadrature.
    """
    names = ((served.per_joule, served.unit), ("mb_per_j", "MB/J"), (served.joules_each, "J"))
    scope, boundary, note = joules.scope, joules.boundary, joules.note
    energy = joules.value
    if energy is None or energy <= 0 or not count:
        if not count:
            note = "no request succeeded"
        elif energy is not None:
            note = f"the energy is {energy:.4g} J: a ratio to it has no meaning"
        return [Metric(name + ending, None, unit, scope, boundary=boundary, note=note) for name, unit in names]
    relative = {source: part / energy for source, part in joules.budget.items()}
    if rate is not None and rate.u is not None and rate.value:
        relative["rate"] = rate.u / rate.value
    found = []
    for (name, unit), value in zip(names, (count / energy, megabytes / energy, energy / count), strict=True):
        budget = {source: part * value for source, part in relative.items()}
        u = combine(budget)
        found.append(Metric(name + ending, value, unit, scope, u, budget=budget, boundary=boundary, note=note))
    return found


@dataclass(frozen=True, slots=True)
class PairEfficiency:
    """MB/J of reading and writing as one number, in the three ways that are in use; they differ, so each has a name.

    `mean_of_ratios` (Tr/Er + Tw/Ew)/2; `pooled` (Tr + Tw)/(Er + Ew), reading and writing for the same time;
    `equal_bytes` 2/(Er/Tr + Ew/Tw), reading and writing as many bytes.
    """

    mean_of_ratios: float
    pooled: float
    equal_bytes: float


def pair_efficiency(read_mb_per_s: float, read_w: float, write_mb_per_s: float, write_w: float) -> PairEfficiency:
    """From MB/s and watts of each; all above zero."""
    if min(read_mb_per_s, read_w, write_mb_per_s, write_w) <= 0:
        raise ValueError("rates and watts of reading and writing must be above zero")
    return PairEfficiency(
        (read_mb_per_s / read_w + write_mb_per_s / write_w) / 2,
        (read_mb_per_s + write_mb_per_s) / (read_w + write_w),
        2 / (read_w / read_mb_per_s + write_w / write_mb_per_s),
    )
