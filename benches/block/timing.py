"""How exactly a block trace is replayed: five of 4 KiB random reads on a loop device, by waiting policy, and fio.

u500 is a request every 2 ms, p5k Poisson at 5,000/s, b32 32 requests 1 µs apart every 10 ms, p20k Poisson at 20,000/s,
and p5k_x2 the second at twice its speed. The loop device lies on a file in the page cache and is opened with O_DIRECT.
fio replays the same as an iolog of version 3 (libaio, depth 64) and is stopped hard if it does not end.

Stretch is the replayed span over the planned one. Ours comes from each request's issue time. fio records neither
issue times nor lateness: its stretch is the run time it reports, in whole milliseconds and to the last completion, over
the trace's span.
Goal: stretch within 1 ± 0.001 and p99 lateness ≤ 100 µs with `hybrid`. What not to conclude: the machine may be
shared, and a stall of the host is lateness of whoever runs. The loop device answers from kernel threads on the same
cores: where requests waited at the cap it could not keep up, and the row is its own. Needs root (loop device).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import tempfile
from pathlib import Path
from shutil import which
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benches.engine import fidelity, run_folder
from benches.storage import loop_device, written_file

FILE_BYTES = 256 << 20
BLOCK = 4096
NAMES = {"u500": 1.0, "p5k": 1.0, "b32": 1.0, "p20k": 1.0, "p5k_x2": 2.0}
"""Each trace and its speed-up."""


def arrivals(name: str) -> list[int]:
    """Whole microseconds, which is what an iolog holds; in ns."""
    draw = random.Random(1)
    if name == "u500":
        return [i * 2_000_000 for i in range(1000)]
    if name == "b32":
        return [i * 10_000_000 + k * 1000 for i in range(200) for k in range(32)]
    rate, seconds = (20_000, 1.0) if name == "p20k" else (5000, 2.0)
    at, found = 0.0, []
    while at < seconds:
        found.append(round(at * 1e6) * 1000)
        at += draw.expovariate(rate)
    return found


def write_traces(folder: Path, device: str) -> dict[str, int]:
    """`NAME.parquet` and `NAME.log` of each; returns the spans in ns."""
    spans = {}
    for name in NAMES:
        at = arrivals(name)
        draw = random.Random(2)
        offsets = [draw.randrange(FILE_BYTES // BLOCK) * BLOCK for _ in at]
        columns = {
            "at_ns": pa.array(at, pa.int64()),
            "device": pa.array([0] * len(at), pa.uint32()),
            "op": pa.array(["read"] * len(at)).dictionary_encode(),
            "offset": pa.array(offsets, pa.uint64()),
            "bytes": pa.array([BLOCK] * len(at), pa.uint64()),
        }
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        lines = ["fio version 3 iolog", f"0 {device} add", f"0 {device} open"]
        lines += [f"{t // 1000} {device} read {offset} {BLOCK}" for t, offset in zip(at, offsets, strict=True)]
        lines.append(f"{at[-1] // 1000} {device} close")
        (folder / f"{name}.log").write_text("\n".join(lines) + "\n")
        spans[name] = at[-1] - at[0]
    return spans


def ours(device: str, trace: Path, speedup: float, waiting: str, scratch: Path) -> dict[str, float]:
    from iojoule import _native

    with run_folder(scratch) as run:
        config = {
            "run": str(run),
            "target": {"kind": "files", "files": [{"path": device}], "direct": True, "writable": False},
            "work": {"kind": "replay", "trace": str(trace), "speedup": speedup},
            "waiting": waiting,
        }
        summary = json.loads(_native.block_load(json.dumps(config), _native.Progress()))
    if summary["errors"] or summary["dropped"] or summary["unplayed"]:
        raise SystemExit(f"not all was played: {summary}")
    return fidelity(summary) | {"at_cap": summary["queued_at_cap"]}


def fio(device: str, trace: Path, speedup: float, span_ns: int, scratch: Path) -> dict[str, float]:
    output = scratch / "fio.json"
    keys = {
        "name": "r", "read_iolog": trace, "ioengine": "libaio", "iodepth": 64, "direct": 1,
        "replay_time_scale": round(100 * speedup), "output-format": "json", "output": output,
    }  # fmt: skip
    command = ["timeout", "-s", "KILL", "60", "fio", "--thread", *(f"--{key}={value}" for key, value in keys.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=scratch)
    if done.returncode:
        raise SystemExit(f"fio ended with {done.returncode}: {done.stderr}")
    job = json.loads(output.read_text())["jobs"][0]
    cores = (job["usr_cpu"] + job["sys_cpu"]) / 100
    return {"stretch": job["read"]["runtime"] * 1e6 / (span_ns / speedup), "cores": cores}


def middle(rows: list[dict[str, float]]) -> dict[str, float]:
    return {key: median(row[key] for row in rows) for key in rows[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--traces", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--waiting", nargs="+", default=["sleep", "hybrid", "spin"])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    by = [*given.waiting, *(["fio"] if which("fio") else [])]
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # What is written goes to disk now, not while it is measured.
        backing = written_file(folder / "backing", FILE_BYTES)
        device = stack.enter_context(loop_device(backing, "--direct-io=off"))
        spans = write_traces(folder, device)
        for _ in range(given.rounds):
            for trace in given.traces:
                for who in by:
                    speedup = NAMES[trace]
                    file = folder / trace
                    if who == "fio":
                        row = fio(device, file.with_suffix(".log"), speedup, spans[trace], folder)
                    else:
                        row = ours(device, file.with_suffix(".parquet"), speedup, who, folder)
                    found.setdefault((trace, who), []).append(row)
    rows: list[dict[str, Any]] = [
        {"trace": trace, "by": who, **middle(found[trace, who]), "rounds": found[trace, who]}
        for trace in given.traces
        for who in by
    ]
    if given.json:
        print(json.dumps(rows))
        return
    print(f"medians of {given.rounds} rounds")
    for row in rows:
        late = [
            f"{row[f'late_{at}_us']:9.1f}" if f"late_{at}_us" in row else "        -" for at in ("p50", "p99", "max")
        ]
        stretches = [one["stretch"] for one in row["rounds"]]
        capped = f"  {row['at_cap']:.0f} waited at the cap" if row.get("at_cap") else ""
        print(
            f"{row['trace']:7} {row['by']:7} stretch {row['stretch']:.6f} ({min(stretches):.5f} to "
            f"{max(stretches):.5f})  late p50 {late[0]} p99 {late[1]} max {late[2]} µs  {row['cores']:.2f} cores"
            f"{capped}"
        )


if __name__ == "__main__":
    main()
