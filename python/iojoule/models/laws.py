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
    """One measurement: depth, completions per second, and what else was measured there. Depth 0 is idle: watts only.

    ``iops`` is 0 where only watts were measured.
    """

    queue_depth: float
    iops: float
    watts: float | None = None
    latency_ms: float | None = None

    @property
    def loaded(self) -> bool:
        """Whether it is a point of the law of the rate."""
        return self.queue_depth > 0 and (self.iops != 0 or self.watts is None)


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
    loaded = [one for one in points if one.loaded]
    q, x = [one.queue_depth for one in loaded], [one.iops for one in loaded]
    two = len(loaded) == 2
    law = amdahl.two_point(q, x) if two else amdahl.least_squares(q, x, weights)
    scaling = usl.fit(q, x, weights) if len(set(q)) > 2 else None
    drawing = [(one.queue_depth, one.watts) for one in points if one.watts is not None]
    if len({depth for depth, _ in drawing}) < 2:
        return Laws(law, two, scaling, None)
    drawn = power.fit([depth for depth, _ in drawing], [watts for _, watts in drawing], law)
    rows = [one for one in points if one.loaded or one.queue_depth == 0]
    rates = [(one.queue_depth, one.iops, one.watts) for one in rows if one.watts is not None]
    held = power.held_back([q for q, _, _ in rates], [x for _, x, _ in rates], [w for _, _, w in rates], weights)
    return Laws(law, two, scaling, drawn, tuple(held))
