"""A meter that averages over 1 s, a load that steps from 5 W to 12 W for 10 s, at every phase of one against the other:
mean bias of our rule and of the rules others use. Exact arithmetic; it does not depend on the machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from iojoule.metrics import integrate
from iojoule.metrics.channels import Channel, Series
from iojoule.metrics.energy import phase_energy
from iojoule.metrics.metric import Span

IDLE_W, ACTIVE_W, LENGTH_S, WINDOW_S, LATENCY_S = 5.0, 12.0, 10.0, 1.0, 0.15
BEGIN_S, RECORD_S = 20.0, 50.0
TRUE_J = ACTIVE_W * LENGTH_S
CHANNEL = Channel("meter", "power", "window_mean", "W", "ac_wall")


def windows(shift_s: float) -> tuple[Any, Any, Any]:
    """Start, end and mean power of every window, the first of which begins at ``shift_s``."""
    start = shift_s + np.arange(0.0, RECORD_S, WINDOW_S)
    end = start + WINDOW_S
    active = np.clip(np.minimum(end, BEGIN_S + LENGTH_S) - np.maximum(start, BEGIN_S), 0.0, None)
    return start, end, IDLE_W + (ACTIVE_W - IDLE_W) * active / WINDOW_S


def ours(start: Any, end: Any, watts: Any) -> float:
    """Energy of the phase as it is quoted, J."""
    at = [np.round(column * 1e9).astype(np.int64) for column in (start, end)]
    none = np.full(len(watts), math.nan)
    readings = Series(CHANNEL, *at, watts, none, 0.0, np.zeros(len(watts), dtype=bool))
    joules = phase_energy(readings, Span("measure", round(BEGIN_S * 1e9), round((BEGIN_S + LENGTH_S) * 1e9))).joules
    assert joules is not None
    return joules


def arrival_mean(arrived: Any, watts: Any, t0: float, t1: float) -> float:
    """Mean of the values that arrived during the phase, times the phase, J."""
    inside = (arrived >= t0) & (arrived <= t1)
    return float(watts[inside].mean()) * (t1 - t0)


def arrival_trapezoid(arrived: Any, watts: Any, t0: float, t1: float) -> float:
    """Straight lines between the values that arrived during the phase, J."""
    inside = (arrived >= t0) & (arrived <= t1)
    return float(np.trapezoid(watts[inside], arrived[inside]))


def late(rule: Callable[[Any, Any, float, float], float]) -> Callable[[Any, Any, Any], float]:
    return lambda start, end, watts: rule(end + LATENCY_S, watts, BEGIN_S, BEGIN_S + LENGTH_S)


RULES: dict[str, Callable[[Any, Any, Any], float]] = {
    "iojoule": ours,
    "mean of what arrived in the phase": late(arrival_mean),
    "trapezoid over what arrived": late(arrival_trapezoid),
    "windows shared out by overlap": lambda s, e, w: integrate.overlap_weighted(s, e, w, BEGIN_S, BEGIN_S + LENGTH_S),
}


def biases(shifts: int = 1000) -> Iterator[tuple[str, float, float]]:
    """Rule, its mean error and its greatest one over all shifts, per cent of the true energy."""
    made = [windows((k + 0.5) / shifts * WINDOW_S) for k in range(shifts)]
    for name, rule in RULES.items():
        errors = np.array([100 * (rule(*each) / TRUE_J - 1) for each in made])
        yield name, float(errors.mean()), float(errors[np.abs(errors).argmax()])


if __name__ == "__main__":
    print(f"{'rule':36}{'mean error':>12}{'greatest':>12}")
    for name, mean, greatest in biases():
        print(f"{name:36}{mean:>+10.2f} %{greatest:>+10.2f} %")
