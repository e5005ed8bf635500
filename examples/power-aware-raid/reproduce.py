"""Oldham (2005), section 6, in simulated time: one command, one table, one page.

python examples/power-aware-raid/reproduce.py -o out
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import comparison
import day
import figures
import page

from iojoule.sim import design
from iojoule.sim.run import run_point

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Variant:
    """One thing that the thesis leaves open, or that might be done about what it found."""

    name: str
    weblog: Mapping[str, Any] = field(default_factory=dict)
    spin_down: Mapping[str, Any] = field(default_factory=dict)
    objects: int = 2000


ACCESS_TIMES = {"access_times": "30s"}
VARIANTS = (
    Variant("reads alone"),
    Variant("times of last access", ACCESS_TIMES),
    Variant("10,000 objects", objects=10_000),
    Variant("10,000 objects, times of last access", ACCESS_TIMES, objects=10_000),
    Variant("no memory for files", {"memory": "0B"}),
    Variant("two reads of a file under way at once", {"reads_ahead": 2}),
    Variant("spin-downs rationed to 20,000 in five years", spin_down={"ration": {"cycles": 20_000, "years": 5}}),
    Variant("adaptive threshold", spin_down={"kind": "adaptive", "threshold": None}),
    Variant(
        "all drives wake together (a policy in Python)",
        spin_down={"kind": "python", "threshold": None, "file": str(HERE / "my_policy.py"), "class": "Together"},
    ),
)
"""The first two stand in the comparison with the thesis."""


def simulate(folder: Path, variant: Variant, *, seed: int, scale: float) -> tuple[figures.Runs, day.Day]:
    """Makes the day in `folder` and runs every case of the design on it, each into a run folder there."""
    made = day.make(folder, seed=seed, objects=variant.objects, scale=scale)
    raw = tomllib.loads((HERE / "day.toml").read_text(encoding="utf-8"))
    raw["report"]["warmup"] = f"{day.window(scale).start_ns / 1e9:g}s"
    raw["trace"]["weblog"] |= variant.weblog
    for case in raw["case"]:
        if case["name"] == "spin-down":
            changed = {**case["policy"], **variant.spin_down}
            case["policy"] = {key: value for key, value in changed.items() if value is not None}
    runs = {}
    for point in design.of(raw, folder).points:
        name = point.parameters["case"]
        summary = run_point(design.of(raw, folder), point, folder / name)
        runs[name] = figures.of(name, folder / name, summary, day.window(scale))
    return runs, made


def reproduce(
    output: Path, *, seed: int = 1, scale: float = 1.0, variants: Sequence[Variant] = VARIANTS
) -> dict[str, Any]:
    """Writes `report.html` and `results.json` into `output`, which is made; returns what the latter holds."""
    output.mkdir(parents=True)
    shown: list[tuple[Variant, figures.Runs]] = []
    about: dict[str, str] = {}
    for number, variant in enumerate(variants):
        folder = output / f"{number}"
        folder.mkdir()
        began = perf_counter()
        runs, made = simulate(folder, variant, seed=seed, scale=scale)
        print(f"{variant.name}: a day made and simulated three times in {perf_counter() - began:.1f} s")
        about = about or _about(made, seed)
        shown.append((variant, runs))
    rows = comparison.rows([runs for _, runs in shown[:2]])
    names = [variant.name for variant, _ in shown[:2]]
    told = [_told(variant, runs) for variant, runs in shown]
    document = {
        "about": about,
        "columns": names,
        "rows": [asdict(row) for row in rows],
        "variants": told,
        "bounds_pct": dict(comparison.bounds()),
    }
    (output / "results.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    text = page.build(shown[0][1], names, rows, told, about)
    (output / "report.html").write_text(text, encoding="utf-8")
    _print([["", "thesis", *names, "bound"], *([row.quantity, row.thesis, *row.ours, row.bound] for row in rows)])
    _print([list(told[0]), *(list(line.values()) for line in told)])
    return document


def _told(variant: Variant, runs: figures.Runs) -> dict[str, str]:
    base, rest, paraid = runs["RAID-0"], runs["spin-down"], runs["PARAID"]
    return {
        "variant": variant.name,
        "saved by spin-down": comparison.percent(figures.saving(rest, base)),
        "the oracle saves": f"{comparison.oracle_saving(runs):.1f} %",
        "saved by PARAID": comparison.percent(figures.saving(paraid, base)),
        "above RAID-0's largest latency": f"{100 * figures.above(rest.latency_ms, float(base.latency_ms[-1])):.1f} %",
        "slowest file": f"{rest.completion_ms[-1] / 1e3:.1f} s",
        "spin-ups per drive-day": f"{rest.spin_ups_per_drive_day:.0f}",
    }


def _about(made: day.Day, seed: int) -> dict[str, str]:
    return {
        "requests of the day": f"{made.requests:,}",
        "bytes sent in the day": f"{made.bytes:,}",
        "objects": f"{made.objects:,} of together {made.object_bytes:,} bytes",
        "sizes": f"as synthesised, times {made.factor:.4f} so that the day sends what the thesis states",
        "seed": str(seed),
        "drive": "preset ultrastar-36z15: power figures published second hand, mechanics partly assumed",
    }


def _print(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Oldham (2005), section 6, in simulated time.")
    parser.add_argument("-o", "--output", type=Path, default=Path("power-aware-raid"), help="A folder that is made.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="Only what is compared with the thesis.")
    given = parser.parse_args()
    reproduce(given.output, seed=given.seed, variants=VARIANTS[:2] if given.quick else VARIANTS)
    print(f"report: {given.output / 'report.html'}")
