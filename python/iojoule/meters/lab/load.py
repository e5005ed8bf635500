"""The truth of the laboratory: what a drive or a machine draws over time, and its exact integral.

A load is a row of states, each with a power of its own (idle, active, spin-up), and noise that is constant over short
cells, so that the energy between any two instants is a sum, not an approximation. Volts droop with the current
through the resistance of the supply.
"""

from __future__ import annotations

import bisect
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


class Truth(Protocol):
    """Any load: times are host nanoseconds."""

    def watts(self, at_ns: int) -> float:
        """Power at an instant, W."""

    def joules(self, start_ns: int, end_ns: int) -> float:
        """Energy between two instants, J."""

    def volts(self, at_ns: int) -> float:
        """Voltage at the meter at an instant, V."""


@dataclass(frozen=True, slots=True)
class State:
    """``watts`` for ``seconds``."""

    watts: float
    seconds: float


class Load:
    """States one after the other from ``start_ns`` on; before the first and after the last, theirs goes on.

    ``noise_w`` is the standard deviation of cells of ``cell_s``; ``repeat`` starts the row again at its end.
    """

    def __init__(
        self,
        states: Sequence[State],
        start_ns: int,
        *,
        supply_v: float = 230.0,
        source_ohm: float = 0.0,
        noise_w: float = 0.0,
        cell_s: float = 0.01,
        seed: int = 0,
        repeat: bool = False,
    ) -> None:
        if not states or any(state.seconds <= 0 for state in states):
            raise ValueError("a load needs states, each longer than 0 s")
        self.states, self.start_ns, self.repeat = tuple(states), start_ns, repeat
        self.supply_v, self.source_ohm, self.noise_w, self.seed = supply_v, source_ohm, noise_w, seed
        self._cell_ns = max(1, int(cell_s * 1e9))
        self._edges_ns, self._joules = [0], [0.0]
        for state in states:
            self._edges_ns.append(self._edges_ns[-1] + int(state.seconds * 1e9))
            self._joules.append(self._joules[-1] + state.watts * (self._edges_ns[-1] - self._edges_ns[-2]) * 1e-9)
        self._blocks: dict[int, list[float]] = {}

    def watts(self, at_ns: int) -> float:
        return self.states[self._state(at_ns)].watts + self._noise(at_ns // self._cell_ns)

    def joules(self, start_ns: int, end_ns: int) -> float:
        return self._quiet(end_ns) - self._quiet(start_ns) + self._noisy(start_ns, end_ns)

    def mean_w(self, start_ns: int, end_ns: int) -> float:
        """Mean power over a window, W."""
        return self.joules(start_ns, end_ns) / ((end_ns - start_ns) * 1e-9)

    def volts(self, at_ns: int) -> float:
        # P = V·I and V = V0 − R·I, so V = (V0 + √(V0² − 4·R·P))/2.
        inside = self.supply_v**2 - 4 * self.source_ohm * self.watts(at_ns)
        if inside < 0:
            raise ValueError(f"the supply cannot give {self.watts(at_ns):g} W through {self.source_ohm:g} ohm")
        return (self.supply_v + math.sqrt(inside)) / 2

    def _state(self, at_ns: int) -> int:
        since = at_ns - self.start_ns
        if self.repeat and since > 0:
            since %= self._edges_ns[-1]
        return min(max(bisect.bisect_right(self._edges_ns, since) - 1, 0), len(self.states) - 1)

    def _quiet(self, at_ns: int) -> float:
        """Energy of the states since ``start_ns``, without noise."""
        since, whole = at_ns - self.start_ns, 0.0
        if self.repeat and since > 0:
            rounds, since = divmod(since, self._edges_ns[-1])
            whole = rounds * self._joules[-1]
        if since <= 0:
            return whole + self.states[0].watts * since * 1e-9
        if since >= self._edges_ns[-1]:
            return self._joules[-1] + self.states[-1].watts * (since - self._edges_ns[-1]) * 1e-9
        i = bisect.bisect_right(self._edges_ns, since) - 1
        return whole + self._joules[i] + self.states[i].watts * (since - self._edges_ns[i]) * 1e-9

    def _noise(self, cell: int) -> float:
        if not self.noise_w:
            return 0.0
        block, index = divmod(cell, 256)
        if block not in self._blocks:
            draw = random.Random(f"{self.seed}/{block}")
            self._blocks[block] = [draw.gauss(0.0, self.noise_w) for _ in range(256)]
        return self._blocks[block][index]

    def _noisy(self, start_ns: int, end_ns: int) -> float:
        if not self.noise_w or start_ns == end_ns:
            return 0.0
        if end_ns < start_ns:
            return -self._noisy(end_ns, start_ns)
        first, last = start_ns // self._cell_ns, (end_ns - 1) // self._cell_ns
        whole = sum(self._noise(cell) for cell in range(first, last + 1)) * self._cell_ns
        whole -= self._noise(first) * (start_ns - first * self._cell_ns)
        whole -= self._noise(last) * ((last + 1) * self._cell_ns - end_ns)
        return whole * 1e-9


class Driven:
    """A load that follows the measured I/O of a run: ``idle_w + active_w · utilisation`` of the last look.

    ``rate`` gives operations per second now, ``most`` the rate at full power. The truth is what was looked at: each
    value holds from its look to the next, so the integral is exact.
    """

    def __init__(
        self, rate: Callable[[], float], most: float, idle_w: float, active_w: float, supply_v: float = 230.0
    ) -> None:
        self._rate, self._most, self._idle_w, self._active_w = rate, most, idle_w, active_w
        self.supply_v = supply_v
        self._at_ns: list[int] = []
        self._watts: list[float] = []
        self._joules: list[float] = []

    def look(self, now_ns: int) -> None:
        """Take the rate at ``now_ns`` as what holds from now on; to be called at least as often as meters are read."""
        watts = self._idle_w + self._active_w * min(1.0, self._rate() / self._most)
        before = self._joules[-1] + self._watts[-1] * (now_ns - self._at_ns[-1]) * 1e-9 if self._at_ns else 0.0
        # The time last: who asks from another thread finds watts and joules for every time there is.
        self._watts.append(watts)
        self._joules.append(before)
        self._at_ns.append(now_ns)

    def watts(self, at_ns: int) -> float:
        i = bisect.bisect_right(self._at_ns, at_ns) - 1
        return self._watts[i] if i >= 0 else self._idle_w

    def joules(self, start_ns: int, end_ns: int) -> float:
        return self._until(end_ns) - self._until(start_ns)

    def volts(self, at_ns: int) -> float:
        return self.supply_v

    def _until(self, at_ns: int) -> float:
        i = bisect.bisect_right(self._at_ns, at_ns) - 1
        if i < 0:
            return self._idle_w * (at_ns - self._at_ns[0]) * 1e-9 if self._at_ns else 0.0
        return self._joules[i] + self._watts[i] * (at_ns - self._at_ns[i]) * 1e-9
