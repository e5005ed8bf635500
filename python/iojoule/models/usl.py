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

from .amdahl import Weights


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
        """The load of the highest rate; None where the rate never falls."""
        return math.sqrt((1 - self.alpha) / self.beta) if self.beta > 0 else None

    def throughput_per_s(self, n: float) -> float:
        """Rate at load ``n``."""
        return 1000.0 * n / (self.c0_ms + self.c1_ms * n + self.c2_ms * n * n)


def fit(n: Sequence[float], x_per_s: Sequence[float], weights: Weights = "relative", *, free: bool = False) -> Usl:
    """The law of least squared error of R, with β ≥ 0 unless ``free``; ValueError with too few loads."""
    load, rate = np.asarray(n, dtype=float), np.asarray(x_per_s, dtype=float)
    if load.shape != rate.shape:
        raise ValueError(f"{load.size} loads but {rate.size} rates")
    if not (np.isfinite(load).all() and np.isfinite(rate).all() and (load > 0).all() and (rate > 0).all()):
        raise ValueError("loads and rates must be finite and above zero")
    if np.unique(load).size < 3:
        raise ValueError("the law needs at least three different loads")
    response = 1000.0 * load / rate
    w = 1.0 / response**2 if weights == "relative" else np.ones_like(response)
    c = _solve(load, response, w, 3)
    clamped = bool(c[2] < 0) and not free
    if clamped:
        c = np.append(_solve(load, response, w, 2), 0.0)
    fitted = c[0] + c[1] * load + c[2] * load**2
    return Usl(float(c[0]), float(c[1]), float(c[2]), clamped, float(np.mean(np.abs(fitted / response - 1))) * 100)


def _solve(load: np.ndarray, response: np.ndarray, w: np.ndarray, terms: int) -> np.ndarray:
    design = load[:, None] ** np.arange(terms)
    return np.linalg.solve(design.T @ (design * w[:, None]), design.T @ (w * response))
