"""What is not known at the two ends of a phase, by the kind of the readings; derived in docs/uncertainty.md.

A window cut by an edge has a known mean; only how its joules are shared is not, and the windows on either side say
much of that. Either the phase goes on as it is inside (`interior`), or what lies outside goes on as it is there
(`envelope`): each rule is quoted with what it does not know, and the one that knows more is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from . import integrate
from .uncertainty import scatter, small_sample

Floats = npt.NDArray[np.float64]

GUARD = 2.0
"""Standard uncertainties of time by which a window must clear an edge to count as inside or outside: all of a
rectangular interval, 95 % of a normal one. A shift of the clock within it changes neither rule's value."""

BESIDE = 20
"""Windows next to a phase that tell how its surroundings scatter."""
NEXT = 3
"""Those of them that tell the power there."""
TENTH = 0.1
"""Share of what a phase without a window of its own holds that may already be in the window before or after it."""


@dataclass(frozen=True, slots=True)
class Level:
    """Power of a stretch: mean, standard uncertainty of it, and scatter of one window; the instrument's own gain and
    offset, which act on the phase and on its surroundings alike, are not in it."""

    mean_w: float
    u_w: float
    scatter_w: float = 0.0


@dataclass(frozen=True, slots=True)
class Ruled:
    """What one rule says: joules, and standard uncertainties of what it assumes at the ends and of a shift in time."""

    rule: str
    joules: float
    u_ends: float
    u_alignment: float = 0.0


@dataclass(frozen=True, slots=True)
class Edge:
    """The left end of a phase that begins at 0: windows neither wholly inside nor wholly outside, and their neighbours.

    `inner_s` and `outer_s` are the seconds of `joules` inside and outside the phase; `inside_w` is the power inside
    that the step is looked at with: of the first window wholly inside, else what the window at the other edge tells.
    """

    joules: float
    inner_s: float
    outer_s: float
    window_s: float
    beside: Level | None
    inside_w: float | None
    next_w: float | None
    """Of the nearest window wholly outside."""

    def u_outer(self) -> float:
        """Of the outer share, taken at the level beside it: white scatter over a part of a window, J."""
        if self.beside is None or self.outer_s <= 0:
            return 0.0
        return self.beside.scatter_w * math.sqrt(self.window_s * self.outer_s)

    def unexplained(self, inside_w: float | None) -> float:
        """Joules that neither level explains: what the windows hold beyond a step from one to the other at the edge."""
        if self.window_s <= 0 or inside_w is None:
            return 0.0
        outside_w = inside_w if self.beside is None else self.beside.mean_w
        return self.joules - outside_w * self.outer_s - inside_w * self.inner_s

    def own_j(self) -> float:
        """Joules inside if what is outside goes on as it is beside."""
        return self.joules - (0.0 if self.beside is None else self.beside.mean_w * self.outer_s)

    def quiet(self) -> bool:
        """Whether the nearest window outside, too, is at the level beside, but for a tenth of what this edge holds."""
        if self.beside is None or self.next_w is None:
            return self.beside is not None
        return abs(self.next_w - self.beside.mean_w) * self.window_s <= TENTH * abs(
            self.joules - self.beside.mean_w * (self.inner_s + self.outer_s)
        )

    def seen_from(self, other: Edge) -> Edge:
        """Of a phase without a window of its own: the power inside is what the window cut by the other edge leaves."""
        return replace(self, inside_w=other.own_j() / other.inner_s) if other.inner_s > 0 else self


def unknown_share(left_j: float, right_j: float) -> float:
    """Standard uncertainty, J, of joules at both ends of which none to all lie on the side where the rule puts all.

    Each share is rectangular over an interval of which the rule takes an end: mean square a²/3, mean a/2. What is
    missed at both ends adds up where it has one sign: u² = a²/3 + b²/3 + 2·(a/2)·(b/2). Where it has two, nothing says
    that what is missed at one end is missed at the other, so that it is not credited.
    """
    return math.sqrt(left_j * left_j / 3 + right_j * right_j / 3 + max(0.0, left_j * right_j) / 2)


