"""What block load achieved: IOPS, MB/s, latency by operation, processor time, and Little's law as an audit of them.

IOPS and latency are those of Issa and Kassem (table 3); the audit is N = X·R (Little 1961), which three of their eight
rows fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iojoule.metrics.little import audit

from .cell import Cell
from .latency import ORIGINS, Ints, codes, column, percentiles, succeeded
from .metric import Metric, Span
from .rates import concurrency, was_issued
from .uncertainty import noise_of_mean

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]

COLUMNS = ("planned_ns", "issued_ns", "done_ns", "bytes", "error", "phase", "op")
"""The columns of `requests` that this room reads of a block run; it has no first byte."""
OPS = ("read", "write", "trim", "flush")
LITTLE_TOLERANCE_PCT = 3.0
SLICES = (10, 60)
"""Least and most slices of the phase whose rates show how much the rate scatters."""


def block_metrics(rows: pa.Table, span: Span | None, cell: Cell, manifest: Mapping[str, Any]) -> list[Metric]:
    """Rates, latency by operation, processor time and the audit. `rows` are those of the phase, with COLUMNS.

    Flushes are no I/O: they are counted and timed under their own scope and are in no total.
    """
    fine, op = succeeded(rows), codes(rows["op"], OPS)
    found = list(_latencies(rows, fine, op))
    if span is not None and span.seconds > 0:
        found = [*_rates(rows, span, fine, op), *found, *_little(rows, span, cell, op)]
    return [*found, *_processor(manifest)]


def _rates(rows: pa.Table, span: Span, fine: Mask, op: Codes) -> Iterator[Metric]:
    issued = was_issued(rows)
    at = np.array([span.start_ns, span.end_ns], dtype=np.int64)
    done = column(rows, "done_ns")
    size = rows["bytes"].to_numpy()
    transfers = fine & (op != OPS.index("flush"))
    yield Metric("duration", span.seconds, "s")
    begun = column(rows, "issued_ns")
    yield from _rate("", transfers, begun, size, span)
    present = [code for code in range(len(OPS)) if (op == code).any()]
    if len(present) > 1:
        for code in present:
            yield from _rate(OPS[code], fine & (op == code), begun, size, span)
    mean, most = concurrency(_of(begun, issued), _of(done, issued), at)
    yield Metric("concurrency_mean", float(mean[0]), "1")
    yield Metric("concurrency_max", float(most[0]), "1")


def _rate(scope: str, keep: Mask, begun: Ints, size: npt.NDArray[Any], span: Span) -> Iterator[Metric]:
    """IOPS and MB/s. The count is exact; the scatter of the rate over the phase says how well its mean is known.

    Sliced by when requests were issued: all of the phase were issued in it, some are done after it.
    """
    count = int(np.count_nonzero(keep))
    megabytes = float(np.sum(size, where=keep, dtype=np.float64)) / 1e6
    rate, throughput = count / span.seconds, megabytes / span.seconds
    slices = int(np.clip(span.seconds, *SLICES))
    u = None
    if count >= 2 * SLICES[0]:
        edges = np.linspace(span.start_ns, span.end_ns, slices + 1).astype(np.int64)
        u = noise_of_mean(_counts(_of(begun, keep), edges) * slices / span.seconds)
    budget = {} if u is None else {"rate": u}
    yield Metric("iops", rate, "1/s", scope, u, budget=budget, note="transfers that succeeded")
    share = throughput / rate if rate else 0.0
    yield Metric(
        "throughput", throughput, "MB/s", scope, None if u is None else u * share,
        budget={name: part * share for name, part in budget.items()},
    )  # fmt: skip


def _counts(instants: Ints, edges: Ints) -> Ints:
    """Events between neighbouring edges. The edges are few: comparing takes neither a sort nor a copy."""
    below = [int(np.count_nonzero(instants < edge)) for edge in edges]
    return np.asarray(np.diff(below), dtype=np.int64)


def _of(values: Ints, keep: Mask) -> Ints:
    """The kept values; the array itself where all are kept, since a column of a long run is worth not copying."""
    return values if keep.all() else values[keep]


def _latencies(rows: pa.Table, fine: Mask, op: Codes) -> Iterator[Metric]:
    """Completion by operation where there are several; of all together in any case."""
    done = column(rows, "done_ns")
    present = [code for code in range(len(OPS)) if (op == code).any()]
    transfers = fine & (op != OPS.index("flush"))
    failed = len(fine) - int(np.count_nonzero(fine))
    note = f"{failed} failed requests are not in it" if failed else ""
    groups = [("", transfers)]
    if len(present) > 1:
        groups += [(OPS[code], fine & (op == code)) for code in present]
    for origin, name in ORIGINS.items():
        begin = column(rows, name)
        for scope, keep in groups:
            took = (_of(done, keep) - _of(begin, keep)) / 1e6
            for measure, value in percentiles(took).items():
                yield Metric(f"completion_from_{origin}_{measure}", value, "ms", scope, note=note)


def _little(rows: pa.Table, span: Span, cell: Cell, op: Codes) -> Iterator[Metric]:
    """N = X·R of everything issued: what failed was in flight too. Only a closed loop promises a depth."""
    keep = was_issued(rows)
    count = int(np.count_nonzero(keep))
    if cell.outstanding is None or not count:
        return
    response_ms = float(np.mean(_of(column(rows, "done_ns"), keep) - _of(column(rows, "issued_ns"), keep))) / 1e6
    said = audit(count / span.seconds, response_ms, cell.outstanding, LITTLE_TOLERANCE_PCT)
    verdict = "holds" if said.holds else f"beyond the tolerance of {LITTLE_TOLERANCE_PCT:g} %"
    yield Metric("little_outstanding", said.outstanding, "1", note=f"X·R; {cell.outstanding} were kept in flight")
    yield Metric("little_deviation", said.deviation_pct, "%", note=verdict)


def _processor(manifest: Mapping[str, Any]) -> Iterator[Metric]:
    """100 % is one processor for the engine and its writer, all processors for the host (the CPU % of the tables)."""
    engine = manifest.get("engine") or {}
    wall = (int(engine.get("end_ns") or 0) - int(engine.get("epoch_ns") or 0)) / 1e9
    whole = "one processor is 100 %; over warm-up and measure"
    if wall > 0:
        for name, key in (("cpu_engine", "cpu_s"), ("cpu_writer", "writer_cpu_s")):
            if engine.get(key) is not None:
                yield Metric(name, 100 * float(engine[key]) / wall, "%", note=whole)
    requests = int(engine.get("requests") or 0)
    if requests and engine.get("cpu_s") is not None:
        spent = float(engine["cpu_s"]) * 1e6
        yield Metric("cpu_per_io", spent / requests, "µs", note="of the engine threads; the writer is not in it")
    host = manifest.get("processor") or {}
    if host.get("all_s"):
        share = 100 * float(host["busy_s"]) / float(host["all_s"])
        yield Metric("cpu_system", share, "%", note="all processors are 100 %; the whole host while measuring")
