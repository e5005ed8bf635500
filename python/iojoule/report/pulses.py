"""When each meter saw a load of known times: the lag of its power behind what was submitted, and whether that is right.

The windows of readings are on the host's clock already, so the lag should be nothing within its uncertainty.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from iojoule.metrics.channels import channels, series
from iojoule.metrics.metric import MODELLED, Finding
from iojoule.metrics.pulse import NoPulse, disagreement, lag

from .data import RunData

Floats = npt.NDArray[np.float64]

SEARCH_S = 4.0
U_LOAD_S = 0.03
"""How far the power may come after what was submitted, as a standard uncertainty: caches, supplies, bins."""


def seen(run: RunData, edges: Floats, activity: Floats, began_ns: int) -> list[dict[str, Any]]:
    """When each channel of power saw the load, after it was submitted; ``edges`` are seconds after ``began_ns``."""
    rows = []
    for name, one in series(run.readings(), channels(run.meters)).items():
        start, end = one.seconds(began_ns)
        near = (end > edges[0] - SEARCH_S) & (start < edges[-1] + SEARCH_S)
        row: dict[str, Any] = {"channel": name, "offset_s": None, "u_s": None, "u_map_s": one.u_time_s, "ok": False}
        rows.append(row)
        watts = one.watts().copy()
        watts[one.bad] = math.nan
        try:
            found = lag(edges, activity, start[near], end[near], watts[near], -SEARCH_S, SEARCH_S)
        except NoPulse as error:
            row["note"] = f"cannot be aligned: {error}"
            continue
        row["correlation"] = found.correlation
        if not found.found:
            row["note"] = (
                f"its power does not follow the load (correlation {found.correlation:.2f}); is it on that disk?"
            )
            continue
        u_s = math.hypot(found.u, U_LOAD_S)
        apart = disagreement(found.seconds, u_s, 0.0, one.u_time_s)
        row |= {"offset_s": found.seconds, "u_s": u_s, "apart": apart, "ok": apart <= 2}
        row["note"] = f"correlation {found.correlation:.3f}" + ("" if apart <= 2 else _off(found.seconds))
    return rows


def _off(seconds: float) -> str:
    side = "later" if seconds > 0 else "earlier"
    return f"; OFF: it sees the load {side} than its clock and latency say, by more than twice the uncertainty"


def pulses(run: RunData) -> list[Finding]:
    """What the pulses at both ends of a run say against its meters. A model of power has no clock to be wrong."""
    modelled = {one.name for one in channels(run.meters) if one.boundary == MODELLED}
    found = []
    for event in run.events:
        if event.get("event") != "sync_pulse":
            continue
        activity = np.array(event["activity"], dtype=np.float64)
        edges = np.arange(len(activity) + 1, dtype=np.float64) * float(event["bin_s"])
        for row in seen(run, edges, activity, int(event["began_ns"])):
            if row["ok"] or row["channel"] in modelled:
                continue
            what = row["note"]
            if row["offset_s"] is not None:
                u_s = 2 * math.hypot(row["u_s"], row["u_map_s"])
                what = f"its power comes {row['offset_s']:+.3f} ± {u_s:.3f} s after it, and should come with it"
            found.append(Finding("warning", f"sync pulse at the {event['edge']}: {row['channel']}: {what}"))
    return found
