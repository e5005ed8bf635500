"""The universal scalability law, ``X(N) = γN / (1 + α(N−1) + βN(N−1))``, fitted with β ≥ 0 (Gunther).

By Little's law it is a parabola of the response, ``R(N) = N/X = c0 + c1 N + c2 N²``, so the fit is linear. With β = 0
it is Amdahl's law. Disks that reorder their queue give c2 < 0, which means nothing; they are fitted
again with β = 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import regression
from .regression import Weights, mape, points, weigh


@dataclass(frozen=True)
class Usl:
    """A fitted law: the parabola's coefficients in ms, and what follows from them."""

    c0_ms: float
    c1_ms: float
    c2_ms: float
    clamped: bool
    """True where the free fit had β < 0."""
    mape_pct: float

    @property
    def gamma_per_s(self) -> float:
        """Rate at N = 1."""
        return 1000.0 / (self.c0_ms + self.c1_ms + self.c2_ms)

    @property
    def alpha(self) -> float:
        """Contention."""
        return (self.c1_ms + self.c2_ms) * self.gamma_per_s / 1000.0

    @property
    def beta(self) -> float:
        """Coherency."""
        return self.c2_ms * self.gamma_per_s / 1000.0

    @property
    def peak_n(self) -> float | None:
        """The load of the highest rate; None where the rate never falls, or falls from the first request on (α ≥ 1)."""
        return math.sqrt((1 - self.alpha) / self.beta) if self.beta > 0 and self.alpha < 1 else None

    def throughput_per_s(self, n: float) -> float:
        """Rate at load ``n``."""
        return 1000.0 * n / (self.c0_ms + self.c1_ms * n + self.c2_ms * n * n)


def fit(n: Sequence[float], x_per_s: Sequence[float], weights: Weights = "relative", *, free: bool = False) -> Usl:
    """The law of least squared error of R, with β ≥ 0 unless ``free``; ValueError with too few loads."""
    load, rate = points(n, x_per_s, ("loads", "rates"), least=3)
    response = 1000.0 * load / rate
    design, w = load[:, None] ** np.arange(3), weigh(response, weights)
    c = regression.fit(design, response, w).coefficients
    clamped = bool(c[2] < 0) and not free
    if clamped:
        c = np.append(regression.fit(design[:, :2], response, w).coefficients, 0.0)
    return Usl(float(c[0]), float(c[1]), float(c[2]), clamped, mape(design, response, c))
