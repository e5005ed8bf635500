"""Energy of a phase from the readings of one channel, with the budget of what is not known about it.

    u_E² = T²·[(u_gain + u_offset)² + u_noise²] + (ΔP·u_t)² + u_gap² + u_integration²

A phase covered less than 98 %, or holding an overloaded reading or an uncertain counter wrap, has no energy, only a
reason. A reading that is no measurement (invalid, sentinel) covers nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from . import edges, integrate
from .channels import REJECTING, Channel, Series
from .edges import Level, Ruled
from .metric import COVERAGE_FACTOR, Span
from .uncertainty import SYSTEMATIC, about_its_course, combine, lasting, noise_of_mean, scatter, small_sample

Floats = npt.NDArray[np.float64]

MIN_COVERAGE = 0.98
FEW = 7
"""Readings from which on a phase tells its own scatter."""


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
    readings: Series, phase: Span, *, idle: Level | None = None, min_coverage: float = MIN_COVERAGE
) -> Energy:
    """Energy of `phase` by the rule that fits the channel: counter, window mean or instant.

    `idle` is the idle power of the same channel; a burst too short for whole windows needs it, or windows beside it.
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
    instants = channel.kind == "instant"
    inside = (start >= 0) & (start <= duration) if instants else (start < duration) & (end > 0)
    if (readings.bad & inside).any():
        said = ", ".join(sorted(REJECTING.intersection(readings.flags))) or "invalid"
        return none(f"{int((readings.bad & inside).sum())} readings inside the phase are {said}")
    good = ~readings.bad
    start, end, value, watts = (column[good] for column in (start, end, readings.value, readings.watts()))
    inside = inside[good]
    if instants:
        missing = integrate.gaps_between(start, 0.0, duration)
        covered = duration - missing
    else:
        missing = integrate.holes(start, end, 0.0, duration)
        covered = min(duration - missing, float(integrate.overlaps(start, end, 0.0, duration).sum()))
    coverage = covered / duration
    if coverage < min_coverage:
        return none(f"readings cover {coverage:.1%} of the phase, {min_coverage:.0%} are needed", coverage)
    u_t = readings.u_time_near(phase.start_ns, phase.end_ns)
    found = _integrate(channel.kind, start, end, value, watts, duration, u_t, idle)
    if isinstance(found, str):
        return none(found, coverage)
    joules = found.joules

    phase_w = watts[inside]
    if readings.terms:
        # What makes joules of watts makes joules of their uncertainties, sign and all.
        of_terms = {source: integrate.trapezoid(start, u[good], 0.0, duration) for source, u in readings.terms.items()}
        budget = {source: abs(u or 0.0) for source, u in of_terms.items()}
    else:
        budget = _instrument(channel, readings.u_value[good][inside], joules, duration)
    known = bool(budget)
    if channel.kind != "counter":
        budget["noise"] = _noise(watts, inside) * duration
    budget["alignment"] = found.u_alignment
    if missing > 1e-9 * duration and len(phase_w):
        budget["gaps"] = float(np.ptp(phase_w)) / math.sqrt(12) * missing
        if channel.kind == "counter":
            joules += joules / (duration - missing) * missing
    budget["integration"] = found.u_ends
    budget = {source: u for source, u in budget.items() if u > 0.0 or source in SYSTEMATIC}
    note = "" if known else "the meter states no accuracy: ± holds scatter, alignment and gaps only"
    return Energy(
        channel.name, channel.boundary, duration, joules, combine(budget), budget, coverage, found.rule, known, note
    )


