"""A campaign folder as the runner writes one: two targets, three repeats, a day and a night in two minutes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

S = 1_000_000_000
START = 86_000 * S
IDLE_S, WARMUP_S, MEASURE_S, COOLDOWN_S = 10, 5, 100, 5
IDLE_W = {"nginx": 18.0, "apache2": 18.0}
WATTS_PER_REQUEST = {"nginx": 0.02, "apache2": 0.026}
LATENCY_MS = {"nginx": 1.2, "apache2": 2.1}


def day(t: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Requests per second: night, morning rise, evening peak."""
    return 60 + 240 * np.sin(np.pi * np.clip(t, 0, MEASURE_S) / MEASURE_S) ** 2 + 40 * np.sin(t / 4) ** 2


def meters(modelled: bool) -> list[dict[str, Any]]:
    def channel(name: str, role: str, boundary: str, **more: Any) -> dict[str, Any]:
        base = {"id": name, "quantity": "power", "unit": "W", "kind": "window_mean", "drive": None, "contains": []}
        return base | {"boundary": boundary, "role": role, "u_rel": 0.00058, "u_abs": 0.009} | more

    model = [
        channel("system", "system", "modelled", contains=["disk.sda", "cpu"], u_rel=0.05, u_abs=None),
        channel("disk.sda", "drive", "modelled", drive="sda", u_rel=0.05, u_abs=None),
        channel("cpu", "cpu", "modelled", u_rel=0.05, u_abs=None),
    ]
    wall = [channel("p", "system", "ac_wall")]
    found = [{"name": "model", "driver": "utilisation", "identity": {}, "channels": model}]
    if not modelled:
        identity = {"model": "WT310E", "serial": "C2QJ12345", "firmware": "F1.01"}
        found.insert(0, {"name": "wall", "driver": "yokogawa_wt310", "identity": identity, "channels": wall})
    return found


def requests(target: str, repeat: int, rng: np.random.Generator) -> pa.Table:
    seconds = np.arange(-WARMUP_S, MEASURE_S + COOLDOWN_S)
    counts = rng.poisson(day(seconds))
    planned = np.sort(np.repeat(seconds, counts) + rng.random(counts.sum()))
    n = len(planned)
    late = rng.exponential(0.15e-3, n)
    first = rng.lognormal(np.log(LATENCY_MS[target] * (1 + 0.05 * repeat)), 0.5, n) / 1e3
    size = np.minimum(rng.lognormal(8.5, 1.3, n), 5e6).astype(np.uint64)
    body = size / 80e6 * rng.lognormal(0, 0.3, n)
    planned_ns = START + ((planned + IDLE_S + WARMUP_S) * S).astype(np.int64)
    issued_ns = planned_ns + (late * S).astype(np.int64)
    first_ns = issued_ns + (first * S).astype(np.int64)
    done_ns = first_ns + (body * S).astype(np.int64)
    failed = rng.random(n) < 0.001
    phase = np.where(planned < 0, "warmup", np.where(planned < MEASURE_S, "measure", "cooldown"))
    order = np.argsort(done_ns)
    columns = {
        "seq": pa.array(np.arange(n), pa.uint64()),
        "phase": pa.array(phase).dictionary_encode(),
        "planned_ns": pa.array(planned_ns),
        "issued_ns": pa.array(issued_ns),
        "first_byte_ns": pa.array(first_ns, mask=failed),
        "done_ns": pa.array(done_ns),
        "op": pa.array(np.full(n, "GET")).dictionary_encode(),
        "object": pa.array(rng.integers(0, 500, n), pa.uint32()),
        "offset": pa.array(np.zeros(n), pa.uint64()),
        "bytes": pa.array(np.where(failed, 0, size).astype(np.uint64)),
        "status": pa.array(np.where(failed, 0, 200), pa.uint16()),
        "error": pa.array(np.where(failed, "timeout", "")).dictionary_encode(),
        "stream": pa.array(rng.integers(0, 40, n), pa.uint32()),
    }
    return pa.table(columns).take(pa.array(order))


