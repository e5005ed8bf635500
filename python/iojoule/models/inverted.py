"""The form Issa and Kassem print for disks: ``1/latency = c + d/Q``, a straight line of the inverse latency over 1/Q.

It is kept under its own name to reproduce what was printed (Fig. 6: c = 0.01/ms, d = 0.08571/ms) and never used to
predict; :data:`REASON` says why, :mod:`.amdahl` is the form that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import regression
from .regression import mape, points

REASON = (
    "latency ends at 1/c whatever the depth, so by Little's law the rate Q/latency = cQ + d grows without bound; "
    "no device does that: the response at large Q rises in proportion to Q"
)


@dataclass(frozen=True)
class Inverted:
    """c and d in 1/ms."""

    c_per_ms: float
    d_per_ms: float

    @property
    def limit_ms(self) -> float | None:
        """The latency it never exceeds; None where it has no limit."""
        return 1.0 / self.c_per_ms if self.c_per_ms > 0 else None

    def latency_ms(self, q: float) -> float:
        """Latency at depth ``q``."""
        return 1.0 / (self.c_per_ms + self.d_per_ms / q)

    def throughput_per_s(self, q: float) -> float:
        """The rate Little's law makes of it: without bound over ``q``."""
        return 1000.0 * q / self.latency_ms(q)


@dataclass(frozen=True)
class InvertedFit(Inverted):
    """The form through measured latencies; the error is of 1/latency."""

    mape_pct: float


def fit(q: Sequence[float], latency_ms: Sequence[float]) -> InvertedFit:
    """Least squares of 1/latency over 1/Q, each error alike (Eq. 6); ValueError with fewer than two depths."""
    depth, latency = points(q, latency_ms, ("depths", "latencies"), least=2)
    y = 1.0 / latency
    design = np.column_stack([np.ones_like(y), 1.0 / depth])
    found = regression.fit(design, y, np.ones_like(y)).coefficients
    return InvertedFit(float(found[0]), float(found[1]), mape(design, y, found))
