"""A made instrument on a real line, a meter's process that reads it, and what came from it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from iojoule.meters import parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.supervisor import MeterSet


class Held:
    """A load that draws what it is told to, from the beginning of time."""

    def __init__(self, watts: float = 18.0, volts: float = 230.0) -> None:
        self.now_w, self.now_v = watts, volts

    def watts(self, at_ns: int) -> float:
        return self.now_w

    def joules(self, start_ns: int, end_ns: int) -> float:
        return self.now_w * (end_ns - start_ns) * 1e-9

    def volts(self, at_ns: int) -> float:
        return self.now_v


class Plugged:
    """Plugs a front in and out, at the same address."""

    def __init__(self, front: Any) -> None:
        self.front, self._line, self.port = front, contextlib.ExitStack(), 0

    def plug(self) -> None:
        address = self._line.enter_context(self.front.served(self.port))
        port = address.rpartition(":")[2]
        self.port = int(port) if port.isdigit() else 0

    def unplug(self) -> None:
        self._line.close()


@contextmanager
def plugged_in(front: Any) -> Iterator[Plugged]:
    line = Plugged(front)
    line.plug()
    try:
        yield line
    finally:
        line.unplug()


class Watched:
    """A meter set on one front."""

    def __init__(self, front: Any, raw: Path | None = None, channel: str = "power", **keys: object) -> None:
        self.power: list[Reading] = []
        self.all: list[Reading] = []
        self.events: list[tuple[str, str]] = []
        #: How many readings of power had come when the meter was lost, for each time.
        self.lost_after: list[int] = []
        self.news = threading.Condition()
        self._channel = channel
        section = {"name": "wall", **front.section(), **keys}
        self.meters = MeterSet([parse_meter(section)], raw, self._take, self._event)

    def _take(self, meter: str, readings: list[Reading]) -> None:
        with self.news:
            self.all += readings
            self.power += [reading for reading in readings if reading.channel == self._channel]
            self.news.notify_all()

    def _event(self, meter: str, kind: str, text: str) -> None:
        with self.news:
            self.events.append((kind, text))
            if kind == "lost":
                self.lost_after.append(len(self.power))
            self.news.notify_all()

    def more(self, count: int = 3) -> list[Reading]:
        """The next readings of power."""
        have = len(self.power)
        self.until(lambda: len(self.power) >= have + count)
        return self.power[have:]

    def until(self, seen: Callable[[], bool]) -> None:
        with self.news:
            assert self.news.wait_for(seen, 60), self.events

    def lost_and_back(self, times: int = 1) -> str:
        """Why the meter was lost; returns when it is back, for the n-th time."""
        self.until(lambda: [kind for kind, _ in self.events] == ["lost", "back"] * times)
        return self.events[-2][1]


@contextmanager
def watched(front: Any, raw: Path | None = None, **keys: object) -> Iterator[Watched]:
    seen = Watched(front, raw, **keys)
    with seen.meters:
        missing = seen.meters.wait_first_good(60)
        assert missing == {}
        yield seen


def check_gap(seen: Watched, apart_ns: int = 50_000_000) -> None:
    """A gap after each loss, the numbers go on, and nothing was invented: windows do not pile up.

    Of three that follow each other: on a busy machine one may be late and the next on time, but none is made up for.
    """
    assert [reading.seq for reading in seen.power] == list(range(len(seen.power)))
    assert seen.lost_after and min(seen.lost_after) > 0
    assert all("gap_before" in seen.power[count].quality for count in seen.lost_after)
    ends = [reading.end_ns for reading in seen.power]
    assert all(a < b for a, b in pairwise(ends)), ends
    apart = [b - a for a, b in zip(ends, ends[2:], strict=False)]
    assert all(each > apart_ns for each in apart), apart
