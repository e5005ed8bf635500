"""How fast one core draws a block trace and says what it is like, and with how much memory.

The traces are the synthetic TPC-C of Table 3, at its length and at four times its length (the rate stays, so an hour
holds as much of the one as of the other), as Parquet and as DiskSim's text. Times are of the whole command, with the
start of Python. There is no peer that measures the same rows. Do not conclude anything about traces with a footprint of
terabytes from it: memory grows with the footprint.

    python -m benches.trace.info [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benches.one_core import measured

ROOT = Path(__file__).resolve().parent.parent.parent
IOS, SECONDS = 3_598_422, 7200


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--iojoule", default=str(ROOT / ".venv/bin/iojoule"))
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with TemporaryDirectory(prefix="iojoule-bench-") as folder:

        def synth(name: str, times: int) -> list[str]:
            words = [chosen.iojoule, "trace", "synth", "--profile", "tpcc", "--force", "-o", f"{folder}/{name}"]
            return [*words, "--ios", str(IOS * times), "--duration", f"{SECONDS * times}s"]

        def info(name: str) -> list[str]:
            return [chosen.iojoule, "trace", "info", "--json", f"{folder}/{name}"]

        commands = {
            "synth, Parquet": (1, synth("one.parquet", 1)),
            "synth, four times as long": (4, synth("four.parquet", 4)),
            "synth, DiskSim": (1, synth("one.disksim", 1)),
            "info, Parquet": (1, info("one.parquet")),
            "info, four times as long": (4, info("four.parquet")),
            "info, DiskSim": (1, info("one.disksim")),
        }
        rounds: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
        for _ in range(chosen.rounds):
            for name, (_, command) in commands.items():
                rounds[name].append(measured(command))
    table = {
        name: {
            "requests": IOS * times,
            "wall_s": median(wall for wall, _, _ in rounds[name]),
            "requests_per_s": IOS * times / median(wall for wall, _, _ in rounds[name]),
            "requests_per_cpu_s": IOS * times / median(cpu for _, cpu, _ in rounds[name]),
            "peak_mb": max(peak for _, _, peak in rounds[name]) / 1e6,
        }
        for name, (times, _) in commands.items()
    }
    if chosen.json:
        print(json.dumps({"rounds": chosen.rounds, **table}))
        return
    print(f"one core, median of {chosen.rounds} alternating rounds")
    print(f"{'':28}{'requests':>12}{'wall s':>9}{'M/s':>8}{'M/CPU s':>9}{'peak MB':>9}")
    for name, row in table.items():
        rate, work = row["requests_per_s"] / 1e6, row["requests_per_cpu_s"] / 1e6
        print(f"{name:28}{row['requests']:12,.0f}{row['wall_s']:9.2f}{rate:8.2f}{work:9.2f}{row['peak_mb']:9.0f}")


if __name__ == "__main__":
    main()
