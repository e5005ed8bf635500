"""What came from a device that is polled: updates and their repeats, and the faults every such device must bear."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from plugged import Held, Plugged, Watched

from iojoule.meters.base import Reading

LEAST_W, MOST_W = 109.0, 212.0
UPDATE_S = 0.3
KEYS: dict[str, object] = {"interval": "50ms", "timeout": "1s"}


def kinds(seen: Watched) -> list[str]:
    return [kind for kind, _ in seen.events]


def updates(seen: Watched) -> list[Reading]:
    """Measurements that are no repeats."""
    return [reading for reading in seen.power if reading.good and "stale" not in reading.quality]


def check(seen: Watched) -> None:
    """Every update once, none invented, none over another."""
    assert [reading.seq for reading in seen.power] == list(range(len(seen.power)))
    found = updates(seen)
    # The window in which the load changed holds both loads.
    assert all(LEAST_W <= reading.value <= MOST_W for reading in found)
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(found))
    # As long as the instant of an update is known to half of one, its window is half too long at most, and a look.
    assert all(b.end_ns - b.start_ns < (1.5 * UPDATE_S + 0.15) * 1e9 for b in found)


def bear(seen: Watched, truth: Held, line: Plugged, faults: Any, said: list[Any]) -> None:
    """One fault after the other, the load another after each; then the plug is pulled, and put back."""
    for one in said:
        backs = kinds(seen).count("back")
        faults.next.append(one)
        seen.until(lambda: kinds(seen)[-1:] == ["lost"] or kinds(seen).count("back") > backs)  # noqa: B023
        truth.now_w = LEAST_W + MOST_W - truth.now_w
        seen.until(lambda: kinds(seen).count("back") > backs)  # noqa: B023
        seen.until(lambda: seen.power[-1].value == truth.now_w)
        # What came late is not taken for the next.
        assert {reading.value for reading in seen.more(8)} == {truth.now_w}, one
    line.unplug()
    seen.until(lambda: kinds(seen)[-1] == "lost")
    time.sleep(0.5)
    before = len(seen.power)
    line.plug()
    seen.until(lambda: any("gap_before" in reading.quality for reading in seen.power[before:]))
    check(seen)