def readings(target: str, modelled: bool, rng: np.random.Generator) -> pa.Table:
    t = np.arange(-IDLE_S - WARMUP_S, MEASURE_S + COOLDOWN_S).astype(float)
    load = np.where(t >= -WARMUP_S, day(t), 0)
    extra = WATTS_PER_REQUEST[target] * load + rng.normal(0, 0.05, len(t))
    courses = {("model", "disk.sda"): 4 + 0.3 * extra, ("model", "cpu"): 8 + 0.6 * extra}
    courses["model", "system"] = IDLE_W[target] + 0.95 * extra
    if not modelled:
        courses["wall", "p"] = IDLE_W[target] + extra
    parts = []
    for (meter, channel), watts in courses.items():
        n = len(t)
        start = START + ((t + IDLE_S + WARMUP_S) * S).astype(np.int64)
        flag = "modelled" if meter == "model" else ""
        parts.append(
            pa.table(
                {
                    "meter": [meter] * n, "channel": [channel] * n, "quantity": ["power"] * n, "unit": ["W"] * n,
                    "seq": pa.array(np.arange(n), pa.uint64()), "start_ns": start, "end_ns": start + S,
                    "u_time_ns": pa.array(np.full(n, 2_000_000)), "value": watts,
                    "u_value": 0.00058 * watts + 0.009, "quality": [flag] * n,
                }
            )
        )  # fmt: skip
    return pa.concat_tables(parts)


def events(status: str) -> list[dict[str, Any]]:
    at, found = START, []
    for phase, seconds in (("idle", IDLE_S), ("warmup", WARMUP_S), ("measure", MEASURE_S), ("cooldown", COOLDOWN_S)):
        found.append({"ns": at, "event": "phase", "phase": phase, "edge": "begin"})
        at += seconds * S
        found.append({"ns": at, "event": "phase", "phase": phase, "edge": "end"})
    return [*found, {"ns": at, "event": "stop", "status": status}]


def write_run(
    folder: Path, index: int, target: str, repeat: int, *, modelled: bool = False, status: str = "complete"
) -> Path:
    rng = np.random.default_rng(1000 * index + repeat)
    path = folder / "runs" / f"{index:03d}_{target}_day_r{repeat}"
    (path / "tables").mkdir(parents=True)
    pq.write_table(requests(target, repeat, rng), path / "tables" / "requests.parquet")
    pq.write_table(readings(target, modelled, rng), path / "tables" / "readings.parquet")
    (path / "events.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events(status)), encoding="utf-8")
    manifest = {
        "schema": 1, "kind": "run", "status": status, "exit": 0 if status == "complete" else 130,
        "argv": ["iojoule", "run", "day.toml"], "seed": 1, "experiment": "day-and-night",
        "step": {"index": index, "target": target, "workload": "day", "repeat": repeat, "parameters": {"speedup": 864}},
        "target": {"kind": "http", "server": target, "version": "1.22.1"},
        "workload": {"kind": "weblog", "speedup": 864, "connections": "per_client"},
        "meters": meters(modelled), "host": {"cpu": "Xeon", "cores": 2, "kernel": "6.18"}, "engine": {"threads": 1},
        "files": {"tables/requests.parquet": "0" * 64}, "limits": {"stretch": 1.002, "lateness_p99_ns": 5_000_000},
        "started_utc": "2026-01-01T12:00:00.000+00:00", "interval_s": None,
    }  # fmt: skip
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return path


def write_campaign(
    folder: Path, *, modelled: bool = False, repeats: int = 3, targets: tuple[str, ...] = ("nginx", "apache2")
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "experiment.toml").write_text(
        'name = "day-and-night"\ndescription = "A web day in a hundred seconds </script>"\n', encoding="utf-8"
    )
    manifest = {
        "schema": 1, "kind": "campaign", "status": "complete", "exit": 0, "experiment": "day-and-night",
        "started_utc": "2026-01-01T12:00:00.000+00:00", "seed": 1, "argv": ["iojoule", "run", "day.toml"], "runs": [],
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    index = 0
    for repeat in range(1, repeats + 1):
        for target in targets:
            write_run(folder, index, target, repeat, modelled=modelled)
            index += 1
    return folder
