"""Yu et al., "Trading Capacity for Performance in a Disk Array" (OSDI 2000), §4.1, evaluated again: Figures 6 to 11.

    python examples/sr-array/evaluate.py [--output sr-array] [--length 1.0] [--threads N] [--check]

Runs the sweeps beside this file, looks closer where curves cross 15 ms, and writes report.html and figures.json into
the output folder. Started again, it goes on where it was. The traces are drawn from Table 3 alone; --length 0.05 plays
the first twentieth of each.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from claims import AIM, RATIOS, orders
from curves import Curves, Setup

from iojoule import _native
from iojoule.sim import design
from iojoule.sim.results import rows
from iojoule.sim.sweep import SweepFolder

HERE = Path(__file__).resolve().parent
SWEEPS = ("figures-6-7", "figure-8", "figures-9-10-cello", "figures-9-10-tpcc", "figure-11")
CLOSER = 1
"""Rounds in which the bracket around 15 ms is cut in three."""


def main() -> int:
    options = arguments()
    began = time.monotonic()
    curves = Curves()
    for name in SWEEPS:
        simulate(design.read(HERE / f"{name}.toml"), name, curves, options)
    for number in range(CLOSER):
        cases = closer(curves)
        if not cases:
            break
        sweep = design.of({**sections("figures-9-10-cello"), "case": cases}, HERE)
        simulate(sweep, f"closer-{number + 1}", curves, options)
    wall = time.monotonic() - began
    write(curves, options, wall)
    ratios = [claim.row(curves) for claim in RATIOS]
    for figure, text, paper, ours, ratio in ratios:
        said_ours = "not reached" if math.isnan(ours) else f"{ours:<8.3f} ratio {ratio:.2f}"
        print(f"Fig. {figure:<3} {text:<66} paper {paper:<5} ours {said_ours}")
    for order in orders(curves):
        print(f"Fig. {order.figure:<3} {'holds' if order.holds else 'FAILS'}: {order.text}: {order.found}")
    requests = sum(found.requests for found in curves.points.values())
    print(f"{len(curves.points)} points, {requests:,} requests, {wall:.0f} s; {options.output / 'report.html'}")
    near = all(abs(ratio - 1) <= AIM for *_, ratio in ratios)
    return 0 if near or not options.check else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("sr-array"))
    parser.add_argument("--length", type=float, default=1.0, help="share of each trace that is played")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--check", action="store_true", help="exit 1 where a ratio is not within 15 %% of the paper's")
    return parser.parse_args()


def sections(name: str) -> dict[str, Any]:
    raw = design.read(HERE / f"{name}.toml").source.raw
    return {key: value for key, value in raw.items() if key not in ("case", "sweep")}


def simulate(sweep: design.Sweep, name: str, curves: Curves, options: argparse.Namespace) -> None:
    """Run what is not finished of a sweep and add its points."""
    began = time.monotonic()
    output = options.output / name
    asked = replace(sweep, points=[drawn(point, options) for point in sweep.points])
    folder = SweepFolder.open(asked, output, resume=output.exists())
    outcome = folder.run(threads=options.threads)
    if outcome.errors:
        raise SystemExit("\n".join(outcome.errors))
    if outcome.status == "interrupted":
        raise SystemExit(130)
    lines = folder.finished
    for point, row in zip(sweep.points, rows(sweep, [lines.get(key) for key in folder.keys]), strict=True):
        array, trace, cache = point.design.array, point.design.trace, point.design.cache
        if array is None or array.shape is None or trace.synth is None:
            raise SystemExit(f"{name}: every point has a shape and a synthetic trace")
        size = None if cache is None else f"{cache.size // 1_000_000}MB"
        curves.add(Setup(trace.synth, array.shape, array.scheduler, trace.speed, size), row)
    print(f"{name}: {len(sweep.points)} points in {time.monotonic() - began:.0f} s", file=sys.stderr)


def drawn(point: design.Point, options: argparse.Namespace) -> design.Point:
    """The point with its trace drawn once, into a file, for all the points that play it."""
    trace, seed = point.design.trace, point.design.design.seed
    file = options.output / "traces" / f"{trace.synth}-{options.length:g}-{seed}.parquet"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        changes = {"length": options.length, "seed": seed}
        _native.trace_synth(json.dumps({"output": str(file), "profile": trace.synth, "changes": changes}))
    played = trace.model_copy(update={"synth": None, "file": file})
    return replace(point, design=point.design.model_copy(update={"trace": played}))


def closer(curves: Curves) -> list[dict[str, Any]]:
    """Cases that cut every bracket around 15 ms in three."""
    cases = []
    series = sorted({(s.trace, s.shape, s.scheduler) for s in curves.points if s.cache is None and s.speed > 1})
    for trace, shape, scheduler in series:
        bracket = curves.bracket(trace, shape, scheduler)
        if bracket is None or bracket[0] == 0.0 or bracket[1] / bracket[0] < 1.02:
            continue
        low, high = bracket
        speeds = [round(low * (high / low) ** (part / 3), 4) for part in (1, 2)]
        array = {"shape": shape, "scheduler": scheduler}
        cases.append(
            {"name": f"{trace} {shape} {scheduler}", "array": array, "trace": {"synth": trace, "speed": speeds}}
        )
    return cases


def write(curves: Curves, options: argparse.Namespace, wall: float) -> None:
    from page import build

    points = [
        {
            "trace": setup.trace, "shape": setup.shape, "scheduler": setup.scheduler, "speed": setup.speed,
            "cache": setup.cache, "mean_ms": found.mean_ms, "sustained": found.sustained, "requests": found.requests,
        }
        for setup, found in sorted(curves.points.items(), key=lambda item: str(item[0]))
    ]  # fmt: skip
    claims = [
        dict(zip(("figure", "text", "paper", "ours", "ratio"), claim.row(curves), strict=True)) for claim in RATIOS
    ]
    said = [{"figure": o.figure, "text": o.text, "found": o.found, "holds": o.holds} for o in orders(curves)]
    document = {"length": options.length, "wall_s": wall, "ratios": claims, "orders": said, "points": points}
    text = json.dumps(plain(document), indent=1)
    (options.output / "figures.json").write_text(text + "\n", encoding="utf-8")
    (options.output / "report.html").write_text(build(curves, options.length, wall), encoding="utf-8")


def plain(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main())
