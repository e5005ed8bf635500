"""Weighted linear least squares over measured points, with what it leaves uncertain: the fit under every law here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from iojoule.metrics.uncertainty import t_quantile

Array = npt.NDArray[np.float64]
Weights = Literal["equal", "relative"]
"""relative: 1/y², equal relative errors, as a rate measured to some per cent has; equal: large values decide."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients in the order of the design's columns, and their covariance; None where no residual is left."""

    coefficients: Array
    covariance: Array | None
    degrees: int = 0
    """Points beyond those the coefficients use up: degrees of freedom of every interval."""

    def uncertainty(self, row: Sequence[float]) -> float | None:
        """Standard uncertainty of the fitted value at one row of a design."""
        if self.covariance is None:
            return None
        at = np.asarray(row, dtype=float)
        return float(np.sqrt(max(0.0, at @ self.covariance @ at)))

    def half(self, row: Sequence[float], confidence: float = 0.95) -> float | None:
        """Half-width of the Student-t interval of the fitted value at one row of a design."""
        u = self.uncertainty(row)
        return None if u is None else t_quantile((1 + confidence) / 2, self.degrees) * u


def points(at: Sequence[float], values: Sequence[float], what: tuple[str, str], *, least: int) -> tuple[Array, Array]:
    """Measured points as arrays. ValueError unless both are finite and above zero with ``least`` different places."""
    places, measured = np.asarray(at, dtype=float), np.asarray(values, dtype=float)
    if places.shape != measured.shape:
        raise ValueError(f"{places.size} {what[0]} but {measured.size} {what[1]}")
    if not all(np.isfinite(one).all() and (one > 0).all() for one in (places, measured)):
        raise ValueError(f"{what[0]} and {what[1]} must be finite and above zero")
    if np.unique(places).size < least:
        raise ValueError(f"the law needs at least {('no', 'one', 'two', 'three')[least]} different {what[0]}")
    return places, measured


def weigh(y: Array, weights: Weights) -> Array:
    """The weight of each squared error."""
    return 1.0 / y**2 if weights == "relative" else np.ones_like(y)


def fit(design: Array, y: Array, w: Array) -> Fit:
    """Minimises the weighted sum of squared errors of ``design @ coefficients``; the design has full rank."""
    normal = design.T @ (design * w[:, None])
    coefficients: Array = np.asarray(np.linalg.solve(normal, design.T @ (w * y)), dtype=np.float64)
    spare = y.size - design.shape[1]
    if spare < 1:
        return Fit(coefficients, None)
    variance = float(np.sum(w * (y - design @ coefficients) ** 2)) / spare
    return Fit(coefficients, np.linalg.inv(normal) * variance, spare)


def mape(design: Array, y: Array, coefficients: Array) -> float:
    """Mean absolute error of the fitted values, in per cent."""
    return float(np.mean(np.abs(design @ coefficients / y - 1))) * 100


def leave_one_out(design: Array, y: Array, w: Array) -> float | None:
    """Mean absolute error (%) of each place predicted from all the others; None where one cannot be left out.

    Repeats of a place leave together: what was measured there must not predict it.
    """
    _, place = np.unique(design, axis=0, return_inverse=True)
    errors: list[float] = []
    for i in range(int(place.max()) + 1):
        keep = place.ravel() != i
        if np.linalg.matrix_rank(design[keep]) < design.shape[1]:
            return None
        coefficients = fit(design[keep], y[keep], w[keep]).coefficients
        errors += [mape(design[~keep], y[~keep], coefficients)] * int((~keep).sum())
    return float(np.mean(errors))
