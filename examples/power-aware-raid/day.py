"""A web day as large as the thesis' (Oldham, 2005, section 5.4): 17,000 requests and 450 MB in 24 hours, six hours of
the evening before to warm the memory of the server and two of the night behind. The log never happened: `iojoule weblog
synth` draws it; of the day only the two sums are known, and its sizes are scaled by one factor to meet the second."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from iojoule import _native

SPEED = 8
HOURS_BEFORE, HOURS, HOURS_BEHIND = 6, 24, 2
REQUESTS, BYTES = 17_000, 450_000_000
SWING, PEAK = 0.7, 15.0


@dataclass(frozen=True)
class Day:
    """The prepared tables and what the day between its edges holds."""

    replay: Path
    requests: int
    bytes: int
    objects: int
    object_bytes: int
    factor: float


@dataclass(frozen=True)
class Window:
    """The day on the simulated clock."""

    start_ns: int
    end_ns: int


def window(scale: float = 1.0) -> Window:
    hour_ns = 3600e9 / SPEED * scale
    return Window(round(HOURS_BEFORE * hour_ns), round((HOURS_BEFORE + HOURS) * hour_ns))


def make(folder: Path, *, seed: int = 1, objects: int = 2000, scale: float = 1.0) -> Day:
    """Writes `day.parquet` and its objects into `folder`. `scale` shortens the day and its sums alike."""
    log, replay = folder / "day.log.gz", folder / "day.parquet"
    hours = (HOURS_BEFORE + HOURS + HOURS_BEHIND) * scale
    _call(
        _native.weblog_synth,
        output=str(log),
        seed=seed,
        requests=round(REQUESTS * scale * _share_of_a_day(18.0, hours) / _share_of_a_day(0.0, HOURS * scale)),
        duration_s=hours * 3600,
        start="2004-09-22T18:00:00",
        objects=objects,
        swing=SWING,
    )
    _call(_native.weblog_prepare, paths=[str(log)], output=str(replay), seed=seed, names="plain")
    return _scaled(replay, scale)


def _share_of_a_day(start: float, hours: float) -> float:
    """The integral of the synthesiser's rate, 1 + swing cos(2 pi (t - 15:00)/day), from `start` o'clock on."""
    angle = 2 * math.pi / 24
    return hours + SWING / angle * (math.sin(angle * (start + hours - PEAK)) - math.sin(angle * (start - PEAK)))


def _scaled(replay: Path, scale: float) -> Day:
    """Multiplies every size so that the day sends `BYTES`."""
    objects_file = replay.with_name("day.objects.parquet")
    rows, objects = pq.read_table(replay), pq.read_table(objects_file)
    hour_ns = 3600e9 * scale
    at = rows["planned_ns"]
    inside = pc.and_(
        pc.greater_equal(at, int(HOURS_BEFORE * hour_ns)), pc.less(at, int((HOURS_BEFORE + HOURS) * hour_ns))
    )
    sent = pc.sum(pc.filter(rows["size"], inside)).as_py()
    factor = BYTES * scale / sent
    rows = _times(rows, "size", factor)
    objects = _times(objects, "size", factor)
    pq.write_table(rows, replay)
    pq.write_table(objects, objects_file)
    return Day(
        replay,
        pc.sum(inside).as_py(),
        pc.sum(pc.filter(rows["size"], inside)).as_py(),
        len(objects),
        pc.sum(objects["size"]).as_py(),
        factor,
    )


def _times(table: pa.Table, column: str, factor: float) -> pa.Table:
    at = table.schema.get_field_index(column)
    scaled = pc.round(pc.multiply(pc.cast(table[column], pa.float64()), factor))
    return table.set_column(at, table.schema.field(at), pc.cast(scaled, table.schema.field(at).type))


def _call(verb: object, **options: object) -> None:
    assert callable(verb)
    verb(json.dumps(options))
