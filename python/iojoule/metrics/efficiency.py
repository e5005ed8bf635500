"""What a joule bought: requests/J, MB/J, J/request. Counts are exact, so the uncertainty is that of the energy.

For one run a ratio of totals is `pooled`; means over repeats are formed in `repeats`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .energy import Energy
from .metric import Metric
from .uncertainty import ratio


def efficiency(requests: int, megabytes: float, energy: Energy, scope: str) -> list[Metric]:
    """requests_per_j, mb_per_j and j_per_request of one phase; None, with the reason, where there is no energy."""
    names = (("requests_per_j", "1/J"), ("mb_per_j", "MB/J"), ("j_per_request", "J"))
    if energy.joules is None:
        return [Metric(name, None, unit, scope, boundary=energy.boundary, note=energy.note) for name, unit in names]
    if energy.joules <= 0:
        reason = f"the energy is {energy.joules:.4g} J: a ratio to it has no meaning"
        return [Metric(name, None, unit, scope, boundary=energy.boundary, note=reason) for name, unit in names]
    share = {source: u / energy.joules for source, u in energy.budget.items()}
    found = []
    for (name, unit), amount in zip(names, (float(requests), megabytes), strict=False):
        value, u = ratio(amount, 0.0, energy.joules, energy.u)
        budget = {source: part * value for source, part in share.items()}
        found.append(Metric(name, value, unit, scope, u, budget=budget, boundary=energy.boundary, note=energy.note))
    name, unit = names[2]
    if requests:
        value, u = energy.joules / requests, energy.u / requests
        budget = {source: part / requests for source, part in energy.budget.items()}
        found.append(Metric(name, value, unit, scope, u, budget=budget, boundary=energy.boundary, note=energy.note))
    else:
        found.append(Metric(name, None, unit, scope, boundary=energy.boundary, note="no request succeeded"))
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
