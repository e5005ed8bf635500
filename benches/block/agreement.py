"""Do our engine and fio measure the same? Eight workloads on one file with O_DIRECT, and a test of equivalence.

Each round runs each workload three times, in changing order: fio, ours, fio again. What two runs of fio differ by in a
round is the noise of repeats: the margin of a figure is the 95 % quantile of |log ratio| of fio against itself, and at
least the resolution of the figure (`FLOOR`). It is computed from fio alone. Ours agrees where the 90 % interval of
ours / fio lies inside the margin (TOST, alpha 0.05).

Latency is from submission to completion in both: fio's `lat`, our `done - issued`. Ours records each request, fio none.
What not to conclude: a margin is the noise of the machine, and agreement inside it says no more than its width. Beyond
`WIDEST` nothing is concluded: the verdict is "too noisy".
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from benches.engine import run_folder
from benches.storage import written_file

from iojoule.metrics.equivalence import equivalence, margin_of_repeats

FLOOR = {"iops": 1.005, "p50": 1 + 1 / 64, "p99": 1 + 1 / 64}
"""Least margins: half a per cent of the rate, and the width of a bin of fio's latency histogram."""

WIDEST = 1.25
"""A margin beyond this is not a measure of agreement."""

RAMP_S = 0.3
Figures = dict[str, float]


@dataclass(frozen=True)
class Workload:
    """One load, in the words of both."""

    name: str
    fio: dict[str, Any]
    ours: dict[str, Any]
    depth: int
    bytes: int
    write: float = 0.0
    rate: float | None = field(default=None)


def _workload(name: str, pattern: str, kib: int, depth: int, write: float = 0.0, rate: float | None = None) -> Workload:
    rw = {0.0: "read", 1.0: "write"}.get(write, "rw")
    fio = {"rw": rw if pattern == "sequential" else f"rand{rw}", "bs": f"{kib}k", "iodepth": depth}
    if rw == "rw":
        fio["rwmixwrite"] = round(100 * write)
    if rate:
        fio["rate_iops"] = round(rate)
    ours = {
        "kind": "synthetic",
        "pattern": {"kind": pattern},
        "mix": {"write": write},
        "sizes": [{"bytes": kib << 10}],
        "queue_depth": depth,
        **({"arrivals": {"kind": "constant", "rate_per_s": rate}} if rate else {}),
    }
    return Workload(name, fio, ours, depth, kib << 10, write, rate)


WORKLOADS = [
    _workload("random read 4 KiB, depth 1", "random", 4, 1),
    _workload("random read 4 KiB, depth 8", "random", 4, 8),
    _workload("sequential read 32 KiB, depth 4", "sequential", 32, 4),
    _workload("sequential read 128 KiB, depth 2", "sequential", 128, 2),
    _workload("random write 4 KiB, depth 1", "random", 4, 1, write=1.0),
    _workload("random write 4 KiB, depth 8", "random", 4, 8, write=1.0),
    _workload("random 70/30 8 KiB, depth 4", "random", 8, 4, write=0.3),
    _workload("random read 4 KiB, 2,000/s", "random", 4, 16, rate=2000.0),
]


def by_fio(load: Workload, file: Path, seconds: float, seed: int, scratch: Path) -> Figures:
    output = scratch / "fio.json"
    keys = {
        "name": "a", "filename": file, "ioengine": "io_uring", "direct": 1, "norandommap": 1, "randseed": seed,
        "time_based": 1, "runtime": f"{round(seconds * 1000)}ms", "ramp_time": f"{round(RAMP_S * 1000)}ms",
        "lat_percentiles": 1, "percentile_list": "50:99", "unified_rw_reporting": 1, "output-format": "json",
        "output": output, **load.fio,
    }  # fmt: skip
    command = ["fio", *(f"--{key}={value}" for key, value in keys.items())]
    subprocess.run(command, check=True, capture_output=True, timeout=seconds + 60)
    mixed = json.loads(output.read_text())["jobs"][0]["mixed"]
    percentile = mixed["lat_ns"]["percentile"]
    return {"iops": mixed["iops"], "p50": percentile["50.000000"] / 1e3, "p99": percentile["99.000000"] / 1e3}


