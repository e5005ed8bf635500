"""``results.parquet``: one row per point, a column per swept parameter and per figure. The same design gives the same
bytes, so wall time, which does not, stays in ``points.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iojoule.sim.design import Sweep

TIMES = ("response", "service", "queue")
FIGURES = ("mean", "std", "p50", "p90", "p95", "p99", "p999", "max")
SCHEMA_VERSION = 1


def figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A summary as one flat row of figures, the unit at the end of every name."""
    busy = [drive["busy"] for drive in summary["drives"]]
    row: dict[str, Any] = {
        key: summary[key]
        for key in ("requests", "simulated_s", "rate_per_s", "bytes", "sustained", "most_outstanding", "unanswered")
    }
    for time in TIMES:
        row |= {f"{time}_{name}_ms": summary[f"{time}_ms"][name] for name in FIGURES}
    for kind in ("reads", "writes"):
        row[kind] = summary[kind]["requests"]
        row |= {f"{kind}_response_{name}_ms": summary[kind]["response_ms"][name] for name in ("mean", "p95", "max")}
    row |= {key: summary[key] for key in ("left_out", "lost", "energy_j", "mean_w", "energy_reason", "spinups")}
    row |= {f"oracle_{key}": value for key, value in (summary.get("oracle") or {}).items()}
    row |= {
        "busy_mean": sum(busy) / len(busy),
        "busy_max": max(busy),
        "drives": len(busy),
        "commands": sum(drive["commands"] for drive in summary["drives"]),
        "capacity_bytes": summary["capacity_bytes"],
        "gear_changes": len(summary["gears"]),
    }
    for state in sorted({state for drive in summary["drives"] for state in drive["states_s"]}):
        row[f"state_{state}_s"] = sum(drive["states_s"].get(state, 0.0) for drive in summary["drives"])
    row |= {f"count_{name}": count for name, count in summary["counters"].items()}
    for time in ("latency", "completion"):
        if web := (summary.get("web") or {}).get(f"{time}_ms"):
            row |= {f"web_{time}_{name}_ms": web[name] for name in FIGURES}
    return row


def rows(sweep: Sweep, lines: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any]]:
    """One row per point: ``point``, its parameters, its figures; a point that has none is a row of nulls."""
    made: list[dict[str, Any]] = []
    for point, line in zip(sweep.points, lines, strict=True):
        row: dict[str, Any] = {"point": point.index, **point.parameters, "error": None}
        if line is not None:
            row["error"] = line.get("error")
            if "summary" in line:
                row |= figures(line["summary"])
        made.append(row)
    return made


def write_results(path: Path, sweep: Sweep, lines: Sequence[Mapping[str, Any] | None]) -> None:
    """Write the table in one step: a reader sees the old one or the new one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = rows(sweep, lines)
    names = list(dict.fromkeys(name for row in made for name in row))
    columns = {name: _column([row.get(name) for row in made]) for name in names}
    metadata = {"iojoule.schema_version": str(SCHEMA_VERSION), "iojoule.boundary": "modelled"}
    fresh = path.with_name(path.name + ".new")
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), fresh, compression="zstd")
    fresh.replace(path)


def _column(values: Sequence[Any]) -> Any:
    """Numbers as numbers; a parameter that is sometimes a number and sometimes a word as text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if len(kinds) > 1 or kinds & {list, dict}:
        return pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.array(values, pa.float64() if not kinds else None)
