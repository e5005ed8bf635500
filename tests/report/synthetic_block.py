"""Campaigns of block load as the runner writes them: a sweep over pattern, read or write, block size and queue depth.

The rate follows 1/X = a + b/Q, the power idle + ΔP·X/X_max, so that what the report fits is known.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

S = 1_000_000_000
START = 86_000 * S
IDLE_S, MEASURE_S = 4, 6
DEPTHS = (1, 2, 4, 8, 16, 32)
SYSTEMS = {"atom": (29.0, 5.0, 1.0), "xeon": (146.0, 14.0, 0.97)}
"""Idle watts, ΔP and speed of each system."""
LAWS = {
    ("random", 0, 4096): (2.26, 8.2), ("random", 100, 4096): (2.0, 6.0),
    ("random", 0, 32768): (2.6, 9.4), ("random", 100, 32768): (2.4, 7.2),
    ("sequential", 0, 4096): (0.20, 0.3), ("sequential", 100, 4096): (0.21, 0.4),
    ("sequential", 0, 32768): (0.26, 0.5), ("sequential", 100, 32768): (0.27, 0.6),
}  # fmt: skip
"""a and b in ms by pattern, per cent written and size."""


def rate(key: tuple[str, int, int], depth: int, speed: float = 1.0) -> float:
    a, b = LAWS[key]
    return speed * 1000 / (a + b / depth)


def requests(key: tuple[str, int, int], depth: int, speed: float, rng: np.random.Generator, lost: float) -> pa.Table:
    """`depth` slots, each with one request after the other; a share `lost` of each slot's time stands empty."""
    mean_s = depth / rate(key, depth, speed)
    each = int(1.3 * (MEASURE_S + 2) / mean_s) + 4
    took = rng.gamma(16, mean_s / 16, (depth, each))
    gap = took * lost
    done = np.cumsum(took, axis=1) - rng.random((depth, 1)) * mean_s - mean_s
    issued = (done - took + gap).ravel()
    done = done.ravel()
    keep = (issued >= 0) & (issued < MEASURE_S)
    issued_ns = START + IDLE_S * S + (issued[keep] * S).astype(np.int64)
    done_ns = START + IDLE_S * S + (done[keep] * S).astype(np.int64)
    n = len(issued_ns)
    order = np.argsort(done_ns)
    columns = {
        "seq": pa.array(np.arange(n), pa.uint64()),
        "phase": pa.array(["measure"] * n).dictionary_encode(),
        "planned_ns": pa.array(issued_ns), "issued_ns": pa.array(issued_ns),
        "first_byte_ns": pa.array([None] * n, pa.int64()), "done_ns": pa.array(done_ns),
        "op": pa.array(["write" if key[1] else "read"] * n).dictionary_encode(),
        "object": pa.array(np.zeros(n), pa.uint32()), "offset": pa.array(np.zeros(n), pa.uint64()),
        "bytes": pa.array(np.full(n, key[2]), pa.uint64()), "status": pa.array(np.zeros(n), pa.uint16()),
        "error": pa.array([""] * n).dictionary_encode(), "stream": pa.array(np.zeros(n), pa.uint32()),
    }  # fmt: skip
    return pa.table(columns).take(pa.array(order))


def readings(watts: float, idle_w: float, boundary: str, rng: np.random.Generator) -> pa.Table:
    n = (IDLE_S + MEASURE_S + 1) * 5
    t = np.arange(n) / 5
    value = np.where((t >= IDLE_S) & (t < IDLE_S + MEASURE_S), watts, idle_w) + rng.normal(0, 0.05, n)
    start = START + (t * S).astype(np.int64)
    return pa.table(
        {
            "meter": ["m"] * n, "channel": ["system"] * n, "quantity": ["power"] * n, "unit": ["W"] * n,
            "seq": pa.array(np.arange(n), pa.uint64()), "start_ns": start, "end_ns": start + S // 5,
            "u_time_ns": pa.array(np.full(n, 1_000_000)), "value": value, "u_value": 0.001 * value,
            "quality": ["modelled" if boundary == "modelled" else ""] * n,
        }
    )  # fmt: skip


def steady_state(law_per_s: float, rng: np.random.Generator) -> dict[str, Any]:
    settling = 1 + 0.6 * np.exp(-np.arange(9) / 2) + rng.normal(0, 0.01, 9)
    rounds = [
        {"begin_ns": START + i * S, "end_ns": START + (i + 1) * S, "value": law_per_s * float(value),
         "phase": "warmup" if i < 7 else "measure", "slope": None, "excursion": None, "steady": i >= 6}
        for i, value in enumerate(settling)
    ]  # fmt: skip
    rule = {"metric": "iops", "round": 1.0, "window": 5, "slope": 10.0, "excursion": 20.0}
    return {"steady": True, "reason": "", "rule": rule, "unit": "IOPS", "reached_round": 7, "left_round": None,
            "rounds": rounds}  # fmt: skip


