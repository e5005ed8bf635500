"""Energy of a phase from the readings of one channel, with the budget of what is not known about it.

    u_E² = T²·[(u_gain + u_offset)² + u_noise²] + (ΔP·u_t)² + u_gap² + u_integration²

A phase covered less than 98 %, or holding an overloaded or invalid reading, has no energy, only a reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from . import integrate
from .channels import REJECTING, Channel, Series
from .metric import COVERAGE_FACTOR, Span
from .uncertainty import SYSTEMATIC, combine, lasting, noise_of_mean, scatter_about_running_mean

Floats = npt.NDArray[np.float64]

MIN_COVERAGE = 0.98
STEADY_SHARE = 0.8
"""The interior rule needs whole windows over this share of the phase; below it the phase is a burst."""


@dataclass(frozen=True, slots=True)
class Energy:
    """Joules of one channel, or of a sum of channels, over a phase. `joules` is None where only `note` is known.

    `u` is the standard uncertainty (k = 1), `budget` its parts in joules; `known` is False where the instrument gave no
    accuracy, so that `u` holds the other parts only.
    """

    scope: str
    boundary: str
    seconds: float
    joules: float | None
    u: float = 0.0
    budget: Mapping[str, float] = field(default_factory=dict)
    coverage: float = 0.0
    rule: str = ""
    known: bool = True
    note: str = ""

    @property
    def expanded(self) -> float:
        """U = 2 u."""
        return COVERAGE_FACTOR * self.u

    @property
    def mean_w(self) -> float | None:
        return None if self.joules is None or self.seconds <= 0 else self.joules / self.seconds

    @property
    def quotable(self) -> bool:
        return self.joules is not None


def phase_energy(
    readings: Series, phase: Span, *, idle_w: float | None = None, min_coverage: float = MIN_COVERAGE
) -> Energy:
    """Energy of `phase` by the rule that fits the channel: counter, window mean or instant.

    `idle_w` is the idle power of the same channel; a phase too short for whole windows needs it.
    """
    channel = readings.channel
    duration = phase.seconds

    def none(reason: str, coverage: float = 0.0) -> Energy:
        return Energy(channel.name, channel.boundary, duration, None, coverage=coverage, note=reason)

    if duration <= 0:
        return none("the phase has no length")
    if not len(readings.value):
        return none("no readings")
    start, end = readings.seconds(phase.start_ns)
    touching = (start <= duration) & (end >= 0) if channel.kind == "instant" else (start < duration) & (end > 0)
    if (readings.bad & touching).any():
        said = ", ".join(sorted(REJECTING.intersection(readings.flags))) or "invalid"
        return none(f"{int((readings.bad & touching).sum())} readings inside the phase are {said}")
    good = ~readings.bad
    start, end, value = start[good], end[good], readings.value[good]
    if channel.kind == "instant":
        coverage = 1.0 - integrate.gaps_between(start, 0.0, duration) / duration
    else:
        coverage = integrate.covered(start, end, 0.0, duration) / duration
    if coverage < min_coverage:
        return none(f"readings cover {coverage:.1%} of the phase, {min_coverage:.0%} are needed", coverage)
    joules, spread, rule = _integrate(channel.kind, start, end, value, duration, readings.u_time_s, idle_w)
    if joules is None:
        return none(rule, coverage)

    watts = readings.watts()[good]
    inside = (start < duration) & (end > 0) if channel.kind != "instant" else (start >= 0) & (start <= duration)
    phase_w = watts[inside]
    low, high = (float(phase_w.min()), float(phase_w.max())) if len(phase_w) else (0.0, 0.0)
    missing = max(0.0, 1.0 - coverage) * duration
    if readings.terms:
        # What makes joules of watts makes joules of their uncertainties, sign and all.
        of_terms = {source: integrate.trapezoid(start, u[good], 0.0, duration) for source, u in readings.terms.items()}
        budget = {source: abs(u or 0.0) for source, u in of_terms.items()}
    else:
        budget = _instrument(channel, readings.u_value[good][inside], joules, duration)
    known = bool(budget)
    if channel.kind == "window_mean":
        budget["noise"] = noise_of_mean(scatter_about_running_mean(phase_w)) * duration
    elif channel.kind == "instant":
        budget["noise"] = noise_of_mean(phase_w) * duration
    step = _step_at_the_ends(start, end, watts, duration, joules / duration, idle_w)
    budget["alignment"] = step * readings.u_time_s
    if missing > 1e-9 * duration:
        budget["gaps"] = (high - low) / math.sqrt(12) * missing
        if channel.kind == "counter":
            joules += joules / (duration - missing) * missing
    budget["integration"] = spread * (high - low) / math.sqrt(12)
    budget = {source: u for source, u in budget.items() if u > 0.0 or source in SYSTEMATIC}
    note = "" if known else "the meter states no accuracy: ± holds scatter, alignment and gaps only"
    return Energy(
        channel.name, channel.boundary, duration, joules, combine(budget), budget, coverage, rule, known, note
    )


def _integrate(
    kind: str, start: Floats, end: Floats, value: Floats, duration: float, guard: float, idle_w: float | None
) -> tuple[float | None, float, str]:
    """(joules, seconds interpolated or extrapolated, rule) or (None, 0, reason)."""
    if kind == "counter":
        joules = integrate.counter(start, end, value, 0.0, duration)
        if joules is None:
            return None, 0.0, "no pair of counter readings brackets the phase"
        cut_steps = ((start < 0) & (end > 0)).any() or ((start < duration) & (end > duration)).any()
        return joules, float(np.median(end - start)) if cut_steps else 0.0, "counter"
    if kind == "instant":
        joules = integrate.trapezoid(start, value, 0.0, duration)
        if joules is None:
            return None, 0.0, "samples do not reach over both ends of the phase"
        return joules, integrate.usual_interval(start), "trapezoid"
    whole = integrate.interior(start, end, value, 0.0, duration, guard)
    if whole is not None and whole.span_s >= STEADY_SHARE * duration:
        return whole.energy_j, max(0.0, duration - whole.span_s), "interior"
    if idle_w is not None:
        burst = integrate.envelope(start, end, value, 0.0, duration, max(guard, 1e-9), idle_w)
        if burst is not None:
            return burst, 0.0, "envelope"
    if whole is not None:
        return whole.energy_j, max(0.0, duration - whole.span_s), "interior"
    return (
        None,
        0.0,
        "no reading window lies wholly inside the phase, and there is no idle power to take off its envelope",
    )


def _instrument(channel: Channel, u_value: Floats, joules: float, duration: float) -> dict[str, float]:
    """The systematic part: from the description (gain and offset), else from the readings themselves."""
    budget: dict[str, float] = {}
    if channel.u_rel is not None:
        budget["gain"] = abs(channel.u_rel * joules)
    if channel.u_abs is not None:
        # A counter errs by u_abs joules at each of its two ends; a wattmeter by u_abs watts all the time.
        budget["offset"] = channel.u_abs * (math.sqrt(2) if channel.kind == "counter" else duration)
    if budget:
        return budget
    stated = u_value[np.isfinite(u_value)]
    if not len(stated):
        return {}
    return {"instrument": float(stated.sum()) if channel.kind == "counter" else float(stated.mean()) * duration}


def _step_at_the_ends(
    start: Floats, end: Floats, watts: Floats, duration: float, mean_w: float, idle_w: float | None
) -> float:
    """ΔP: how far the power just outside the phase is from that in it; a shifted clock moves so much per second."""
    before, after = watts[end <= 0][-3:], watts[start >= duration][:3]
    steps = [abs(mean_w - float(side.mean())) for side in (before, after) if len(side)]
    if idle_w is not None:
        steps.append(abs(mean_w - idle_w))
    return max(steps, default=0.0)


def total(scope: str, boundary: str, parts: Sequence[tuple[Channel, Energy]]) -> Energy:
    """Sum over a declared cut. Systematic terms of one meter add linearly, everything else in quadrature.

    No energy where any part has none.
    """
    if not parts:
        raise ValueError("a total needs at least one channel")
    seconds = parts[0][1].seconds
    coverage = min(part.coverage for _, part in parts)
    lacking = [f"{channel.name}: {part.note}" for channel, part in parts if part.joules is None]
    if lacking:
        return Energy(scope, boundary, seconds, None, coverage=coverage, note="; ".join(lacking))
    budget: dict[str, float] = {}
    systematic: dict[str, float] = {}
    for channel, part in parts:
        of_meter = sum(part.budget.get(source, 0.0) for source in SYSTEMATIC)
        systematic[channel.meter] = systematic.get(channel.meter, 0.0) + of_meter
    if len(systematic) == 1:
        for source in SYSTEMATIC:
            if any(source in part.budget for _, part in parts):
                budget[source] = sum(part.budget.get(source, 0.0) for _, part in parts)
    else:
        budget["instrument"] = math.hypot(*systematic.values())
    for source in sorted({source for _, part in parts for source in part.budget} - set(SYSTEMATIC)):
        budget[source] = math.hypot(*(part.budget.get(source, 0.0) for _, part in parts))
    joules = sum(part.joules for _, part in parts if part.joules is not None)
    known = all(part.known for _, part in parts)
    note = "; ".join(sorted({part.note for _, part in parts if part.note}))
    rule = "+".join(sorted({part.rule for _, part in parts}))
    return Energy(scope, boundary, seconds, joules, combine(budget), budget, coverage, rule, known, note)


def above_idle(active: Energy, idle: Energy) -> Energy:
    """Energy above idle: E − P_idle·T, its own metric.

    One instrument on one range: the offset cancels, the gain acts on the difference, the scatter of both counts.
    """
    name = f"{active.scope} above idle"
    if active.joules is None or idle.mean_w is None:
        reason = active.note if active.joules is None else f"no idle power: {idle.note}"
        return Energy(active.scope, active.boundary, active.seconds, None, coverage=active.coverage, note=reason)
    base = idle.mean_w * active.seconds
    net = active.joules - base
    stretch = active.seconds / idle.seconds
    budget: dict[str, float] = {}
    if "gain" in active.budget and active.joules:
        budget["gain"] = abs(active.budget["gain"] / active.joules * net)
    if "instrument" in active.budget:
        # Gain and offset are not told apart, so nothing may be assumed to cancel.
        budget["instrument"] = math.hypot(active.budget["instrument"], idle.budget.get("instrument", 0.0) * stretch)
    for source in sorted((set(active.budget) | set(idle.budget)) - set(SYSTEMATIC)):
        of_active, of_idle = active.budget.get(source, 0.0), idle.budget.get(source, 0.0) * stretch
        # A resistor is as wrong in one phase as in the other.
        budget[source] = abs(of_active - of_idle) if lasting(source) else math.hypot(of_active, of_idle)
    known = active.known and idle.known
    return Energy(
        active.scope, active.boundary, active.seconds, net, combine(budget), budget,
        min(active.coverage, idle.coverage), f"{name}: {active.rule}", known, active.note,
    )  # fmt: skip


def energies(series: Iterable[Series], phase: Span, idle_w: Mapping[str, float]) -> dict[str, Energy]:
    """Energy of every channel over a phase, by channel name. `idle_w` may hold idle powers by channel name."""
    return {one.channel.name: phase_energy(one, phase, idle_w=idle_w.get(one.channel.name)) for one in series}
