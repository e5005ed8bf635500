"""Idle power before and after a load, and both as one: the load may have warmed the device or left it working.

Their difference is a drift nobody watched in between: half-width |after − before|/2 about their mean, rectangular.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .energy import Energy
from .metric import Span
from .uncertainty import SYSTEMATIC, combine, lasting


def idle_spans(phases: Sequence[Span]) -> list[Span]:
    """The idle phases that have a length, in the order of time."""
    found = [span for span in phases if span.name.startswith("idle") and span.seconds > 0]
    return sorted(found, key=lambda span: span.start_ns)


def together(parts: Sequence[Energy]) -> Energy:
    """Idle phases of one channel or total as one energy over their added time; those without a value are left out.

    One instrument watched all of them: its own terms add linearly, as does the rounding of powers that are alike;
    scatter adds in quadrature, and the drift comes on top.
    """
    known = [one for one in parts if one.joules is not None]
    if len(known) < 2:
        return known[0] if known else parts[0]
    seconds = sum(one.seconds for one in known)
    sources = sorted({source for one in known for source in one.budget})
    budget = {
        source: sum(one.budget.get(source, 0.0) for one in known)
        if source in SYSTEMATIC or lasting(source) or (source == "resolution" and known[0].rule != "counter")
        else math.hypot(*(one.budget.get(source, 0.0) for one in known))
        for source in sources
    }
    watts = [one.mean_w for one in known if one.mean_w is not None]
    budget["drift"] = (max(watts) - min(watts)) / math.sqrt(12) * seconds
    first = known[0]
    return Energy(
        first.scope, first.boundary, seconds, sum(one.joules or 0.0 for one in known), combine(budget), budget,
        min(one.coverage for one in known), first.rule, all(one.known for one in known), first.note,
    )  # fmt: skip