def by_us(load: Workload, file: Path, seconds: float, seed: int, scratch: Path) -> Figures:
    from iojoule import _native

    with run_folder(scratch) as run:
        target = {"kind": "files", "files": [{"path": str(file)}], "direct": True, "writable": load.write > 0}
        config = {
            "run": str(run), "target": target, "work": load.ours, "warmup_ns": round(RAMP_S * 1e9),
            "duration_ns": round(seconds * 1e9), "seed": seed,
        }  # fmt: skip
        summary = json.loads(_native.block_load(json.dumps(config), _native.Progress()))
        if summary["errors"]:
            raise SystemExit(f"requests failed: {summary['errors']}")
        table = pq.read_table(run / "tables" / "requests.parquet", columns=["phase", "issued_ns", "done_ns"])
    rows = table.filter(pc.equal(table["phase"].cast("string"), "measure"))
    latency = pc.subtract(rows["done_ns"], rows["issued_ns"]).combine_chunks().sort()
    at = {share: latency[ceil(share * len(latency)) - 1].as_py() / 1e3 for share in (0.5, 0.99)}
    return {"iops": rows.num_rows / seconds, "p50": at[0.5], "p99": at[0.99]}


def judged(rounds: list[dict[str, Figures]]) -> list[dict[str, Any]]:
    """One row a figure of one workload."""
    found = []
    for figure, floor in FLOOR.items():
        first, second = ([one[key][figure] for one in rounds] for key in ("fio", "fio again"))
        theirs = [geometric_mean(pair) for pair in zip(first, second, strict=True)]
        margin = max(floor, margin_of_repeats(first, second))
        result = equivalence([one["ours"][figure] for one in rounds], theirs, margin)
        verdict = result.verdict if margin <= WIDEST else "too noisy"
        found.append(
            {
                "figure": figure,
                "ours": geometric_mean(one["ours"][figure] for one in rounds),
                "fio": geometric_mean(theirs),
                **{key: getattr(result, key) for key in ("n", "ratio", "low", "high", "margin", "p")},
                "verdict": verdict,
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--size", type=int, default=1 << 30, help="bytes of the file")
    parser.add_argument(
        "--folder", type=Path, help="where the file is made; the default is the folder for temporary files"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    runners = {"fio": by_fio, "ours": by_us, "fio again": by_fio}
    orders = itertools.cycle(itertools.permutations(runners))
    rounds: dict[str, list[dict[str, Figures]]] = defaultdict(list)
    shm = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=given.folder) as name,
        # Our records go to memory, so that they do not load the device that is measured.
        tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as scratch,
    ):
        file = written_file(Path(name) / "file", given.size)
        for index in range(given.rounds):
            for load in WORKLOADS:
                order = next(orders)
                figures = {
                    key: runners[key](load, file, given.seconds, 1 + 3 * index + place, Path(scratch))
                    for place, key in enumerate(order)
                }
                rounds[load.name].append(figures)
                if not given.json:
                    said = "  ".join(f"{key} {figures[key]['iops']:9.1f}/s" for key in runners)
                    print(f"round {index + 1:2} {load.name:34} {said}", flush=True)
    verdicts = {load.name: judged(rounds[load.name]) for load in WORKLOADS}
    if given.json:
        print(json.dumps({"rounds": rounds, "verdicts": verdicts}))
        return
    units = {"iops": "/s", "p50": "µs", "p99": "µs"}
    for workload, rows in verdicts.items():
        print(f"\n{workload}, n = {given.rounds}")
        for row in rows:
            print(
                f"  {row['figure']:4} ours {row['ours']:10.1f} {units[row['figure']]}  fio {row['fio']:10.1f}  "
                f"ratio {row['ratio']:.4f} ({row['low']:.4f} to {row['high']:.4f})  margin {row['margin']:.4f}  "
                f"p {row['p']:.4f}  {row['verdict']}"
            )


if __name__ == "__main__":
    main()
