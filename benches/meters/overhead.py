"""What eight meters at 10 Hz cost the load engine, and how late one at 1 kHz is while the engine is busy.

Three meters on a powercap tree, three on a hwmon tree, two of utilisation, each in its process, their readings stored
as a run stores them. Segments with the meters at work and with their processes halted (SIGSTOP) follow each other in
the order ABBA in one process, so that only the meters differ; a block of four gives one ratio. In brackets is the 95 %
interval of the median. Requests are recorded in memory.

Throughput is of a closed loop at depth 32 on the null target, the engine alone, and on a loop device over a cached
file; lateness of an open loop, 5,000 requests/s Poisson. At 1 kHz, a powercap tree of three domains is read: how late
each look was against its deadline; slots that were missed count in full.
What not to conclude: the trees lie in memory, so a look costs what the kernel's files cost, and nothing of an
instrument. On a machine that others load too, what the meters cost drowns in what the others take: see the intervals.
Goal: below 1 % of throughput, no measurable lateness, 200 µs at 1 kHz. Needs root (loop device, real-time priority).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt
from benches.engine import fidelity, run_folder
from benches.storage import loop_device, written_file

from iojoule import _native
from iojoule.experiment.metering import Metering
from iojoule.meters import parse_meter
from iojoule.meters.lab.hwmon import HwmonFront
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.powercap import PowercapFront
from iojoule.store.writer import RunWriter

SIZE = 256 << 20
MEMORY = Path("/dev/shm")
RANDOM = {"kind": "synthetic", "pattern": {"kind": "random"}, "sizes": [{"bytes": 4096}]}
TICK_S = 0.1
Floats = npt.NDArray[np.float64]


def trees() -> tuple[PowercapFront, HwmonFront]:
    """Attributes that stand still: what moves them would take the processor too."""
    load = Load([State(20.0, 1e6)], time.monotonic_ns())
    return PowercapFront(load, 1), HwmonFront(load, 1)


class Watched:
    """The meters of a run whose load is in the hands of the bench."""

    def __init__(self, folder: Path, sections: list[dict[str, Any]]) -> None:
        self.run = RunWriter(folder / f"run{random.randrange(10**9)}", {})
        self.metering = Metering([parse_meter(one) for one in sections], self.run, lambda text: None, None)
        self.metering.begin()

    @property
    def pids(self) -> list[int]:
        return self.metering.pids()

    def load(self, config: dict[str, Any]) -> dict[str, Any]:
        """Run a load as a step does: on a thread, while this one looks after the run ten times a second."""
        said: list[dict[str, Any]] = []
        progress = _native.Progress()
        thread = threading.Thread(
            target=lambda: said.append(json.loads(_native.block_load(json.dumps(config), progress)))
        )
        thread.start()
        while thread.is_alive():
            with self.metering.lock:
                self.run.tick()
            self.metering.latest()
            thread.join(TICK_S)
        if said[0]["errors"]:
            raise SystemExit(f"errors: {said[0]['errnos']}")
        return said[0]

    @contextmanager
    def halted(self) -> Iterator[None]:
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in self.pids:
                os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        self.metering.close()
        self.run.status = "complete"
        self.run.close()


def eight(powercap: PowercapFront, hwmon: HwmonFront) -> list[dict[str, Any]]:
    model = {"kind": "utilisation", "idle_w": 20, "cpu_w": 30, "u_rel": 0.1}
    kinds = [powercap.section()] * 3 + [hwmon.section()] * 3 + [model] * 2
    return [{**section, "name": f"m{n}", "interval": "100ms"} for n, section in enumerate(kinds)]


def cpu_s(pids: list[int]) -> float:
    """Processor seconds of processes, as the scheduler counts them."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e9


