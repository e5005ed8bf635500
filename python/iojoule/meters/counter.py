"""Steps of an energy counter that runs modulo its width.

Counts are integers (nanojoules, or the counter's own unit), since a wrap of a 262 kJ register must not lose microjoules
to rounding. Two wraps between two looks cannot be told from one or none: hence the doubt beyond half a register.
"""

from __future__ import annotations

from dataclasses import dataclass

NEVER_WRAPS_J = 1e15
"""Joules no counter without a width reaches: one that becomes less was set back."""


def step(previous: int, current: int, modulus: int) -> tuple[int, bool]:
    """``(current - previous) mod modulus`` and whether the counter wrapped once on the way."""
    return (current - previous) % modulus, current < previous


def wrap_uncertain(gap_s: float, p_max_w: float, range_j: float) -> bool:
    """Whether a consumer of at most ``p_max_w`` could have used more than half of ``range_j`` during the gap."""
    return gap_s * p_max_w > range_j / 2


@dataclass(slots=True)
class EnergyCounter:
    """A counter of nanojoules, looked at from time to time. The first look is no consumption."""

    modulus_nj: int
    p_max_w: float
    _at_ns: int | None = None
    _count_nj: int = 0

    def look(self, at_ns: int, count_nj: int) -> tuple[int, float, tuple[str, ...]] | None:
        """``(since_ns, joules, flags)`` since the previous look; None at the first."""
        since_ns, previous = self._at_ns, self._count_nj
        self._at_ns, self._count_nj = at_ns, count_nj
        if since_ns is None:
            return None
        used_nj, wrapped = step(previous, count_nj, self.modulus_nj)
        seconds = (at_ns - since_ns) * 1e-9
        flags = ["wrapped"] if wrapped else []
        if wrap_uncertain(seconds, self.p_max_w, self.modulus_nj * 1e-9):
            flags.append("wrap_uncertain")
        elif wrapped and used_nj * 1e-9 > self.p_max_w * seconds:
            # More than the consumer can draw: the counter did not wrap, it was set back (driver reload, suspend).
            flags += ["wrap_uncertain", "invalid"]
        return since_ns, used_nj * 1e-9, tuple(flags)