def write_run(
    folder: Path, index: int, target: str, key: tuple[str, int, int], depth: int, repeat: int, boundary: str,
    *, steady: bool = False, lost: float = 0.0, **more: Any,
) -> Path:  # fmt: skip
    rng = np.random.default_rng(1000 * index + repeat)
    pattern, write, size = key
    workload = f"sweep-{pattern}-{'write' if write else 'read'}-{size // 1024}KiB-q{depth}"
    path = folder / "runs" / f"{index:03d}_{target}_{workload}_r{repeat}"
    (path / "tables").mkdir(parents=True)
    idle_w, delta_w, speed = SYSTEMS[target]
    per_s = rate(key, depth, speed)
    watts = idle_w + delta_w * per_s * LAWS[key][0] / 1000 / speed
    pq.write_table(requests(key, depth, speed, rng, lost), path / "tables" / "requests.parquet")
    pq.write_table(readings(watts, idle_w, boundary, rng), path / "tables" / "readings.parquet")
    marks, at = [], START
    for phase, seconds in (("idle", IDLE_S), ("measure", MEASURE_S)):
        marks.append({"ns": at, "event": "phase", "phase": phase, "edge": "begin"})
        at += seconds * S
        marks.append({"ns": at, "event": "phase", "phase": phase, "edge": "end"})
    marks.append({"ns": at, "event": "stop", "status": "complete"})
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in marks), encoding="utf-8")
    engine = {
        "epoch_ns": START + IDLE_S * S, "end_ns": START + (IDLE_S + MEASURE_S) * S, "cpu_s": 0.02 + per_s * 1e-4,
        "writer_cpu_s": 0.01, "requests": int(per_s * MEASURE_S), "engine": "io_uring", "direct": True, "jobs": 1,
        "queue_depth": depth, "warnings": [],
    }  # fmt: skip
    if steady:
        engine["steady_state"] = steady_state(per_s, rng)
    parameters = {"pattern": pattern, "write": write, "block_size": size, "queue_depth": depth}
    channel = {"id": "system", "quantity": "power", "unit": "W", "kind": "window_mean", "drive": None, "contains": [],
               "boundary": boundary, "role": "system", "u_rel": 0.002, "u_abs": None}  # fmt: skip
    manifest = {
        "schema": 1, "kind": "run", "status": "complete", "exit": 0, "argv": ["iojoule", "run", "sweep.toml"],
        "seed": 1, "experiment": "perf-per-watt",
        "step": {"index": index, "target": target, "workload": workload, "repeat": repeat, "parameters": parameters},
        "target": {"kind": "loop", "name": target, "size_bytes": 1 << 30},
        "workload": {"kind": "block", "name": workload, "jobs": 1, "trim": 0.0, "direct": True, "rate": None,
                     **parameters},
        "meters": [{"name": "m", "driver": "synthetic", "identity": {}, "channels": [channel]}],
        "host": {"cpu": "Atom"}, "engine": engine | more, "processor": {"busy_s": 0.02 * MEASURE_S, "all_s": MEASURE_S},
        "files": {}, "limits": {"stretch": 1.002, "lateness_p99_ns": 5_000_000},
        "started_utc": "2026-01-01T12:00:00.000+00:00", "interval_s": None,
    }  # fmt: skip
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return path


def write_campaign(
    folder: Path, *, systems: tuple[str, ...] = ("atom", "xeon"), repeats: int = 2, boundary: str = "ac_wall",
    keys: tuple[tuple[str, int, int], ...] = tuple(LAWS), depths: tuple[int, ...] = DEPTHS, **more: Any,
) -> Path:  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiment.toml").write_text('name = "perf-per-watt"\n', encoding="utf-8")
    manifest = {
        "schema": 1, "kind": "campaign", "status": "complete", "exit": 0, "experiment": "perf-per-watt", "seed": 1,
        "description": "Performance per watt over queue depth", "started_utc": "2026-01-01T12:00:00.000+00:00",
        "argv": ["iojoule", "run", "sweep.toml"], "runs": [],
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    cells = itertools.product(range(1, repeats + 1), systems, keys, depths)
    for index, (repeat, system, key, depth) in enumerate(cells):
        write_run(folder, index, system, key, depth, repeat, boundary, **more)
    return folder
