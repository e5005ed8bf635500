"""How long a phase must be for what its meters can tell: ten windows, and long enough that a shift in time is small.

Windows that lie δ from where they are taken to be cost |P − P_neighbour|·δ of P·T, so that T ≥ (ΔP/P)·δ/target.
"""

from __future__ import annotations

WINDOWS = 10
"""Windows a phase should have at least."""
TARGET = 0.01
"""Share of the energy that alignment may cost, where nothing else is asked for."""


def alignment_s(step_share: float, shift_s: float, target: float = TARGET) -> float:
    """Seconds from which on a shift of `shift_s` costs at most `target` of the energy; `step_share` is ΔP/P."""
    if target <= 0:
        raise ValueError("no phase is so long that alignment costs nothing: the target must be above 0")
    return abs(step_share) * abs(shift_s) / target


def shortest_s(window_s: float, shift_s: float, step_share: float = 1.0, target: float = TARGET) -> float:
    """Least length of a phase for a meter of windows or intervals of `window_s`."""
    return max(WINDOWS * window_s, alignment_s(step_share, shift_s, target))
