"""Pulses of a known load at both ends of a measured step, while its meters run: ``sync_pulse = true``.

A disk is read, never written; where there is none to be read, a processor is kept busy. What was submitted when is
an event of the run, and the report says when each meter saw it (``report.pulses``).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from iojoule.experiment.known_load import BIN_S, Load, Submitted, computing, drive, pattern_s, reading
from iojoule.targets.base import Running
from iojoule.targets.storage import Storage

SCALE = 1.5
TICK_S = 0.1


def both_s(wanted: bool) -> float:
    """Seconds that the pulses of a step take."""
    return 2 * pattern_s(SCALE) if wanted else 0.0


def pulse(target: Running | Storage, tick: Callable[[], None]) -> Submitted:
    """Drive the pattern on ``target``; ``tick`` is called ten times a second. HostError where it cannot be read."""
    due = time.monotonic()

    def seldom() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + TICK_S
            tick()

    return drive(_on(target), SCALE, seldom)


def _on(target: Running | Storage) -> Load:
    return reading(target.paths[0]) if isinstance(target, Storage) and target.paths else computing()


def document(load: Submitted, edge: Literal["begin", "end"]) -> dict[str, Any]:
    """What the event of a pulse says."""
    _, activity = load.activity()
    return {
        "edge": edge, "how": load.how, "began_ns": load.began_ns, "bin_s": BIN_S,
        "activity": [round(float(one), 3) for one in activity],
    }  # fmt: skip
