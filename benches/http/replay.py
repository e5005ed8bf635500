"""Fidelity of a replay: Poisson arrivals at 5,000 requests a second against nginx, by waiting policy.

Goal: stretch within 1 ± 0.001 and p99 lateness ≤ 1 ms. What not to conclude: client and server share the machine's
cores and the machine may be shared too; a stall of the host is lateness of the client.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path

from benches.engine import fidelity, run_folder
from benches.http.nginx import running


def trace(path: Path, rate: float, seconds: float, clients: int) -> None:
    """A replay table of Poisson arrivals, drawn with a fixed seed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    draw = random.Random(1)
    at, planned = 0.0, []
    while at < seconds:
        planned.append(round(at * 1e9))
        at += draw.expovariate(rate)
    n = len(planned)
    columns = {
        "planned_ns": pa.array(planned, pa.int64()),
        "method": pa.array(["GET"] * n).dictionary_encode(),
        "object": pa.array([0] * n, pa.uint32()),
        "path": pa.array(["/file"] * n).dictionary_encode(),
        "client": pa.array([draw.randrange(clients) for _ in range(n)], pa.uint32()),
    }
    pq.write_table(pa.table(columns), path, compression="zstd")


def replay(url: str, table: Path, waiting: str, mode: str) -> dict[str, float]:
    from iojoule import _native

    with run_folder() as run:
        config = {
            "replay": str(table),
            "url": url,
            "run": str(run),
            "waiting": waiting,
            "connection_mode": mode,
            "warmup_ns": 1_000_000_000,
        }
        summary = json.loads(_native.http_replay(json.dumps(config), _native.Progress()))
    if summary["errors"]:
        raise SystemExit(f"requests failed: {summary['errors']}")
    return fidelity(summary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=5000)
    parser.add_argument("--seconds", type=float, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--modes", nargs="+", default=["pool", "per_client", "per_request"])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    with running() as url, tempfile.TemporaryDirectory() as name:
        table = Path(name) / "poisson.parquet"
        trace(table, given.rate, given.seconds, clients=100)
        for index in range(given.rounds):
            for mode in given.modes:
                for waiting in ("sleep", "hybrid", "spin"):
                    row = {"round": index, "mode": mode, "waiting": waiting, **replay(url, table, waiting, mode)}
                    rows.append(row)
                    if not given.json:
                        print(
                            f"{index} {mode:11} {waiting:6}  stretch {row['stretch']:.6f}  late p50 "
                            f"{row['late_p50_us']:7.1f} µs  p99 {row['late_p99_us']:7.1f} µs  max "
                            f"{row['late_max_us']:8.0f} µs  client {row['cores']:.2f} cores",
                            flush=True,
                        )
    if given.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
