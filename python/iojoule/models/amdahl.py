"""Amdahl's law over queue depth: the time per completed request is ``T(Q) = 1/X(Q) = a + b/Q``.

By Little's law the response is then a straight line, ``R(Q) = Q/X = aQ + b``: a is the demand at the bottleneck and
``1/a`` the highest rate, a + b the response at depth 1. Issa and Kassem, who brought the law to disks, fit another form
(:mod:`.inverted`), which has the wrong limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .regression import Fit, Weights, fit, leave_one_out, mape, points, weigh


@dataclass(frozen=True)
class Prediction:
    """Rate (1/s) and response (ms) at one depth, with the standard uncertainty of each (None without a residual).

    ``interval_per_s`` is the 95 % interval of the rate; its upper end is None where the law does not exclude that a
    request takes no time.
    """

    q: float
    throughput_per_s: float
    response_ms: float
    u_throughput_per_s: float | None
    u_response_ms: float | None
    interval_per_s: tuple[float, float | None] | None = None


@dataclass(frozen=True)
class Amdahl:
    """A fitted law. Times in ms; ``fit`` is that of (a, b) over rows (1, 1/Q)."""

    a_ms: float
    b_ms: float
    mape_pct: float
    r_squared: float
    fit: Fit
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
        u_t, half = self.fit.uncertainty((1.0, 1.0 / q)), self.fit.half((1.0, 1.0 / q))
        if u_t is None or half is None:
            return Prediction(q, 1000.0 / t, q * t, None, None)
        return Prediction(q, 1000.0 / t, q * t, 1000.0 * u_t / t / t, q * u_t, _of_time(t, half))

    @property
    def a_half_ms(self) -> float | None:
        """Half-width of the 95 % interval of a."""
        return self.fit.half((1.0, 0.0))

    @property
    def b_half_ms(self) -> float | None:
        """Half-width of the 95 % interval of b."""
        return self.fit.half((0.0, 1.0))

    @property
    def x_max_interval_per_s(self) -> tuple[float, float | None] | None:
        """95 % interval of the highest rate; its upper end is None where a could be 0."""
        half = self.a_half_ms
        return None if half is None else _of_time(self.a_ms, half)

    @property
    def knee_half(self) -> float | None:
        """Half-width of the 95 % interval of the knee, to first order in the errors of a and b."""
        return self.fit.half((-self.b_ms / self.a_ms**2, 1.0 / self.a_ms))


def _of_time(t_ms: float, half_ms: float) -> tuple[float, float | None]:
    """Interval of a rate from that of its time."""
    return 1000.0 / (t_ms + half_ms), 1000.0 / (t_ms - half_ms) if half_ms < t_ms else None


def two_point(q: Sequence[float], x_per_s: Sequence[float]) -> Amdahl:
    """The law through exactly two points (Eqs. 4 and 5 of Issa and Kassem). ValueError where it has no asymptote."""
    if len(q) != 2:
        raise ValueError(f"two points are needed, {len(q)} were given")
    return _checked(q, x_per_s, "equal", leave_out=False)


def least_squares(q: Sequence[float], x_per_s: Sequence[float], weights: Weights = "relative") -> Amdahl:
    """The law of least squared error of T over two or more depths.

    ``relative`` weighs with 1/T² (equal relative errors), which is what a rate measured to some per cent has; ``equal``
    lets the slow, shallow depths decide. ValueError where the depths do not determine the law or it has no asymptote.
    """
    return _checked(q, x_per_s, weights, leave_out=True)


def _checked(q: Sequence[float], x_per_s: Sequence[float], weights: Weights, *, leave_out: bool) -> Amdahl:
    depth, rate = points(q, x_per_s, ("depths", "rates"), least=2)
    t = 1000.0 / rate
    design, w = np.column_stack([np.ones_like(t), 1.0 / depth]), weigh(t, weights)
    fitted = fit(design, t, w)
    a, b = (float(v) for v in fitted.coefficients)
    # Rounding can leave a trace of an asymptote where the rate is proportional to the depth.
    if a <= 1e-12 * abs(b):
        raise ValueError(f"the points have no asymptote: a = {a:.4g} ms; the rate still grows faster than the depth")
    total = float(np.sum((t - t.mean()) ** 2))
    residual = float(np.sum((t - design @ fitted.coefficients) ** 2))
    return Amdahl(
        a,
        b,
        mape(design, t, fitted.coefficients),
        1.0 - residual / total if total > 0 else 1.0,
        fitted,
        leave_one_out(design, t, w) if leave_out else None,
    )
