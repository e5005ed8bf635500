"""The host's two clocks beside each other, and whether the civil one was set while a run lasted.

Every time of a run is monotonic, so a step of UTC moves nothing in it; but who compares the run with other logs must
know of it. A clock that is disciplined runs at most 500 ppm off (adjtimex(2)): what goes beyond is a step.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

STEP_NS = 1_000_000
SLEW = 500e-6


@dataclass(frozen=True, slots=True)
class Pair:
    """The same instant as monotonic and UTC nanoseconds, known within ``± half_ns``."""

    monotonic_ns: int
    utc_ns: int
    half_ns: int

    @classmethod
    def now(cls) -> Pair:
        before = time.monotonic_ns()
        utc = time.time_ns()
        after = time.monotonic_ns()
        return cls((before + after) // 2, utc, (after - before) // 2)

    def plain(self) -> tuple[int, int]:
        """As it stands in a manifest."""
        return self.monotonic_ns, self.utc_ns


def step_s(before: Pair, after: Pair) -> float | None:
    """Seconds by which UTC was set between two looks; None where it ran on."""
    passed_ns = after.monotonic_ns - before.monotonic_ns
    moved_ns = (after.utc_ns - before.utc_ns) - passed_ns
    allowed_ns = STEP_NS + SLEW * passed_ns + before.half_ns + after.half_ns
    return moved_ns * 1e-9 if abs(moved_ns) > allowed_ns else None