def left_edge(start: Floats, end: Floats, watts: Floats, t1: float, guard: float, idle: Level | None) -> Edge:
    """The edge at 0 of the phase `[0, t1]`; the right one is that of the mirrored windows."""
    outside, inside = end <= -guard, (start >= guard) & (end <= t1 - guard)
    group = ~outside & (start < guard) & (end > -guard)
    length = (end - start)[group]
    window_s = float(length.max()) if len(length) else 0.0
    joules = float(watts[group] @ length)
    inner_s = float(start[inside][0]) if inside.any() else min(float(end[group].max(initial=0.0)), t1)
    outer_s = max(0.0, -float(start[group].min())) if len(length) else 0.0
    if inside.any() and len(length):
        joules *= (inner_s + outer_s) / float(length.sum())  # a meter's pauses between two windows
    return Edge(
        joules,
        inner_s,
        outer_s,
        window_s,
        _beside(watts[outside], idle, _between(watts)),
        float(watts[inside][0]) if inside.any() else None,
        float(watts[outside][-1]) if outside.any() else None,
    )


def _beside(watts: Floats, idle: Level | None, widest_w: float) -> Level | None:
    """The level next to a phase: idle power where the windows there agree with it, else theirs. Under NEXT windows tell
    no scatter: then it is taken to be `widest_w`."""
    if not len(watts):
        return None if idle is None else Level(idle.mean_w, idle.u_w, widest_w)
    # A step among the nearest is no noise about the course of the others, and yet the level is not known.
    nearest = watts[-NEXT:]
    spread = max(scatter(watts[-BESIDE:]), float(nearest.std(ddof=1))) if len(watts) >= NEXT else widest_w
    near = float(nearest.mean())
    u_near = spread / math.sqrt(min(NEXT, len(watts)))
    if idle is not None and abs(near - idle.mean_w) <= 3 * math.hypot(u_near, idle.u_w):
        return Level(idle.mean_w, idle.u_w, spread)
    return Level(near, u_near, spread)


def _between(watts: Floats) -> float:
    """Rectangular between the least and the greatest."""
    return float(np.ptp(watts)) / math.sqrt(12) if len(watts) else 0.0


def of_windows(start: Floats, end: Floats, watts: Floats, t1: float, u_t: float, idle: Level | None) -> list[Ruled]:
    """Both rules for windows of the phase `[0, t1]`, the better known first; none where neither can be used.

    A phase without a window of its own has an envelope only where its edges cut two windows, each of which is looked
    at with the power that the other tells; within a single window nothing tells what was outside.
    """
    guard = GUARD * u_t
    left = left_edge(start, end, watts, t1, guard, idle)
    right = left_edge((t1 - end)[::-1], (t1 - start)[::-1], watts[::-1], t1, guard, idle)
    touching = watts[(start < t1) & (end > 0)]
    found = []
    whole = integrate.interior(start, end, watts, 0.0, t1, guard)
    if whole is not None:
        inside = watts[(start >= guard) & (end <= t1 - guard)]
        # The course of the load counts here: the ends get the mean of the phase.
        few = len(inside) < 2
        spread = _between(touching) if few else float(inside.std(ddof=1)) * small_sample(len(inside))
        u_inner = [spread * math.sqrt(edge.window_s * edge.inner_s) for edge in (left, right)]
        missed = unknown_share(left.unexplained(whole.mean_w), right.unexplained(whole.mean_w))
        found.append(Ruled("interior", whole.energy_j, math.hypot(*u_inner, missed)))
    elif u_t > 0 or max(left.inner_s, right.inner_s) >= t1 or not (left.quiet() and right.quiet()):
        return []
    else:
        left, right = left.seen_from(right), right.seen_from(left)
    both = (left, right)
    if all(edge.beside is not None or edge.outer_s <= 0 for edge in both):
        outer_w = [0.0 if edge.beside is None else edge.beside.mean_w for edge in both]
        joules = integrate.envelope(start, end, watts, 0.0, t1, guard, outer_w[0])
        if joules is not None:
            joules += (outer_w[0] - outer_w[1]) * right.outer_s
            missed = unknown_share(*(edge.unexplained(edge.inside_w) for edge in both))
            # Idle power is one figure, taken off at both ends.
            u_level = sum(edge.beside.u_w * edge.outer_s for edge in both if edge.beside is not None)
            u_ends = math.hypot(*(edge.u_outer() for edge in both), missed, u_level)
            found.append(Ruled("envelope", joules, u_ends, _jitter(start, end, watts, t1, guard, u_t)))
    return sorted(found, key=lambda ruled: math.hypot(ruled.u_ends, ruled.u_alignment))