def segments(
    watched: Watched, config: dict[str, Any], rounds: int, seconds: float
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Pairs (with the meters, without them), in the order ABBA."""
    pairs = []
    for index in range(rounds):
        found: dict[bool, dict[str, Any]] = {}
        for on in (True, False) if index % 2 else (False, True):
            with ExitStack() as stack:
                run = stack.enter_context(run_folder(MEMORY))
                if not on:
                    stack.enter_context(watched.halted())
                more = {"run": str(run), "duration_ns": round(seconds * 1e9)}
                found[on] = watched.load(config | more)
            time.sleep(0.1)  # what the halted missed is not the next segment's
        pairs.append((found[True], found[False]))
    return pairs


def blocks(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Means over each ABBA: what changed evenly while it lasted is the same on both sides."""
    return [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in zip(pairs[::2], pairs[1::2], strict=False)]


def interval(ratios: list[float]) -> tuple[float, float]:
    """95 % interval of the median, by resampling."""
    draw = np.random.default_rng(1)
    medians = np.median(draw.choice(ratios, (2000, len(ratios))), axis=1)
    return float(np.quantile(medians, 0.025)), float(np.quantile(medians, 0.975))


def lateness_us(ends_ns: npt.NDArray[np.int64], spans: list[tuple[int, int]], period_ns: int) -> Floats:
    """How late each look in ``spans`` was, against the grid of deadlines; a missed slot is a period more.

    The grid's phase is the one that makes all looks least late on average: none can be before its deadline.
    """
    phases = np.arange(0, period_ns, 2000)
    phase = min(phases, key=lambda phase: float(((ends_ns - phase) % period_ns).mean()))
    missed = np.maximum(0, np.round(np.diff(ends_ns, prepend=ends_ns[0] - period_ns) / period_ns) - 1)
    late = (ends_ns - phase) % period_ns + missed * period_ns
    chosen = np.zeros(len(ends_ns), dtype=bool)
    for begin_ns, end_ns in spans:
        chosen |= (ends_ns > begin_ns + period_ns) & (ends_ns < end_ns)
    return late[chosen] / 1e3


def looks_us(watched: Watched, spans: list[tuple[int, int]]) -> Floats:
    """Lateness of every look at the package in the spans, from the meter's own record of what it read when."""
    time.sleep(1.2)  # it is written every second
    lines = (watched.run.path / "raw" / "fast.log").read_bytes().split(b"\n")
    ends = np.array([int(line.split()[0]) for line in lines if b" package-0 " in line])
    return lateness_us(ends, spans, 1_000_000)


def closed(watched: Watched, name: str, target: dict[str, Any], given: argparse.Namespace) -> None:
    """Throughput with the meters over that without."""
    pairs = segments(watched, {"target": target, "work": RANDOM | {"queue_depth": 32}}, given.rounds, given.seconds)
    rates = blocks([(_rate(on), _rate(off)) for on, off in pairs])
    ratios = [on / off for on, off in rates]
    low, high = interval(ratios)
    without = median(off for _, off in rates)
    print(
        f"closed loop, {name}: {without:,.0f}/s without; with / without {median(ratios):.4f} ({low:.4f} to {high:.4f})"
    )


def _rate(summary: dict[str, Any]) -> float:
    return float(summary["requests"] / ((summary["end_ns"] - summary["epoch_ns"]) / 1e9))


def open_loop(watched: Watched, name: str, target: dict[str, Any], given: argparse.Namespace) -> None:
    """p99 lateness with and without."""
    work = RANDOM | {"queue_depth": 32, "arrivals": {"kind": "poisson", "rate_per_s": 5000.0}}
    pairs = segments(watched, {"target": target, "work": work, "waiting": "hybrid"}, given.rounds, given.seconds)
    late = blocks([(fidelity(on)["late_p99_us"], fidelity(off)["late_p99_us"]) for on, off in pairs])
    more = [on - off for on, off in late]
    low, high = interval(more)
    on_us, off_us = (median(one[side] for one in late) for side in (0, 1))
    print(f"open loop, {name}: p99 lateness {on_us:.1f} µs with, {off_us:.1f} µs without; "
          f"difference {median(more):+.1f} µs ({low:+.1f} to {high:+.1f})", flush=True)  # fmt: skip


def fast(folder: Path, section: dict[str, Any], targets: dict[str, Any], given: argparse.Namespace) -> None:
    """Lateness of a meter at 1 kHz, without load and with the engine busy."""
    watched = Watched(folder, [{**section, "name": "fast", "interval": "1ms"}])
    for name, target in {"idle": None, **targets}.items():
        spans = []
        for _ in range(max(3, given.rounds // 4)):
            begin_ns = time.monotonic_ns()
            if target is None:
                time.sleep(given.seconds)
            else:
                with run_folder(MEMORY) as run:
                    more = {"run": str(run), "duration_ns": round(given.seconds * 1e9)}
                    watched.load({"target": target, "work": RANDOM | {"queue_depth": 32}} | more)
            spans.append((begin_ns, time.monotonic_ns()))
        late = looks_us(watched, spans)
        p50, p99, p999 = np.quantile(late, [0.5, 0.99, 0.999])
        print(f"1 kHz, engine {name}: lateness p50 {p50:.0f}, p99 {p99:.0f}, p99.9 {p999:.0f}, max {late.max():.0f} µs "
              f"of {len(late)} looks", flush=True)  # fmt: skip
    (described,) = watched.metering.describe()
    print(f"1 kHz: {described.get('scheduling')}; load average {os.getloadavg()[0]:.1f}")
    watched.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", choices=["closed", "open", "fast"])
    given = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} at the beginning", flush=True)
    powercap, hwmon = trees()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        device = stack.enter_context(loop_device(written_file(folder / "file", SIZE), "--read-only"))
        loop = {"kind": "files", "files": [{"path": device}], "direct": True, "writable": False}
        targets = {"null": {"kind": "null", "bytes": SIZE}, "loop": loop}
        if given.only != "fast":
            watched = Watched(folder, eight(powercap, hwmon))
            before_s, began = cpu_s(watched.pids), time.monotonic()
            time.sleep(3.0)
            share = (cpu_s(watched.pids) - before_s) / (time.monotonic() - began)
            print(f"eight meters at 10 Hz: {share:.2%} of a core, {share / 80 * 1e6:.0f} µs a look, without load")
            for name, target in targets.items():
                for what in (closed, open_loop):
                    if given.only in (None, what.__name__.partition("_")[0]):
                        what(watched, name, target, given)
            watched.close()
        if given.only in (None, "fast"):
            fast(folder, powercap.section(), targets, given)
    print(f"load average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