def _integrate(
    kind: str,
    start: Floats,
    end: Floats,
    value: Floats,
    watts: Floats,
    duration: float,
    u_t: float,
    idle: Level | None,
) -> Ruled | str:
    """Joules by the rule for this kind, with what is not known of the ends; or the reason why there are none."""
    if kind == "counter":
        if (around := (start <= 0) & (end >= duration)).any() and duration < float((end - start)[around].min()) / 2:
            return "the phase is the lesser part of one counter step: most of what was counted lies outside"
        joules = integrate.counter(start, end, value, 0.0, duration)
        if joules is None:
            return "no pair of counter readings brackets the phase"
        # Where an end of the phase lies in a gap, the step nearest to it speaks.
        ends = [float(watts[np.argmin(np.maximum(start - at, at - end).clip(0.0))]) for at in (0.0, duration)]
        # Each reading has a delay of its own, during which it counts on.
        return Ruled("counter", joules, edges.of_steps(start, end, watts, duration), math.hypot(*ends) * u_t)
    steps = edges.step_at_the_ends(start, end, watts, duration) * u_t
    if kind == "instant":
        if not ((start >= 0) & (start <= duration)).any():
            return "no sample lies inside the phase"
        joules = integrate.trapezoid(start, value, 0.0, duration)
        if joules is None:
            return "samples do not reach over both ends of the phase"
        return Ruled("trapezoid", joules, edges.of_samples(start, value, duration), steps)
    found = edges.of_windows(start, end, value, duration, u_t, idle)
    if not found:
        # Too few windows for a guard against the clock: what a shift would cost is told instead.
        found = [
            replace(one, u_alignment=max(steps, one.u_alignment))
            for one in edges.of_windows(start, end, value, duration, 0.0, idle)
        ]
    return (
        found[0]
        if found
        else "no reading window lies wholly inside the phase, and those it cuts do not tell what of them is outside"
    )


def _noise(watts: Floats, inside: npt.NDArray[np.bool_]) -> float:
    """u of the mean power from the scatter of the readings alone; of few readings, from that of those beside them."""
    n = int(inside.sum())
    within = np.flatnonzero(inside)
    if 0 < n < FEW:
        sides = watts[max(0, within[0] - edges.BESIDE) : within[0]], watts[within[-1] + 1 :][: edges.BESIDE]
        beside = max(sides, key=len)
        if len(beside) > n:
            return scatter(beside) / math.sqrt(n)
    return noise_of_mean(about_its_course(watts[inside])) * small_sample(max(n, 2))


def _instrument(channel: Channel, u_value: Floats, joules: float, duration: float) -> dict[str, float]:
    """The systematic part: from the description (gain and offset), else from the readings themselves."""
    budget: dict[str, float] = {}
    if channel.u_rel is not None:
        budget["gain"] = abs(channel.u_rel * joules)
    if channel.u_abs is not None:
        # A counter errs by u_abs joules at each end, whichever way; a wattmeter by u_abs watts all the time.
        if channel.kind == "counter":
            budget["resolution"] = channel.u_abs * math.sqrt(2)
        else:
            budget["offset"] = channel.u_abs * duration
    if channel.u_digit is not None and channel.kind != "counter":
        # A steady power is rounded the same way in every reading, whatever the gain and offset are.
        budget["resolution"] = channel.u_digit * duration
    if budget:
        return budget
    stated = u_value[np.isfinite(u_value)]
    if not len(stated):
        return {}
    return {"instrument": float(stated.sum()) if channel.kind == "counter" else float(stated.mean()) * duration}


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
        apart: dict[str, list[float]] = {}
        for channel, part in parts:
            # Channels of one meter have one clock; rails are sampled in one scan, and a step of the load is in all.
            shared = source == "alignment" or (source == "integration" and channel.made_of is not None)
            place = channel.meter if shared else channel.name
            apart.setdefault(place, []).append(part.budget.get(source, 0.0))
        budget[source] = math.hypot(*(sum(together) for together in apart.values()))
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


def energies(series: Iterable[Series], phase: Span, idle: Mapping[str, Energy]) -> dict[str, Energy]:
    """Energy of every channel over a phase, by channel name; `idle` may hold those of idle phases."""
    levels = {name: level for name, one in idle.items() if (level := _level(one)) is not None}
    return {one.channel.name: phase_energy(one, phase, idle=levels.get(one.channel.name)) for one in series}


def _level(idle: Energy) -> Level | None:
    """Idle power, with what is uncertain of it beyond the instrument's errors, which the phase shares."""
    if idle.mean_w is None:
        return None
    own = [u for source, u in idle.budget.items() if source not in SYSTEMATIC and not lasting(source)]
    return Level(idle.mean_w, math.hypot(*own) / idle.seconds)
