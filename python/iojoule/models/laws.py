"""All laws over queue depth through the same points: what `iojoule model amdahl` and the report say of a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from . import amdahl, power, usl
from .amdahl import Amdahl
from .power import HeldBack, PowerOverDepth
from .regression import Weights
from .usl import Usl


@dataclass(frozen=True)
class Point:
    """One measurement: depth, completions per second, and what else was measured there. Depth 0 is idle: watts only."""

    queue_depth: float
    iops: float
    watts: float | None = None
    latency_ms: float | None = None


@dataclass(frozen=True)
class Laws:
    """What the points determine; None where they are too few. ``held_back`` has the errors of predicted IOPS/W."""

    law: Amdahl
    two_point: bool
    usl: Usl | None
    power: PowerOverDepth | None
    held_back: Sequence[HeldBack] = field(default=())

    @property
    def held_back_pct(self) -> float | None:
        """Mean absolute error (%) of IOPS/W at depths the laws never saw."""
        errors = [abs(one.error_pct) for one in self.held_back]
        return sum(errors) / len(errors) if errors else None


def fit(points: Sequence[Point], weights: Weights = "relative") -> Laws:
    """Fit every law the points allow; ValueError where not even Amdahl's has an asymptote.

    Two points give Eqs. 4 and 5 of Issa and Kassem; more give least squares, in which repeats of a depth weigh as many
    times as there are.
    """
    loaded = [one for one in points if one.queue_depth > 0]
    q, x = [one.queue_depth for one in loaded], [one.iops for one in loaded]
    two = len(loaded) == 2
    law = amdahl.two_point(q, x) if two else amdahl.least_squares(q, x, weights)
    scaling = usl.fit(q, x, weights) if len(set(q)) > 2 else None
    measured = [(one.queue_depth, one.iops, one.watts) for one in points if one.watts is not None]
    if len({depth for depth, _, _ in measured}) < 2:
        return Laws(law, two, scaling, None)
    depths, watts = [depth for depth, _, _ in measured], [w for _, _, w in measured]
    drawn = power.fit(depths, watts, law)
    held = power.held_back(depths, [rate for _, rate, _ in measured], watts, weights)
    return Laws(law, two, scaling, drawn, tuple(held))
