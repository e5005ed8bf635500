"""How fast one core reads a log: `iojoule weblog info` beside goaccess, in alternating rounds on the same file.

The file is the shared logs over and over until it has 520 MB, so it stays in the page cache and what is compared is
parsing and counting, not a disk. goaccess makes the same kind of counts (requests, visitors, files, statuses,
hours) with its panels for referers, agents and places switched off and no report but JSON. Do not conclude anything
about logs with millions of distinct clients from it: this file repeats the same few thousand.

goaccess reads the file as COMMON, because a third of the lines are; it skips what follows, which is less work than
ours. Both find the same number of good lines in it.

    python -m benches.weblog.run [--rounds 5] [--megabytes 520]
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from shutil import which
from statistics import median
from tempfile import TemporaryDirectory

from benches.one_core import measured

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = Path(os.environ.get("IOJOULE_REFERENCE_DATA", ROOT.parent / "shared" / "data")) / "httplogs"
PANELS = [
    "REFERRERS",
    "REFERRING_SITES",
    "KEYPHRASES",
    "OS",
    "BROWSERS",
    "GEO_LOCATION",
    "VIRTUAL_HOSTS",
    "REMOTE_USER",
]


def make_log(path: Path, megabytes: int) -> int:
    logs = [DATA / "nasa_jul95_excerpt/access.log", DATA / "semicomplete/apache_logs"]
    logs += sorted((DATA / "erddap_voto").glob("tomcat-access.log.*"))
    once = b"".join(log.read_bytes() for log in logs)
    with path.open("wb") as file:
        for _ in range(-(-megabytes * 1_000_000 // len(once))):
            file.write(once)
    return path.stat().st_size


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--megabytes", type=int, default=520)
    options.add_argument("--iojoule", default=str(ROOT / ".venv/bin/iojoule"))
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    goaccess = which("goaccess")
    with TemporaryDirectory(prefix="iojoule-bench-") as folder:
        log = Path(folder) / "access.log"
        size = make_log(log, chosen.megabytes)
        peer = [goaccess or "", str(log), "--log-format=COMMON", "--no-global-config"]
        peer += ["--no-progress", "--num-tests=0", "--no-ip-validation"]
        peer += [f"--ignore-panel={panel}" for panel in PANELS] + ["-o", f"{folder}/out.json"]
        commands = {"iojoule": [chosen.iojoule, "weblog", "info", "--json", str(log)]}
        if goaccess:
            commands["goaccess"] = peer
        rounds: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
        for _ in range(chosen.rounds):
            for name, command in commands.items():
                rounds[name].append(measured(command))
    table = {
        name: {
            "wall_s": median(wall for wall, _, _ in seen),
            "mb_per_s": size / 1e6 / median(wall for wall, _, _ in seen),
            "mb_per_cpu_s": size / 1e6 / median(cpu for _, cpu, _ in seen),
            "peak_mb": max(peak for _, _, peak in seen) / 1e6,
        }
        for name, seen in rounds.items()
    }
    result: dict[str, object] = {"bytes": size, "rounds": chosen.rounds, **table}
    if "goaccess" in table:
        result["ratio"] = table["iojoule"]["mb_per_s"] / table["goaccess"]["mb_per_s"]
    if chosen.json:
        print(json.dumps(result))
        return
    print(f"{size / 1e6:.0f} MB, one core, median of {chosen.rounds} alternating rounds")
    print(f"{'':10}{'MB/s':>10}{'MB/CPU s':>10}{'wall s':>10}{'peak MB':>10}")
    for name, row in table.items():
        print(f"{name:10}{row['mb_per_s']:10.0f}{row['mb_per_cpu_s']:10.0f}{row['wall_s']:10.2f}{row['peak_mb']:10.0f}")
    print(f"ratio {result['ratio']:.1f}" if "ratio" in result else "goaccess is missing; apt-get install goaccess")


if __name__ == "__main__":
    main()