def _jitter(start: Floats, end: Floats, watts: Floats, t1: float, guard: float, u_t: float) -> float:
    """What windows whose stamps scatter one by one cost an envelope, J: half the step across each window times that.

    A shift that all windows share costs nothing; what they do not share shows in the holes and overlaps between them.
    """
    near = (start < t1 + guard) & (end > -guard)
    pause = start[near][1:] - end[near][:-1]
    if len(pause) < NEXT:
        return 0.0
    own = min(u_t, float(pause.std(ddof=1)) / math.sqrt(2))
    across = np.diff(watts[near])[1:] + np.diff(watts[near])[:-1]
    return own * float(np.linalg.norm(across)) / 2


def of_steps(start: Floats, end: Floats, watts: Floats, t1: float) -> float:
    """Of counter steps interpolated at the ends, J: one interval times the power spread around the cut steps.

    Steps are means, and a burst within one shows little of its power there: where the power beside a cut step tells of
    another share than the straight line, the truth lies between the two, and the line is an end of that interval.
    """
    cuts = {int(cut): at == 0.0 for at in (t1, 0.0) for cut in np.flatnonzero((start < at) & (end > at))}
    spreads = [float(np.ptp(watts[max(0, cut - 1) : cut + 2])) * float(end[cut] - start[cut]) for cut in cuts]
    # A burst is missed at both ends alike.
    missed = sum(_beside_the_line(start, end, watts, t1, cut, left) for cut, left in cuts.items())
    return max(max(spreads, default=0.0) / math.sqrt(12), missed / math.sqrt(3))


def _beside_the_line(start: Floats, end: Floats, watts: Floats, t1: float, cut: int, left: bool) -> float:
    """How far the share of a cut step is from that of its time, as the steps beside it tell; J, the greater."""
    inner_s = float(min(end[cut], t1) - max(start[cut], 0.0))
    outer_s = float(end[cut] - start[cut]) - inner_s
    both = start[cut] < 0.0 and end[cut] > t1
    outside = [i for i in ((cut - 1, cut + 1) if both else (cut - 1 if left else cut + 1,)) if 0 <= i < len(watts)]
    inside = cut + 1 if left else cut - 1
    found = [0.0]
    if outside:
        found.append(abs(float(watts[cut]) - float(np.mean(watts[outside]))) * outer_s)
    if not both and 0 <= inside < len(watts) and start[inside] >= 0.0 and end[inside] <= t1:
        found.append(abs(float(watts[cut]) - float(watts[inside])) * inner_s)
    return max(found)


def of_samples(times: Floats, watts: Floats, t1: float) -> float:
    """Of straight lines between instants, J: the power went from one sample to the next at an unknown instant."""
    between = (times[1:] > 0.0) & (times[:-1] < t1)
    return float(np.linalg.norm(np.diff(times)[between] * np.diff(watts)[between])) / math.sqrt(12)


def step_at_the_ends(start: Floats, end: Floats, watts: Floats, t1: float) -> float:
    """ΔP of a shift in time, W: the greater step of the power from next to the phase to inside it.

    One clock shifts both ends alike: what is lost at one is another power at the other, so the steps do not add up.
    """
    inside = watts[(start >= 0) & (end <= t1)]
    if not len(inside):
        inside = watts[(start < t1) & (end > 0)]
    before, after = watts[end <= 0][-NEXT:], watts[start >= t1][:NEXT]
    steps = [
        abs(float(own.mean()) - float(other.mean()))
        for own, other in ((inside[:NEXT], before), (inside[-NEXT:], after))
        if len(own) and len(other)
    ]
    return max(steps, default=0.0)
