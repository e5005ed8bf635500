"""Registers that are polled and give no edge: looks become windows of host time, as well as the looks allow.

A device shows a new mean every ``update_s``, ``latency_s`` after the window of that mean ended. A changed value, or a
changed stamp of the device's, tells the instant of an update to one look; updates come regularly, so that every instant
seen narrows the next one, and an update that shows the same value again is known from the time that passed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

TOLERANCE = 0.01
"""How far the time between two updates may be from what is said of it, as a share."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window of what a look saw; ``u_time_ns`` is the standard uncertainty of its ends.

    ``fresh``: the first look at this update. Otherwise the look saw an old update again: a stale repeat, no sample.
    """

    start_ns: int
    end_ns: int
    u_time_ns: int
    fresh: bool = True
    rest: Window | None = None
    """The stretch before this window in which the value before still held; only of ``apart``."""


class Polled:
    """Looks at the registers of one device that are updated together.

    ``u_latency_s`` is a standard uncertainty. What is shown may be anything that can be compared: one value, or a tuple
    of all the registers, which tells of more updates. Without a stamp, a value that lasts longer than an update can is
    a new update with the same value: the load was steady, or the register coarse. With a stamp the device itself says
    that nothing is new.

    While a value stays the same, the instant of its updates becomes less and less known. With ``apart`` no more is said
    of it than what is sure: its window ends at the earliest, and the rest comes with the next change, whose own window
    is then exactly one update long. Without, that one takes the rest in.
    """

    def __init__(
        self,
        update_s: float,
        latency_s: float = 0.0,
        u_latency_s: float = 0.0,
        tolerance: float = TOLERANCE,
        *,
        apart: bool = False,
    ) -> None:
        if update_s <= 0 or not 0 <= tolerance < 0.5:
            raise ValueError("an update takes more than 0 s, and is known to better than half of it")
        self._latency_ns, self._u_latency_ns = int(latency_s * 1e9), u_latency_s * 1e9
        self._shortest_ns = int(update_s * (1 - tolerance) * 1e9)
        self._longest_ns = max(1, math.ceil(update_s * (1 + tolerance) * 1e9))
        self._update_ns = int(update_s * 1e9)
        #: The update that is shown became visible between these two.
        self._from_ns = self._to_ns = 0
        self._shown: tuple[object, object] | None = None
        self._looked_ns = 0
        self._window: Window | None = None
        self._broken = True
        self._apart, self._steady = apart, False

    def lost(self) -> None:
        """The device was out of sight and may have started anew: nothing of its updates is known any more."""
        self._shown, self._broken, self._steady = None, True, False

    def look(self, before_ns: int, after_ns: int, value: object, stamp: object = None) -> Window | None:
        """The window of ``value``, seen at some instant between the two; None until the first update after a loss,
        whose window is the first that is known."""
        shown, known = (value, stamp), self._shown
        # Whatever else is known, what is shown now became visible within the last update.
        earliest_ns = before_ns - self._longest_ns
        looked_ns, self._looked_ns, self._shown = self._looked_ns, before_ns, shown
        # Between two looks closer than that no update can have come and gone.
        none_hidden = after_ns - looked_ns <= self._longest_ns
        if known is None:
            self._from_ns, self._to_ns = earliest_ns, after_ns
            return None
        if shown == known:
            passed = (before_ns - self._to_ns) // self._longest_ns  # updates that took place for sure
            if stamp is not None or passed < 1:
                return self._window and replace(self._window, fresh=False, rest=None)
            self._moved(passed, earliest_ns, after_ns)
            return self._new(contiguous=passed == 1 and none_hidden, steady=self._apart)
        # Between the look before and this one; the last of them, where there were several.
        earliest_ns = max(earliest_ns, looked_ns)
        passed = max(1, -((self._to_ns - earliest_ns) // self._longest_ns))
        contiguous = passed == 1 and none_hidden
        self._moved(passed, earliest_ns, after_ns)
        return self._new(contiguous)

    def _moved(self, updates: int, earliest_ns: int, latest_ns: int) -> None:
        """The shown update is at least ``updates`` later than the last one, and within these two."""
        # Equal values may hide more of them: what is shown may be as many later as there was time for.
        most = max(updates, (latest_ns - self._from_ns) // self._shortest_ns)
        from_ns = max(self._from_ns + updates * self._shortest_ns, earliest_ns)
        to_ns = min(self._to_ns + most * self._longest_ns, latest_ns)
        # Where the two contradict each other the device does not keep its time: what was seen counts.
        self._from_ns, self._to_ns = (from_ns, to_ns) if from_ns <= to_ns else (earliest_ns, latest_ns)

    def _new(self, contiguous: bool, steady: bool = False) -> Window:
        """The window of the update that is shown; ``steady``: up to the earliest it can be, its value surely held."""
        to_ns = self._from_ns if steady else self._to_ns
        end_ns = (self._from_ns + to_ns) // 2 - self._latency_ns
        start_ns, rest = end_ns - self._update_ns, None
        u_ns = math.ceil(math.hypot((to_ns - self._from_ns) / math.sqrt(12), self._u_latency_ns))
        if self._window is not None:
            last_ns = self._window.end_ns
            end_ns = max(end_ns, last_ns)
            start_ns = min(max(start_ns, last_ns), end_ns)
            # One update after the other leaves no time out and counts none twice.
            if contiguous and not self._broken:
                if self._steady and not steady and start_ns > last_ns:
                    rest = Window(last_ns, start_ns, u_ns)
                else:
                    start_ns = last_ns
        self._broken, self._steady = False, steady
        self._window = Window(start_ns, end_ns, u_ns, rest=rest)
        return self._window
