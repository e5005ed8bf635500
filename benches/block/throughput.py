"""Random reads of 4 KiB against fio: the same file and loop devices, alternating rounds, medians.

Ours records every request to Parquet while it runs; fio keeps no log. Processor time is that of our whole process
from the call to its return, writer and footer included, and of fio's job alone (`usr_cpu + sys_cpu` of its report).
`tuned` is fio with what spares it work: registered files and buffers, and on warm files batches as large as ours.

What not to conclude: nothing of the disk behind. A round says nothing alone; compare the medians.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benches.storage import loop_device, written_file

SIZE = 1 << 30
TUNED = ["--fixedbufs=1", "--registerfiles=1"]
BATCHED = ["--iodepth_batch_submit=32", "--iodepth_batch_complete_max=32"]
#: name, target, direct, depth, what fio's tuned row gets
CASES = [
    ("file direct, depth 1", "file", True, 1, TUNED),
    ("file direct, depth 32", "file", True, 32, TUNED),
    ("loop on direct file, depth 1", "loop_direct", True, 1, TUNED),
    ("loop on direct file, depth 32", "loop_direct", True, 32, TUNED),
    ("loop on cached file, depth 1", "loop_cached", True, 1, TUNED),
    ("loop on cached file, depth 32", "loop_cached", True, 32, TUNED),
    ("cached file, depth 32", "file", False, 32, TUNED + BATCHED),
    ("nothing, depth 32", None, False, 32, []),
]
#: What a run of ours says: requests, wall seconds, processor seconds of the process, and of its engine thread.
OURS = """
import json, resource, sys, tempfile
from pathlib import Path
from iojoule import _native
config = json.loads(sys.argv[1])
def load(more):
    with tempfile.TemporaryDirectory() as run:
        for folder in ("tables", "hist"):
            (Path(run) / folder).mkdir()
        return json.loads(_native.block_load(json.dumps(config | {"run": run} | more), _native.Progress()))
load({"duration_ns": 300_000_000, "requests": 100_000})
used = lambda: sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
before = used()
summary = load({})
if summary["errors"] or summary["engine"] != "io_uring":
    sys.exit(f"{summary['errors']} {summary['warnings']}")
span = summary["end_ns"] - summary["epoch_ns"]
print(json.dumps([summary["requests"], span / 1e9, used() - before, summary["cpu_s"]]))
"""


def ours(path: str | None, direct: bool, depth: int, seconds: float) -> dict[str, float]:
    """I/Os per second and processor µs per I/O, every request recorded."""
    files = {"kind": "files", "files": [{"path": path, "bytes": SIZE}], "direct": direct, "writable": False}
    work = {"kind": "synthetic", "pattern": {"kind": "random"}, "sizes": [{"bytes": 4096}], "queue_depth": depth}
    target = files if path else {"kind": "null", "bytes": SIZE}
    config = {"target": target, "work": work, "duration_ns": round(seconds * 1e9)}
    said = subprocess.run([sys.executable, "-c", OURS, json.dumps(config)], capture_output=True, text=True, check=False)
    if said.returncode:
        raise SystemExit(said.stderr)
    requests, wall, cpu, engine = json.loads(said.stdout)
    return {"iops": requests / wall, "us": cpu / requests * 1e6, "engine_us": engine / requests * 1e6}


def fio(
    path: str | None, direct: bool, depth: int, seconds: float, more: list[str], log: Path | None = None
) -> dict[str, float]:
    """The same of fio."""
    engine = ["--ioengine=io_uring", f"--filename={path}"] if path else ["--ioengine=null"]
    logging = [f"--write_lat_log={log / 'x'}", "--log_offset=1", "--per_job_logs=1"] if log else []
    command = ["fio", "--name=x", *engine, "--rw=randread", "--bs=4k", f"--size={SIZE}", "--randrepeat=1"]
    command += ["--norandommap", "--time_based", f"--runtime={seconds:g}", "--ramp_time=0.3", "--invalidate=0"]
    command += [f"--iodepth={depth}", f"--direct={int(direct and bool(path))}", "--output-format=json", *more, *logging]
    said = subprocess.run(["timeout", "-s", "KILL", "120", *command], capture_output=True, text=True, check=True)
    job = json.loads(said.stdout[said.stdout.index("{") :])["jobs"][0]
    share = (job["usr_cpu"] + job["sys_cpu"]) / 100
    return {"iops": job["read"]["iops"], "us": share / job["read"]["iops"] * 1e6}


def cached(file: Path) -> None:
    """Every page of the file is in memory afterwards."""
    with file.open("rb", buffering=0) as data:
        while data.read(1 << 20):
            pass


def run(case: tuple[str, str | None, bool, int, list[str]], targets: dict[str, str], given: Any) -> dict[str, Any]:
    name, target, direct, depth, tuned = case
    path = targets[target] if target else None
    rows: dict[str, list[dict[str, float]]] = {"ours": [], "fio": []}
    rows["fio tuned" if path else "fio with its log"] = []
    with tempfile.TemporaryDirectory() as logs:
        for index in range(given.rounds):
            if path and (not direct or target == "loop_cached"):
                cached(Path(targets["file"]))
            turn: dict[str, Callable[[], dict[str, float]]] = {
                "ours": lambda: ours(path, direct, depth, given.seconds),
                "fio": lambda: fio(path, direct, depth, given.seconds, []),
                "fio tuned": lambda: fio(path, direct, depth, given.seconds, tuned),
                "fio with its log": lambda: fio(path, direct, depth, min(given.seconds, 2), [], Path(logs)),
            }
            for who in sorted(rows, reverse=bool(index % 2)):
                rows[who].append(turn[who]())
    median = {who: {key: statistics.median(r[key] for r in got) for key in got[0]} for who, got in rows.items()}
    for key in ("iops", "us"):
        for peer in [who for who in rows if who != "ours"]:
            pairs = [mine[key] / other[key] for mine, other in zip(rows["ours"], rows[peer], strict=True)]
            median[peer][f"{key}_ratio"] = statistics.median(pairs)
    if not given.json:
        print(f"\n{name}", flush=True)
        for who, figures in median.items():
            ratio = f"  ours/theirs {figures['iops_ratio']:.3f}, {figures['us_ratio']:.3f}" if who != "ours" else ""
            engine = f"  (engine thread {figures['engine_us']:.3f} µs)" if who == "ours" else ""
            print(f"  {who:<17}{figures['iops']:12,.0f}/s {figures['us']:8.3f} µs/IO{ratio}{engine}", flush=True)
    return {"case": name, "median": median, "rounds": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--case", help="only cases whose name holds this")
    parser.add_argument("--folder", help="where the file of 1 GiB is made")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=given.folder)))
        file = written_file(folder / "file", SIZE)
        targets = {"file": str(file)}
        for name, direct_io in (("loop_direct", True), ("loop_cached", False)):
            mode = "on" if direct_io else "off"
            targets[name] = stack.enter_context(loop_device(file, "--read-only", f"--direct-io={mode}"))
        wanted = [case for case in CASES if not given.case or given.case in case[0]]
        results = [run(case, targets, given) for case in wanted]
    if given.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
