"""How fast arrays are simulated: `iojoule sim run` beside DiskSim 4.0, in alternating rounds on the same files.

Both read the same system description (.parv) and the same trace (DiskSim's ASCII format, 4 KiB requests at random
addresses, Poisson), cache model on, one core; reading the trace is part of the time on both sides, and so is the start
of the program. The binary of the peer is named by the environment variable DISKSIM (-O3 -DNDEBUG is its fastest build);
without it its documented figures are printed and marked as quoted. Do not conclude anything about traces with
sequential runs from it: there the drives' caches do more of the work.

Ours is the whole program by wall time, "by cpu" the same by processor time (what counts where others use the machine),
"engine" the simulation without the start of the interpreter, trace reading included, by wall time.

RAID-5 writes are run at three lengths: a simulator whose time grows with the square of the length is known by it.

    DISKSIM=/path/to/disksim python benches/sim/speed.py [--rounds 3] [--requests 1000000] [--only fcfs raid0 ...]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = Path(os.environ.get("IOJOULE_REFERENCE_DATA", ROOT.parent / "shared" / "data")) / "disksim"
DISK = 17783240 // 128 * 128
"""Sectors of a Cheetah 9LP in whole stripe units."""

QUOTED = {"fcfs": 63_000, "satf": 46_000, "raid0": 54_000, "raid5": 54_000}
"""Requests per second of DiskSim 4.0, -O3 without asserts, and 11 MiB, on a machine such as this; not measured here."""


@dataclass(frozen=True)
class Case:
    """One load on one system; `edits` change the text of the reference's .parv."""

    name: str
    title: str
    parv: str
    edits: tuple[tuple[str, str], ...]
    disks: int
    rate: float
    reads: float
    scale: float = 1.0
    peer: bool = True


NO_PARITY = (("Redundancy scheme = Parity_rotated", "Redundancy scheme = Noredun"),)
SPTF = (("Scheduling policy = 1,", "Scheduling policy = 8,"),)
CASES = [
    Case("fcfs", "one disk, FCFS, reads", "single_full", (), 1, 60, 1.0),
    Case("satf", "one disk, SATF, about 23 outstanding, reads", "single_full", SPTF, 1, 182, 1.0),
    Case("raid0", "8 disks, RAID-0, reads", "raid5_8_full", NO_PARITY, 8, 480, 1.0),
    Case("raid5", "8 disks, RAID-5, reads", "raid5_8_full", (), 7, 480, 1.0),
    # The peer's time is quadratic here: it is given a hundredth of the length.
    Case("raid5w1", "8 disks, RAID-5, a third writes, 1x", "raid5_8_full", (), 7, 200, 0.67, 0.25, False),
    Case("raid5w2", "8 disks, RAID-5, a third writes, 2x", "raid5_8_full", (), 7, 200, 0.67, 0.5, False),
    Case("raid5w4", "8 disks, RAID-5, a third writes, 4x", "raid5_8_full", (), 7, 200, 0.67, 1.0, False),
    Case("peerw1", "the same, a hundredth: 1x", "raid5_8_full", (), 7, 200, 0.67, 0.0025),
    Case("peerw2", "the same, a hundredth: 2x", "raid5_8_full", (), 7, 200, 0.67, 0.005),
    Case("peerw4", "the same, a hundredth: 4x", "raid5_8_full", (), 7, 200, 0.67, 0.01),
]


def make_trace(path: Path, case: Case, requests: int) -> None:
    draw, t = random.Random(1), 0.0
    slots = case.disks * DISK // 8
    with path.open("w") as file:
        for _ in range(requests):
            t += draw.expovariate(case.rate) * 1000.0
            file.write(f"{t:.6f} 0 {draw.randrange(slots) * 8} 8 {int(draw.random() < case.reads)}\n")


