"""Closed loop against wrk: 40 connections, one 8,700-byte file, nginx, alternating rounds.

Ours records every request to Parquet while it runs; wrk keeps a histogram. What not to conclude: client and server
share the machine's cores, so these are not figures of nginx, and a round says nothing alone. Compare the medians.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess

from benches.engine import run_folder
from benches.http.nginx import running

CONNECTIONS = 40


def ours(url: str, seconds: float) -> tuple[float, float]:
    """Requests per second and processor seconds per second, every request recorded."""
    from iojoule import _native

    with run_folder() as run:
        config = {
            "url": url,
            "run": str(run),
            "paths": ["/file"],
            "connections": CONNECTIONS,
            "duration_ns": round(seconds * 1e9),
        }
        summary = json.loads(_native.http_closed(json.dumps(config), _native.Progress()))
    if summary["errors"]:
        raise SystemExit(f"requests failed: {summary['errors']}")
    return summary["succeeded"] / seconds, summary["cpu_s"] / seconds


def wrk(url: str, seconds: float) -> float:
    """Requests per second."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds:.0f}s", f"{url}/file"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.search(r"Requests/sec:\s+([\d.]+)", said)
    if found is None or "Socket errors" in said:
        raise SystemExit(said)
    return float(found.group(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rounds = []
    with running() as url:
        wrk(url, 1)
        for index in range(given.rounds):
            if index % 2:
                theirs = wrk(url, given.seconds)
                mine, cpu = ours(url, given.seconds)
            else:
                mine, cpu = ours(url, given.seconds)
                theirs = wrk(url, given.seconds)
            rounds.append({"ours": mine, "wrk": theirs, "ratio": mine / theirs, "cpu": cpu})
            if not given.json:
                print(f"round {index}: ours {mine:8.0f}/s  wrk {theirs:8.0f}/s  ratio {mine / theirs:.3f}", flush=True)
    median = {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}
    if given.json:
        print(json.dumps({"rounds": rounds, "median": median}))
    else:
        print(
            f"median:  ours {median['ours']:8.0f}/s  wrk {median['wrk']:8.0f}/s  ratio {median['ratio']:.3f}"
            f"  (ours: {median['cpu']:.2f} cores in the engine thread)"
        )


if __name__ == "__main__":
    main()
