"""`tables/intervals.parquet`: one row per second of a run. Derived like the page, from requests and readings alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from iojoule.metrics.metric import Span
from iojoule.metrics.power import add, power_over_time
from iojoule.metrics.rates import intervals_table
from iojoule.metrics.summary import channel_series

from .data import RunData
from .reduce import columns_of


def intervals_of(run: RunData) -> pa.Table | None:
    """Rate, bytes, p50/p99, in flight and watts of each second from the first phase to the last; None without any.

    `watts` is the first declared total (measured ones come before modelled ones); `boundary` says what it is of.
    """
    if not run.phases:
        return None
    requests = run.requests(columns_of(run))
    # The last answers come in after the last phase, which ends with the plan.
    ends = [span.end_ns for span in run.phases]
    if requests.num_rows:
        ends.append(pc.max(requests["done_ns"]).as_py() + 1)
    whole = Span("run", min(span.start_ns for span in run.phases), max(ends))
    series, totals = channel_series(run.readings(), run.meters)
    power = None
    if totals:
        scope, boundary, parts = totals[0]
        courses = [power_over_time(series[part.name], whole.start_ns, whole.end_ns, 1.0) for part in parts]
        power = add(scope, boundary, courses)
    table = intervals_table(requests, whole, power)
    start_ns = [whole.start_ns + round(t * 1e9) for t in table["t_s"].to_pylist()]
    boundary_of = [None if power is None else power.boundary] * len(table)
    return table.add_column(0, "start_ns", pa.array(start_ns, pa.int64())).append_column(
        "boundary", pa.array(boundary_of, pa.string())
    )


def write_intervals(run: RunData, folder: Path) -> None:
    """Write the table of one run, replacing an older one."""
    table = intervals_of(run)
    if table is not None:
        fresh = folder / "tables" / "intervals.parquet.new"
        pq.write_table(table, fresh)
        fresh.replace(folder / "tables" / "intervals.parquet")
