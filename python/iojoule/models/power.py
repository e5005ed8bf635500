"""Power over queue depth: ``P(Q) = P_idle + ΔP · U(Q)`` with the utilisation ``U = X/X_max`` of Amdahl's law.

The disk's moving parts draw ΔP only while a request is being served, so power follows the share of time the bottleneck
is busy; with it IOPS per watt at any depth follow from the law of the rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iojoule.metrics.uncertainty import t_quantile

from . import regression
from .amdahl import Amdahl, least_squares
from .regression import Fit, Weights, leave_one_out


@dataclass(frozen=True)
class Efficiency:
    """Watts and IOPS/W at one depth; ``u`` is a standard uncertainty, ``half`` half of the 95 % interval.

    None where a law has no residual to judge by.
    """

    q: float
    watts: float
    iops_per_w: float
    u_iops_per_w: float | None
    half_watts: float | None = None
    half_iops_per_w: float | None = None


@dataclass(frozen=True)
class PowerOverDepth:
    """A fitted power law in watts; ``fit`` is that of (idle, delta) over rows (1, utilisation)."""

    idle_w: float
    delta_w: float
    law: Amdahl
    fit: Fit
    leave_one_out_pct: float | None

    def watts(self, q: float) -> float:
        """Power at depth ``q``."""
        return self.idle_w + self.delta_w * self._utilisation(q)

    def efficiency(self, q: float) -> Efficiency:
        """IOPS/W at depth ``q``, measured or not. The two laws' errors are taken as independent."""
        rate, watts = self.law.predict(q), self.watts(q)
        value, u_watts = rate.throughput_per_s / watts, self.fit.uncertainty((1.0, self._utilisation(q)))
        if u_watts is None or rate.u_throughput_per_s is None:
            return Efficiency(q, watts, value, None)
        u = value * math.hypot(rate.u_throughput_per_s / rate.throughput_per_s, u_watts / watts)
        # The law with fewer points to spare decides how wide the interval is.
        t = t_quantile(0.975, min(self.fit.degrees, self.law.fit.degrees))
        return Efficiency(q, watts, value, u, t_quantile(0.975, self.fit.degrees) * u_watts, t * u)

    def _utilisation(self, q: float) -> float:
        return self.law.predict(q).throughput_per_s / self.law.x_max_per_s


def fit(q: Sequence[float], watts: Sequence[float], law: Amdahl) -> PowerOverDepth:
    """Least squares of power on the utilisation the ``law`` gives each depth; depth 0 is the idle measurement."""
    depth, power = np.asarray(q, dtype=float), np.asarray(watts, dtype=float)
    if depth.shape != power.shape:
        raise ValueError(f"{depth.size} depths but {power.size} powers")
    if not (np.isfinite(depth).all() and np.isfinite(power).all() and (depth >= 0).all() and (power > 0).all()):
        raise ValueError("depths must be finite and not negative, powers finite and above zero")
    if np.unique(depth).size < 2:
        raise ValueError("the power law needs at least two different depths")
    load = [0.0 if d == 0 else law.predict(d).throughput_per_s / law.x_max_per_s for d in depth]
    design, w = np.column_stack([np.ones_like(power), load]), np.ones_like(power)
    fitted = regression.fit(design, power, w)
    idle, delta = (float(v) for v in fitted.coefficients)
    return PowerOverDepth(idle, delta, law, fitted, leave_one_out(design, power, w))


@dataclass(frozen=True)
class HeldBack:
    """IOPS/W of one depth as measured, and as predicted by laws that never saw that depth."""

    q: float
    measured: float
    predicted: float

    @property
    def error_pct(self) -> float:
        return 100 * (self.predicted / self.measured - 1)


def held_back(
    q: Sequence[float], x_per_s: Sequence[float], watts: Sequence[float], weights: Weights = "relative"
) -> list[HeldBack]:
    """Each depth in turn left out of both laws and predicted by them. Depth 0 is idle, has no rate, and stays in.

    Empty where too few depths remain to fit, or what remains has no asymptote.
    """
    rows = list(zip(q, x_per_s, watts, strict=True))
    found = []
    for out in sorted({depth for depth, _, _ in rows if depth > 0}):
        kept = [row for row in rows if row[0] != out]
        loaded = [row for row in kept if row[0] > 0]
        try:
            law = least_squares([d for d, _, _ in loaded], [x for _, x, _ in loaded], weights)
            drawn = fit([d for d, _, _ in kept], [w for _, _, w in kept], law)
        except ValueError:
            return []
        left = [row for row in rows if row[0] == out]
        measured = sum(x for _, x, _ in left) / sum(w for _, _, w in left)
        found.append(HeldBack(out, measured, drawn.efficiency(out).iops_per_w))
    return found
