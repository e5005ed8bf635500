"""Power over queue depth: ``P(Q) = P_idle + ΔP · U(Q)`` with the utilisation ``U = X/X_max`` of Amdahl's law.

The disk's moving parts draw ΔP only while a request is being served, so power follows the share of time the bottleneck
is busy; with it IOPS per watt at any depth follow from the law of the rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .amdahl import Amdahl


@dataclass(frozen=True)
class Efficiency:
    """IOPS/W at one depth, and its standard uncertainty (None where a law has no residual to judge by)."""

    q: float
    watts: float
    iops_per_w: float
    u_iops_per_w: float | None


@dataclass(frozen=True)
class PowerOverDepth:
    """A fitted power law in watts; ``covariance`` of (idle, delta), None where the points leave no residual."""

    idle_w: float
    delta_w: float
    law: Amdahl
    covariance: tuple[tuple[float, float], tuple[float, float]] | None
    leave_one_out_pct: float | None

    def watts(self, q: float) -> float:
        """Power at depth ``q``."""
        return self.idle_w + self.delta_w * self._utilisation(q)

    def efficiency(self, q: float) -> Efficiency:
        """IOPS/W at depth ``q``, measured or not. The two laws' errors are taken as independent."""
        rate, watts = self.law.predict(q), self.watts(q)
        value, u = rate.throughput_per_s / watts, None
        if self.covariance is not None and rate.u_throughput_per_s is not None:
            load = self._utilisation(q)
            (ii, id_), (_, dd) = self.covariance
            u_watts = math.sqrt(max(0.0, ii + 2 * id_ * load + dd * load**2))
            u = value * math.hypot(rate.u_throughput_per_s / rate.throughput_per_s, u_watts / watts)
        return Efficiency(q, watts, value, u)

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
    load = np.array([0.0 if d == 0 else law.predict(d).throughput_per_s / law.x_max_per_s for d in depth])
    (idle, delta), covariance = _solve(load, power)
    errors: list[float] = []
    for i in range(power.size):
        keep = np.arange(power.size) != i
        if np.unique(load[keep]).size < 2:
            errors = []
            break
        (i0, d0), _ = _solve(load[keep], power[keep])
        errors.append(abs((i0 + d0 * load[i]) / power[i] - 1) * 100)
    return PowerOverDepth(idle, delta, law, covariance, float(np.mean(errors)) if errors else None)


def _solve(
    load: np.ndarray, power: np.ndarray
) -> tuple[tuple[float, float], tuple[tuple[float, float], tuple[float, float]] | None]:
    design = np.column_stack([np.ones_like(load), load])
    normal = design.T @ design
    idle, delta = (float(v) for v in np.linalg.solve(normal, design.T @ power))
    if power.size < 3:
        return (idle, delta), None
    variance = float(np.sum((power - idle - delta * load) ** 2)) / (power.size - 2)
    c = np.linalg.inv(normal) * variance
    return (idle, delta), ((float(c[0, 0]), float(c[0, 1])), (float(c[1, 0]), float(c[1, 1])))
