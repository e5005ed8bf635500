"""Amdahl's law over queue depth: the time per completed request is ``T(Q) = 1/X(Q) = a + b/Q``.

By Little's law the response is then a straight line, ``R(Q) = Q/X = aQ + b``: a is the demand at the bottleneck and
``1/a`` the highest rate, a + b the response at depth 1. Issa and Figueira state the law for latency itself
(:func:`inverted`), which has the wrong limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

Weights = Literal["equal", "relative"]


@dataclass(frozen=True)
class Prediction:
    """Rate (1/s) and response (ms) at one depth, with the standard uncertainty of each (None without a residual)."""

    q: float
    throughput_per_s: float
    response_ms: float
    u_throughput_per_s: float | None
    u_response_ms: float | None


@dataclass(frozen=True)
class Amdahl:
    """A fitted law. Times in ms; ``covariance`` of (a, b), None where the points leave no residual."""

    a_ms: float
    b_ms: float
    mape_pct: float
    r_squared: float
    covariance: tuple[tuple[float, float], tuple[float, float]] | None
    degrees_of_freedom: int
    leave_one_out_pct: float | None

    @property
    def x_max_per_s(self) -> float:
        """The rate no depth exceeds."""
        return 1000.0 / self.a_ms

    @property
    def serial_fraction(self) -> float:
        """a/(a+b): the share of a request that no depth overlaps."""
        return self.a_ms / (self.a_ms + self.b_ms)

    @property
    def knee_q(self) -> float:
        """(a+b)/a, where the two asymptotes of the response cross."""
        return (self.a_ms + self.b_ms) / self.a_ms

    def predict(self, q: float) -> Prediction:
        """Rate and response at depth ``q``, measured or not."""
        t = self.a_ms + self.b_ms / q
        u_t = None
        if self.covariance is not None:
            (aa, ab), (_, bb) = self.covariance
            u_t = math.sqrt(max(0.0, aa + 2 * ab / q + bb / q**2))
        return Prediction(
            q, 1000.0 / t, q * t, None if u_t is None else 1000.0 * u_t / t**2, None if u_t is None else q * u_t
        )


def two_point(q: Sequence[float], x_per_s: Sequence[float]) -> Amdahl:
    """The law through exactly two points (Eqs. 4 and 5 of Issa and Figueira). ValueError where it has no asymptote."""
    if len(q) != 2:
        raise ValueError(f"two points are needed, {len(q)} were given")
    return _checked(q, x_per_s, "equal", leave_out=False)


def least_squares(q: Sequence[float], x_per_s: Sequence[float], weights: Weights = "relative") -> Amdahl:
    """The law of least squared error of T over two or more depths.

    ``relative`` weighs with 1/T² (equal relative errors), which is what a rate measured to some per cent has; ``equal``
    lets the slow, shallow depths decide. ValueError where the depths do not determine the law or it has no asymptote.
    """
    return _checked(q, x_per_s, weights, leave_out=True)


def inverted(a: float, b: float, q: float) -> float:
    """Latency (ms) by the printed form ``1/latency = a + b/Q``.

    It fits measured points and fails beyond them: with ``X = Q/latency = aQ + b`` the rate grows without bound, which
    no device does. Kept under its own name to reproduce what was printed.
    """
    return 1.0 / (a + b / q)


def _checked(q: Sequence[float], x_per_s: Sequence[float], weights: Weights, *, leave_out: bool) -> Amdahl:
    depth, rate = np.asarray(q, dtype=float), np.asarray(x_per_s, dtype=float)
    if depth.shape != rate.shape:
        raise ValueError(f"{depth.size} depths but {rate.size} rates")
    if not (np.isfinite(depth).all() and np.isfinite(rate).all() and (depth > 0).all() and (rate > 0).all()):
        raise ValueError("depths and rates must be finite and above zero")
    if np.unique(depth).size < 2:
        raise ValueError("the law needs at least two different depths")
    t, x = 1000.0 / rate, 1.0 / depth
    w = 1.0 / t**2 if weights == "relative" else np.ones_like(t)
    a, b, covariance = _solve(x, t, w)
    # Rounding can leave a trace of an asymptote where the rate is proportional to the depth.
    if a <= 1e-12 * abs(b):
        raise ValueError(f"the points have no asymptote: a = {a:.4g} ms; the rate still grows faster than the depth")
    fitted = a + b * x
    total = float(np.sum((t - t.mean()) ** 2))
    return Amdahl(
        a,
        b,
        float(np.mean(np.abs(fitted / t - 1))) * 100,
        1.0 - float(np.sum((t - fitted) ** 2)) / total if total > 0 else 1.0,
        covariance,
        t.size - 2,
        _leave_one_out(x, t, w) if leave_out else None,
    )


def _solve(
    x: np.ndarray, t: np.ndarray, w: np.ndarray
) -> tuple[float, float, tuple[tuple[float, float], tuple[float, float]] | None]:
    design = np.column_stack([np.ones_like(x), x])
    normal = design.T @ (design * w[:, None])
    a, b = (float(v) for v in np.linalg.solve(normal, design.T @ (w * t)))
    if t.size < 3:
        return a, b, None
    variance = float(np.sum(w * (t - a - b * x) ** 2)) / (t.size - 2)
    c = np.linalg.inv(normal) * variance
    return a, b, ((float(c[0, 0]), float(c[0, 1])), (float(c[1, 0]), float(c[1, 1])))


def _leave_one_out(x: np.ndarray, t: np.ndarray, w: np.ndarray) -> float | None:
    """Mean absolute error (%) of each point predicted from all the others; None where one cannot be left out."""
    errors = []
    for i in range(t.size):
        keep = np.arange(t.size) != i
        if np.unique(x[keep]).size < 2:
            return None
        a, b, _ = _solve(x[keep], t[keep], w[keep])
        errors.append(abs((a + b * x[i]) / t[i] - 1))
    return float(np.mean(errors)) * 100
