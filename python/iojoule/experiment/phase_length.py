"""Measured phases that are too short for their meters, found before anything runs: from the sections alone.

How far the power steps is not known yet; the worst the sections allow is taken, and said: a phase next to 0 W.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from iojoule.meters.base import Channel
from iojoule.meters.config import MeterConfig
from iojoule.meters.managed import ManagedConfig
from iojoule.meters.table import driver_class
from iojoule.metrics.phase_length import WINDOWS, alignment_s, shortest_s

if TYPE_CHECKING:
    from iojoule.experiment.plan import Plan

MODELS = frozenset({"utilisation", "constant"})
"""Kinds that compute power: how good they are is not a matter of windows."""
STEP_SHARE = 1.0
"""ΔP/P of a load next to 0 W."""
LONGEST = ("interval", "update", "window", "poll")
SHIFTS = ("latency", "u_latency", "lag", "u_clock", "u_look")


@dataclass(frozen=True, slots=True)
class ShortPhase:
    """A measured phase of `phase_s` of which `meter` needs `needed_s`, in the steps of these indices."""

    workload: str
    meter: str
    phase_s: float
    needed_s: float
    why: str
    steps: tuple[int, ...]

    def describe(self) -> dict[str, Any]:
        return asdict(self) | {"steps": list(self.steps), "step_share": STEP_SHARE}

    @property
    def text(self) -> str:
        which = f"step{'s' * (len(self.steps) > 1)} {_listed([index + 1 for index in self.steps])}"
        return (
            f"{which}: {self.workload} is measured for {self.phase_s:g} s; {self.meter} needs {self.needed_s:.3g} s: "
            + self.why
        )


def short_phases(plan: Plan) -> list[ShortPhase]:
    """Every workload whose measured phase is known and shorter than a meter of the plan needs."""
    return list(_short(plan, plan.header.alignment))


def _short(plan: Plan, target: float) -> Iterator[ShortPhase]:
    for name, variant in plan.workloads.items():
        phase_s = measured_s(variant.model)
        steps = tuple(step.index for step in plan.steps if step.workload == name)
        for meter in plan.experiment.meter:
            if phase_s is None or meter.kind in MODELS:
                continue
            window_s, shift_s = window_and_shift(meter)
            needed_s = shortest_s(window_s, shift_s, STEP_SHARE, target)
            if phase_s < needed_s * (1 - 1e-9):
                yield ShortPhase(name, meter.name, phase_s, needed_s, why(window_s, shift_s, target), steps)


def measured_s(workload: Any) -> float | None:
    """Length of the measured phase where the section says it."""
    for key in ("duration", "fit"):
        length = getattr(workload, key, None)
        if length is not None:
            return float(length)
    return None


def window_and_shift(meter: MeterConfig) -> tuple[float, float]:
    """Seconds of a window or between two readings, and how far a window may lie from where it is taken to be.

    From the section; from the driver's channels too, where it knows them before the meter is opened.
    """
    make: Any = driver_class(meter.kind)
    # Not every driver knows itself before it has looked.
    channels = [channel for channel in getattr(make(meter), "channels", ()) if isinstance(channel, Channel)]
    windows = [_seconds(getattr(meter, key, None)) for key in LONGEST]
    shifts = [_seconds(getattr(meter, key, None)) for key in SHIFTS]
    if isinstance(meter, ManagedConfig) and meter.latency is None:
        shifts.append(meter.update / 2)  # either way of what is taken
    return (
        max([*windows, *(channel.min_interval_s for channel in channels)]),
        max([*shifts, *(channel.latency_s for channel in channels)]),
    )


def why(window_s: float, shift_s: float, target: float) -> str:
    if WINDOWS * window_s >= alignment_s(STEP_SHARE, shift_s, target):
        return f"{WINDOWS} windows of {window_s:g} s"
    return f"a shift of {shift_s:g} s is to cost at most {100 * target:g} % of a load next to 0 W, the worst case"


def _seconds(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _listed(numbers: Sequence[int], most: int = 5) -> str:
    more = f" and {len(numbers) - most} more" if len(numbers) > most else ""
    return ", ".join(map(str, numbers[:most])) + more
