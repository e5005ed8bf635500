"""What is known of one meter's clock over a run: its probes, the fits its readings were stamped by, the last fit.

A driver stamps by what it knows at the time; later probes may say that it was wrong. How far the last fit moves earlier
stamps is compared with the uncertainty that was quoted for them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from iojoule.meters.base import ClockProbe
from iojoule.meters.clock import ClockMap


@dataclass
class _Connection:
    """Probes over one connection: a meter that was switched off may have begun another count."""

    since_ns: int
    map: ClockMap
    fits: list[tuple[int, ClockMap]] = field(default_factory=list)
    """The meter's time of each probe and the fit from then on."""

    def add(self, probe: ClockProbe) -> None:
        self.map.add(probe)
        self.fits.append((probe.meter_ns, copy.copy(self.map)))

    def moved(self) -> tuple[float, float]:
        """``(seconds, times u)``: the largest move of a stamp in terms of the uncertainty it was given."""
        worst = (0.0, 0.0)
        for (begin_ns, fit), (end_ns, _) in pairwise([*self.fits, *self.fits[-1:]]):
            for meter_ns in (begin_ns, end_ns):
                was_ns, u_ns = fit.host_ns(meter_ns)
                is_ns, _ = self.map.host_ns(meter_ns)
                times = abs(is_ns - was_ns) / max(u_ns, 1)
                if times > worst[1]:
                    worst = ((is_ns - was_ns) * 1e-9, times)
        return worst


class ClockHistory:
    """The probes of one meter over a run."""

    TOO_FAR = 2.0

    def __init__(self) -> None:
        self._connections: list[_Connection] = []

    def add(self, probe: ClockProbe, resolution_ns: int = 0, since_ns: int = 0) -> None:
        """Take a probe of the connection that was made at ``since_ns``."""
        if not self._connections or self._connections[-1].since_ns != since_ns:
            self._connections.append(_Connection(since_ns, ClockMap(resolution_ns)))
        self._connections[-1].add(probe)

    def describe(self) -> list[dict[str, Any]]:
        """For the manifest, one entry a connection: the last fit, and how far it moves what was stamped before."""
        entries = []
        for one in self._connections:
            moved_s, times = one.moved()
            entries.append({"since_ns": one.since_ns, **one.map.describe(), "moved_s": moved_s, "moved_u": times})
        return entries

    def warnings(self) -> list[str]:
        """What a reader of the run must know of this clock."""
        return [
            f"its clock did not run as was fitted: later probes move earlier readings by {moved_s * 1e3:+.3g} ms, "
            f"{times:.1f} times their uncertainty"
            for moved_s, times in (one.moved() for one in self._connections)
            if times > self.TOO_FAR
        ]
