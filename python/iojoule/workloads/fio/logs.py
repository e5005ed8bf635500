"""fio's latency logs as our ``requests`` table.

A line is ``time ms, latency ns, direction, bytes, offset, priority``, written when the request completes. With
``log_alternate_epoch`` and clock 1 the time is ``CLOCK_MONOTONIC``. fio adds two times each cut to whole milliseconds
(libfio.c, ``set_epoch_time``; iolog.c, ``mtime_since_now``), so that the completion lies in ``[t, t + 2)`` ms: ``done``
is put in the middle, ``TIME_BOUND_NS`` to either side. The latency itself is exact, so ``issued = done - latency`` is
off by the same amount.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iojoule.store.schema import REQUESTS

TIME_BOUND_NS = 1_000_000
"""Half the width of what fio's log leaves open of a time."""

_COLUMNS = {
    "t_ms": pa.int64(),
    "latency_ns": pa.int64(),
    "direction": pa.int8(),
    "bytes": pa.uint64(),
    "offset": pa.uint64(),
    "priority": pa.string(),
}
_DIRECTIONS = ["read", "write", "trim", "flush"]
"""fio's ``enum fio_ddir``, in its order."""


def latency_logs(folder: Path, prefix: str) -> list[Path]:
    """The logs of submit-to-completion latency, one a job, in the order of the jobs."""
    found = {path: re.fullmatch(rf"{re.escape(prefix)}_lat\.(\d+)\.log", path.name) for path in folder.iterdir()}
    numbered = sorted((int(match[1]), path) for path, match in found.items() if match)
    return [path for _, path in numbered]


def write_requests(logs: Iterable[Path], table: Path) -> dict[str, Any]:
    """Write ``table`` from ``logs``; returns ``requests``, ``bytes`` and the span from first issue to last completion,
    ``begin_ns`` and ``end_ns`` (None without a request). Memory does not grow with the logs."""
    from iojoule._native import TableWriter

    writer = TableWriter(table, REQUESTS.empty_table())
    seq = size = 0
    begin_ns: int | None = None
    end_ns: int | None = None
    for stream, log in enumerate(logs):
        for batch in _batches(log):
            rows = _rows(batch, stream, seq)
            writer.write(rows)
            seq += rows.num_rows
            size += pc.sum(rows["bytes"]).as_py()
            first, last = pc.min(rows["issued_ns"]).as_py(), pc.max(rows["done_ns"]).as_py()
            begin_ns = first if begin_ns is None else min(begin_ns, first)
            end_ns = last if end_ns is None else max(end_ns, last)
    writer.close()
    return {"requests": seq, "bytes": size, "begin_ns": begin_ns, "end_ns": end_ns}


def _batches(log: Path) -> Iterator[pa.RecordBatch]:
    from pyarrow import csv

    if log.stat().st_size == 0:
        return
    yield from csv.open_csv(
        log,
        read_options=csv.ReadOptions(column_names=list(_COLUMNS), block_size=1 << 22, use_threads=False),
        convert_options=csv.ConvertOptions(column_types=_COLUMNS),
    )


def _rows(batch: pa.RecordBatch, stream: int, first_seq: int) -> pa.Table:
    n = batch.num_rows
    done = pc.add(pc.multiply(batch["t_ms"], 1_000_000), TIME_BOUND_NS)
    issued = pc.subtract(done, batch["latency_ns"])
    columns = {
        "seq": pa.array(range(first_seq, first_seq + n), pa.uint64()),
        "phase": _same("measure", n),
        "planned_ns": issued,
        "issued_ns": issued,
        "first_byte_ns": pa.nulls(n, pa.int64()),
        "done_ns": done,
        "op": pa.DictionaryArray.from_arrays(batch["direction"], pa.array(_DIRECTIONS)),
        "object": pa.repeat(pa.scalar(0, pa.uint32()), n),
        "offset": batch["offset"],
        "bytes": batch["bytes"],
        "status": pa.repeat(pa.scalar(0, pa.uint16()), n),
        "error": _same("", n),
        "stream": pa.repeat(pa.scalar(stream, pa.uint32()), n),
    }
    return pa.Table.from_arrays([columns[name] for name in REQUESTS.names], schema=REQUESTS)


def _same(value: str, n: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int8()), n), pa.array([value]))
