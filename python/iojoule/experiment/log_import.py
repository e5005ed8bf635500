"""A log of power brought to the clock of a run that is over, and kept beside what the run recorded.

Stamps in UTC go through the clock pairs of the manifest; an offset of the log's clock is given, or found by the load
itself (``metrics.pulse``). What is not known of the alignment is part of every reading's ``u_time_ns``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iojoule.errors import ConfigError
from iojoule.meters.base import Channel, read
from iojoule.meters.log_table import Samples
from iojoule.metrics.pulse import LEAST_CORRELATION, Lag, NoPulse, lag
from iojoule.store.host_clock import Pair, step_s
from iojoule.store.reader import RunFolder
from iojoule.store.schema import READINGS

BIN_S = 0.05
"""Requests are counted in bins of this length to be held against the power."""
UNKNOWN_S = 1.0
"""Standard uncertainty of a clock that nobody has said anything of."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Host times of the log's windows, how that was found, and the standard uncertainty of it."""

    start_ns: list[int]
    end_ns: list[int]
    u_s: float
    how: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def align(
    run: RunFolder, log: Samples, *, offset_s: float | None, u_s: float | None, search_s: float | None
) -> Alignment:
    """The log on the run's clock: with ``offset_s`` (how far the log's clock is ahead), or by the load within
    ``search_s``. ConfigError where the load is not found in the log."""
    start, end, how, notes = on_host(run, log)
    if search_s is None:
        shift_s = offset_s or 0.0
        if u_s is None and offset_s is None and log.utc:
            notes += (f"nobody said how well the log's clock agrees with the host's: {UNKNOWN_S:g} s is taken",)
        u = UNKNOWN_S if u_s is None else u_s
        how |= {"by": "offset" if offset_s is not None else "UTC", "offset_s": shift_s, "u_s": u}
    else:
        found = by_the_load(run, start, end, log.value, search_s, (offset_s or 0.0))
        shift_s, u = found.seconds, found.u
        how |= {"by": "pulse", "offset_s": shift_s, "u_s": u, "correlation": found.correlation, "readings": found.n}
    moved = round(shift_s * 1e9)
    return Alignment([ns - moved for ns in start], [ns - moved for ns in end], u, how, notes)


def on_host(run: RunFolder, log: Samples) -> tuple[list[int], list[int], dict[str, Any], tuple[str, ...]]:
    """The windows on the monotonic clock, as if the log's clock were the host's; relative ones begin with the run."""
    pairs = [Pair(int(mono), int(utc), 0) for mono, utc in run.manifest["clock_pairs"]]
    if not log.utc:
        return (
            [ns + pairs[0].monotonic_ns for ns in log.start_ns],
            [ns + pairs[0].monotonic_ns for ns in log.end_ns],
            {"clock": "since the start of the run"},
            (),
        )
    pieces, steps = _pieces(pairs)
    notes: tuple[str, ...] = ()
    for step, at_utc_ns in steps:
        own = _jumped(log, step, at_utc_ns)
        whose = "so does the log: it was written by this clock" if own else "the log does not: its clock is another"
        notes += (f"the host's clock was set by {step:+.3f} s within the run; {whose}",)
        if not own:
            pieces = pieces[:1]
    how = {"clock": "UTC through the clock pairs of the run", "host_clock_steps_s": [step for step, _ in steps]}
    host = [[_mono(ns, pieces, turn) for turn, ns in enumerate(times)] for times in (log.start_ns, log.end_ns)]
    return host[0], host[1], how, notes


Piece = list[Pair]


def _pieces(pairs: Sequence[Pair]) -> tuple[list[Piece], list[tuple[float, int]]]:
    """The pairs between two steps of the host's clock, and the steps: seconds, and the UTC they left from."""
    pieces: list[Piece] = [[pairs[0]]]
    steps = []
    for before, after in pairwise(pairs):
        step = step_s(before, after)
        if step is not None:
            steps.append((step, before.utc_ns))
            pieces.append([])
        pieces[-1].append(after)
    return pieces, steps


