"""Little's law as an audit: requests outstanding = rate x response; anything above the queue depth cannot have been."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Audit:
    """``deviation_pct`` of the outstanding requests from the depth; ``holds`` where it is within the tolerance."""

    outstanding: float
    deviation_pct: float
    response_at_depth_ms: float
    holds: bool


def audit(rate_per_s: float, response_ms: float, queue_depth: float, tolerance_pct: float = 3.0) -> Audit:
    """Rate, response and depth of one closed-loop measurement against ``N = X R``."""
    outstanding = rate_per_s * response_ms / 1000.0
    deviation = (outstanding / queue_depth - 1) * 100
    return Audit(outstanding, deviation, queue_depth / rate_per_s * 1000.0, abs(deviation) <= tolerance_pct)
