"""Every bench of docs/performance.md in turn: `make bench`; or some: `python benches/run.py http/closed startup`.

One with options of its own: `python -m benches.http.closed --help`, from the root of the tree.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHES = {
    "trace/read": "block traces by format, one core",
    "trace/info": "block traces drawn and measured, one core; memory against length",
    "weblog/run": "parser against goaccess, one core",
    "http/replay": "replay at 5,000 requests/s Poisson against nginx: stretch, lateness, processor",
    "http/closed": "closed loop against wrk, every request recorded",
    "block/throughput": "random reads by our engine, every request recorded, and by fio without a log",
    "block/agreement": "eight workloads by our engine and by fio: a test of equivalence",
    "block/timing": "block traces on a loop device by waiting policy, and fio: stretch, lateness, processor",
    "sim/speed": "drives and arrays against DiskSim 4.0 (DISKSIM names its binary), one core",
    "meters/phase_edges": "energy of a 10 s phase by a meter of 1 s windows, ours and the rules of others",
    "meters/coverage": "how often E ± U holds the truth, 200 trials of every front",
    "content": "incompressible content, one core",
    "meters/overhead": "what eight meters cost the engine, and how late one at 1 kHz is while it is busy",
    "startup": "import and --help",
}


def main() -> int:
    failed = 0
    for name in sys.argv[1:] or BENCHES:
        if name not in BENCHES:
            print(f"no bench is named {name}; there are: {', '.join(BENCHES)}", file=sys.stderr)
            return 2
        print(f"\n== {name}: {BENCHES[name]}", flush=True)
        failed |= subprocess.run(
            [sys.executable, "-m", f"benches.{name.replace('/', '.')}"], cwd=ROOT, check=False
        ).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())