def _jumped(log: Samples, step_s: float, at_utc_ns: int) -> bool:
    """Whether the log's own stamps jump as the host's clock did, within ten seconds of it."""
    allowed_s = max(0.5 * log.interval_s, 0.2 * abs(step_s))
    for a, b in pairwise(log.start_ns):
        jump_s = (b - a) * 1e-9 - log.interval_s
        near = min(abs(a - at_utc_ns), abs(b - at_utc_ns)) < 10 * 10**9
        if near and abs(jump_s - step_s) < allowed_s:
            return True
    return False


def _mono(utc_ns: int, pieces: Sequence[Piece], turn: int) -> int:
    """Host time of a UTC stamp: by the piece it lies in, between two pairs of it; beyond them as at the nearest."""
    within = [piece for piece in pieces if piece[0].utc_ns <= utc_ns <= piece[-1].utc_ns]
    piece = within[0] if within else min(pieces, key=lambda one: min(abs(pair.utc_ns - utc_ns) for pair in one))
    utc = [pair.utc_ns - piece[0].utc_ns for pair in piece]
    ahead = [float((pair.utc_ns - piece[0].utc_ns) - (pair.monotonic_ns - piece[0].monotonic_ns)) for pair in piece]
    since = utc_ns - piece[0].utc_ns
    return piece[0].monotonic_ns + since - round(float(np.interp(since, utc, ahead)))


def by_the_load(
    run: RunFolder,
    start_ns: Sequence[int],
    end_ns: Sequence[int],
    watts: Sequence[float],
    search_s: float,
    near_s: float,
) -> Lag:
    """How far the log's clock is ahead, within ``search_s`` of ``near_s``; ConfigError where it cannot be told."""
    edges, activity, origin_ns = activity_of(run)
    start, end = ((np.array(ns, dtype=np.float64) - origin_ns) * 1e-9 for ns in (start_ns, end_ns))
    try:
        found = lag(edges, activity, start, end, np.array(watts), near_s - search_s, near_s + search_s)
    except NoPulse as error:
        raise ConfigError(f"the log cannot be aligned by the load: {error}", key="--pulse") from error
    if found.correlation < LEAST_CORRELATION or not math.isfinite(found.u):
        raise ConfigError(
            f"the log does not follow the load: correlation {found.correlation:.2f} at best; is it of this run?",
            key="--pulse",
        )
    if found.rival_s is not None:
        raise ConfigError(
            f"the load fits the log at {found.seconds:+.3f} s and at {found.rival_s:+.3f} s; narrow it with --search, "
            "or give --offset",
            key="--pulse",
        )
    return found


def activity_of(run: RunFolder) -> tuple[Any, Any, int]:
    """Requests per second of the run in bins: edges in s after ``origin``, the rate, and the origin in host ns."""
    requests = run.requests(["issued_ns", "done_ns", "bytes"])
    if not requests.num_rows:
        raise ConfigError("the run has no requests that the log could be aligned by; give --offset", key="--pulse")
    done = requests["done_ns"].to_numpy().astype(np.int64)
    size = np.maximum(requests["bytes"].to_numpy().astype(np.float64), 1.0)
    origin = int(pc.min(requests["issued_ns"]).as_py()) - 10**9
    count = math.ceil((int(done.max()) + 10**9 - origin) * 1e-9 / BIN_S)
    edges = np.arange(count + 1) * BIN_S
    moved, _ = np.histogram((done - origin) * 1e-9, bins=edges, weights=size)
    return edges, moved / BIN_S, origin


def table(name: str, channel: Channel, log: Samples, aligned: Alignment) -> pa.Table:
    """The readings as a run keeps them."""
    rows = []
    for seq, (begin, end, open_ns, value, flags) in enumerate(
        zip(aligned.start_ns, aligned.end_ns, log.u_ns, log.value, log.flags, strict=True)
    ):
        u_ns = math.ceil(math.hypot(open_ns, aligned.u_s * 1e9))
        one = read(channel, begin, max(begin, end), u_ns, value, *flags)
        columns = {key: getattr(one, key) for key in READINGS.names if key not in ("meter", "quality", "seq")}
        rows.append({"meter": name, **columns, "seq": seq, "quality": one.flags})
    return pa.Table.from_pylist(rows, schema=READINGS)
