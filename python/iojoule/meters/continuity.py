"""Numbers the readings of each channel and flags the time between two of them that no window covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iojoule.meters.base import Reading


class Continuity:
    """``after`` is where a process that died left off: channel → (last sequence number, end of its last window).

    ``kept`` says that what comes during an interruption is kept elsewhere and comes later: it alone is no gap.
    """

    def __init__(
        self, interval_s: float, after: Mapping[str, tuple[int, int]] | None = None, kept: bool = False
    ) -> None:
        self._interval_ns, self._kept = int(interval_s * 1e9), kept
        self._last = {channel: (int(seq), int(end_ns)) for channel, (seq, end_ns) in (after or {}).items()}
        self._broken = set() if kept else set(self._last)

    def interrupted(self) -> None:
        """The meter was lost: the next reading of each channel follows a gap, unless its window reaches back."""
        self._broken = set() if self._kept else set(self._last)

    def stamp(self, readings: Iterable[Reading]) -> list[Reading]:
        """The readings with their numbers, and ``gap_before`` where the one before ended too long ago."""
        return [self._stamp(reading) for reading in readings]

    def _stamp(self, reading: Reading) -> Reading:
        seq, end_ns = self._last.get(reading.channel, (-1, reading.start_ns))
        hole_ns = reading.start_ns - end_ns
        instant = reading.start_ns == reading.end_ns
        if instant and seq >= 0:
            hole_ns -= self._interval_ns  # instants are one interval apart
        # A window that was cut off by a loss is not covered; between two instants nothing can be cut off.
        cut = reading.channel in self._broken and reading.start_ns > end_ns and not instant
        gap = hole_ns > self._interval_ns // 2 or cut
        self._broken.discard(reading.channel)
        self._last[reading.channel] = (seq + 1, reading.end_ns)
        r = reading
        quality = r.quality | {"gap_before"} if gap else r.quality
        # Spelled out: this is done for every reading, and ``dataclasses.replace`` takes three times as long.
        return Reading(
            r.channel, r.quantity, r.unit, r.start_ns, r.end_ns, r.u_time_ns, r.value, r.u_value, quality, seq + 1
        )
