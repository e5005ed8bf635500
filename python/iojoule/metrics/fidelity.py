"""Was the load what was planned? Stretch and lateness of a replay against their limits.

Stretch is the replayed span over the planned span: above 1 the client fell behind for good. Lateness is issued −
planned: its tail is what the client added to each latency.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from .latency import column
from .metric import Finding, Limits
from .rates import was_issued


@dataclass(frozen=True, slots=True)
class Fidelity:
    """Over the issued requests of one phase. `stretch` is None where the plan spans no time."""

    requests: int
    dropped: int
    stretch: float | None
    lateness_p50_ms: float
    lateness_p99_ms: float
    lateness_max_ms: float


def fidelity(requests: pa.Table) -> Fidelity | None:
    """Fidelity of the requests of the measure phase; None without any issued request."""
    issued = was_issued(requests)
    planned_ns, issued_ns = column(requests, "planned_ns")[issued], column(requests, "issued_ns")[issued]
    if not len(planned_ns):
        return None
    planned_span = int(planned_ns.max() - planned_ns.min())
    issued_span = int(issued_ns.max() - issued_ns.min())
    late = np.sort(issued_ns - planned_ns) / 1e6
    n = len(late)
    return Fidelity(
        n,
        int((~issued).sum()),
        issued_span / planned_span if planned_span > 0 else None,
        float(late[max(0, -(-n // 2) - 1)]),
        float(late[max(0, -(-n * 99 // 100) - 1)]),
        float(late[-1]),
    )


def verdict(of: Fidelity | None, limits: Limits) -> list[Finding]:
    """Findings in plain words, worst first; one "ok" where all limits are kept."""
    if of is None:
        return [Finding("fail", "no request was issued in the measure phase")]
    found = []
    if of.stretch is not None and not 1 / limits.stretch <= of.stretch <= limits.stretch:
        found.append(
            Finding(
                "fail",
                f"the replay took {of.stretch:.4f} times as long as planned; the limit is {limits.stretch:g}",
            )
        )
    limit_ms = limits.lateness_p99_ns / 1e6
    if of.lateness_p99_ms > limit_ms:
        found.append(
            Finding(
                "fail",
                f"1 % of the requests left {of.lateness_p99_ms:.3g} ms or more late; the limit is {limit_ms:g} ms",
            )
        )
    if of.dropped:
        share = of.dropped / (of.dropped + of.requests)
        found.append(Finding("warning", f"{of.dropped} requests ({share:.2%}) were dropped at the cap on connections"))
    if not any(one.level == "fail" for one in found):
        stretch = "" if of.stretch is None else f"stretch {of.stretch:.4f}, "
        found.append(
            Finding(
                "ok", f"the load kept its plan: {stretch}99 % of the requests left within {of.lateness_p99_ms:.3g} ms"
            )
        )
    return found