def make_system(folder: Path, case: Case) -> Path:
    text = (DATA / "arrays" / f"{case.parv}.parv").read_text()
    for old, new in case.edits:
        if old not in text:
            sys.exit(f"{case.parv}.parv does not say {old!r}")
        text = text.replace(old, new)
    path = folder / f"{case.name}.parv"
    path.write_text(text)
    for name in ("cheetah9LP.diskspecs", "cheetah9LP.model", "cheetah9LP.seek"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    (folder / "statdefs_fine").write_bytes((DATA / "arrays" / "statdefs_fine").read_bytes())
    return path


@dataclass(frozen=True)
class Took:
    """One run of one program: wall seconds, processor seconds, peak resident bytes, what it printed."""

    wall: float
    cpu: float
    peak: int
    said: str


def measured(command: list[str], folder: Path) -> Took:
    said = folder / "said"
    begin = time.monotonic()
    with said.open("w") as out:
        process = subprocess.Popen(
            ["taskset", "-c", "0", *command], stdout=out, stderr=subprocess.DEVNULL, cwd=folder,
            env=os.environ | {"LP_PATH": str(folder)},
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return Took(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, said.read_text())


def bench(case: Case, requests: int, rounds: int, iojoule: str, disksim: str | None) -> dict[str, object]:
    with TemporaryDirectory(prefix="iojoule-bench-") as place:
        folder = Path(place)
        trace, parv = folder / "t.trace", make_system(folder, case)
        make_trace(trace, case, requests)
        ours = [iojoule, "sim", "run", "--disksim", str(parv), "--trace", str(trace)]
        ours += ["-S", "report.end=last_arrival", "--json"]
        theirs = [disksim or "", str(parv), "out", "ascii", str(trace), "0"]
        seen: dict[str, list[Took]] = {"iojoule": [], "disksim": []}
        for _ in range(rounds):
            seen["iojoule"].append(measured(ours, folder))
            if disksim and case.peer:
                seen["disksim"].append(measured(theirs, folder))
    summary = json.loads(seen["iojoule"][0].said)
    row: dict[str, object] = {"case": case.name, "title": case.title, "requests": requests}
    for name, runs in seen.items():
        if runs:
            row |= {
                f"{name}_per_s": requests / median(run.wall for run in runs),
                f"{name}_per_cpu_s": requests / median(run.cpu for run in runs),
                f"{name}_peak_mib": max(run.peak for run in runs) / 2**20,
            }
    engine = [json.loads(run.said)["wall_s"] for run in seen["iojoule"]]
    row["engine_per_s"] = requests / median(engine)
    row["outstanding"] = summary["rate_per_s"] * summary["response_ms"]["mean"] / 1e3
    row["quoted"] = not seen["disksim"]
    peer = row.get("disksim_per_s", QUOTED.get(case.name))
    row["peer_per_s"], row["ratio"] = peer, row["iojoule_per_s"] / peer if peer else None  # type: ignore[operator]
    return row


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--requests", type=int, default=1_000_000)
    options.add_argument("--only", nargs="*", choices=[case.name for case in CASES] + ["memory"])
    options.add_argument("--iojoule", default=str(ROOT / ".venv/bin/iojoule"))
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    disksim = os.environ.get("DISKSIM")
    rows = []
    for case in CASES:
        if chosen.only and case.name not in chosen.only:
            continue
        if case.name.startswith("peer") and not disksim:
            continue
        requests = max(1000, round(case.scale * chosen.requests))
        rows.append(bench(case, requests, chosen.rounds, chosen.iojoule, disksim))
        show(rows[-1], head=len(rows) == 1, quiet=chosen.json)
    memory = {}
    if not chosen.only or "memory" in chosen.only:
        for times in (1, 10):
            row = bench(CASES[0], times * chosen.requests // 5, 1, chosen.iojoule, None)
            memory[f"{times}x"] = row["iojoule_peak_mib"]
    if chosen.json:
        print(json.dumps({"rounds": chosen.rounds, "cases": rows, "peak_mib": memory}))
        return
    if memory:
        short = chosen.requests // 5
        print(
            f"peak memory: {memory['1x']:.0f} MiB at {short:,} requests, {memory['10x']:.0f} MiB at ten times as many"
        )
    if not disksim:
        print("the peer's figures are quoted, not measured here: set DISKSIM to its binary")


def show(row: dict[str, object], *, head: bool, quiet: bool) -> None:
    if quiet:
        return
    if head:
        names = ("requests", "ours", "by cpu", "engine", "peer")
        print(f"{'requests per second':46}{''.join(f'{name:>11}' for name in names)}{'ratio':>7}{'queue':>7}{'MiB':>6}")
    peer = "–" if row["peer_per_s"] is None else f"{row['peer_per_s']:,.0f}{'*' if row['quoted'] else ''}"
    ratio = "–" if row["ratio"] is None else f"{row['ratio']:.1f}"
    columns = ("iojoule_per_s", "iojoule_per_cpu_s", "engine_per_s")
    rates = f"{row['requests']:11,}{''.join(f'{row[name]:11,.0f}' for name in columns)}{peer:>11}{ratio:>7}"
    print(f"{row['title']:46}{rates}{row['outstanding']:7.1f}{row['iojoule_peak_mib']:6.0f}", flush=True)


if __name__ == "__main__":
    main()
