"""What Yu et al. say in figures (OSDI 2000, §4.1), beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from curves import Curves, Setup, natural

from iojoule.models.sr_array import memory_pays_below

AIM = 0.15
"""How far a ratio may be from the paper's before it needs an explanation."""


@dataclass(frozen=True)
class Claim:
    """A printed ratio and how it follows from the curves."""

    figure: str
    text: str
    paper: float
    ours: Callable[[Curves], float]

    def row(self, curves: Curves) -> tuple[str, str, float, float, float]:
        """Figure, text, paper, ours, ours over paper."""
        ours = self.ours(curves)
        return self.figure, self.text, self.paper, ours, ours / self.paper


def slower(trace: str, slow: str, fast: str, speed: float = 1.0) -> Callable[[Curves], float]:
    """Mean response time of one shape over that of another."""
    return lambda curves: curves.mean(trace, slow, speed=speed) / curves.mean(trace, fast, speed=speed)


def more(trace: str, strong: str, weak: str) -> Callable[[Curves], float]:
    """Rate sustained by one shape over that by another."""
    return lambda curves: curves.sustainable(trace, strong) / curves.sustainable(trace, weak)


def memory_pays(trace: str, few: str, many: str, data_mb: float, speed: float = 1.0) -> Callable[[Curves], float]:
    """M below which memory in front of the few disks is cheaper than as many disks, for the same response time."""

    def m(curves: Curves) -> float:
        cache_mb = curves.memory_for(trace, few, curves.mean(trace, many, speed=speed), speed)
        more_disks = Setup(trace, many, "").disks - Setup(trace, few, "").disks
        return memory_pays_below(data_mb, more_disks, cache_mb)

    return m


RATIOS = (
    Claim("6", "Cello base, 6 disks: RAID-10 3x1x2 / SR-Array 2x3x1", 1.23, slower("cello-base", "3x1x2", "2x3x1")),
    Claim("6", "Cello base, 6 disks: stripe 6x1x1 / SR-Array 2x3x1", 1.42, slower("cello-base", "6x1x1", "2x3x1")),
    Claim("6", "Cello base: one disk / SR-Array 2x3x1", 1.94, slower("cello-base", "1x1x1", "2x3x1")),
    Claim("8", "TPC-C, 36 disks: RAID-10 18x1x2 / SR-Array 9x4x1", 1.23, slower("tpcc", "18x1x2", "9x4x1")),
    Claim("8", "TPC-C, 36 disks: stripe 36x1x1 / SR-Array 9x4x1", 1.39, slower("tpcc", "36x1x1", "9x4x1")),
    Claim("10", "Cello base, rate at 15 ms: 2x3x1 / RAID-10 3x1x2", 1.3, more("cello-base", "2x3x1", "3x1x2")),
    Claim("10", "Cello base, rate at 15 ms: 2x3x1 / stripe 6x1x1", 2.6, more("cello-base", "2x3x1", "6x1x1")),
    Claim("10", "TPC-C, rate at 15 ms: 36x1x1 / 18x2x1", 1.3, more("tpcc", "36x1x1", "18x2x1")),
    Claim("10", "TPC-C, rate at 15 ms: 36x1x1 / RAID-10 18x1x2", 2.1, more("tpcc", "36x1x1", "18x1x2")),
    Claim("11", "TPC-C at three times the rate: 18 disks / 36 disks", 1.76, slower("tpcc", "6x3x1", "9x4x1", 3.0)),
    Claim("11", "Cello base: M at which memory equals 2 disks", 67, memory_pays("cello-base", "1x1x1", "1x2x1", 8400)),
    Claim("11", "Cello base: M at which memory equals 4 disks", 75, memory_pays("cello-base", "1x1x1", "2x2x1", 8400)),
    Claim("11", "Cello base, x3: M at 2 disks", 20, memory_pays("cello-base", "1x1x1", "1x2x1", 8400, 3.0)),
    Claim("11", "TPC-C: M at 18 disks", 80, memory_pays("tpcc", "4x3x1", "6x3x1", 9000)),
    Claim("11", "TPC-C, x3: M at 18 disks", 24, memory_pays("tpcc", "4x3x1", "6x3x1", 9000, 3.0)),
)


@dataclass(frozen=True)
class Order:
    """Something the paper says of an order, and whether it is so here."""

    figure: str
    text: str
    found: str
    holds: bool | None


def orders(curves: Curves) -> list[Order]:
    """The orders of Figs. 7, 9 and 10."""
    made = [_schedulers(curves, "cello-base", "6x1x1", "2x3x1"), _schedulers(curves, "tpcc", "36x1x1", "9x4x1")]
    gaps = [_gaps(curves, "cello-base", "6x1x1", "2x3x1"), _gaps(curves, "tpcc", "36x1x1", "9x4x1")]
    return [*_chosen(curves), *made, *gaps, _worst(curves), _succession(curves)]


def _chosen(curves: Curves) -> list[Order]:
    shapes = ("6x1x1", "3x2x1", "2x3x1", "1x6x1")
    means = {shape: curves.mean("cello-base", shape) for shape in shapes}
    best = min(means, key=lambda shape: means[shape])
    found = ", ".join(f"{shape} {mean:.2f} ms" for shape, mean in means.items())
    near = means["2x3x1"] <= 1.05 * means[best]
    return [Order("7", "Cello base, 6 disks: the model's 2x3x1 is the best or within 5 % of it", found, near)]


def _schedulers(curves: Curves, trace: str, stripe: str, sr: str) -> Order:
    ranked = [("look", stripe), ("satf", stripe), ("rlook", sr), ("rsatf", sr)]
    rates = {f"{name} {shape}": curves.sustainable(trace, shape, name) for name, shape in ranked}
    values = list(rates.values())
    found = ", ".join(f"{name} x{rate:.4g}" for name, rate in rates.items())
    if trace == "tpcc":
        # At rates near saturation the stripe is the better one there (Fig. 10b); the order is that of each pair.
        holds = values[0] < values[1] and values[2] < values[3]
        return Order(
            "9", f"{trace}: LOOK < SATF on the stripe, RLOOK < RSATF on the SR-Array (rate at 15 ms)", found, holds
        )
    holds = values == sorted(values)
    return Order(
        "9", f"{trace}: LOOK < SATF on the stripe < RLOOK < RSATF on the SR-Array (rate at 15 ms)", found, holds
    )


def _gaps(curves: Curves, trace: str, stripe: str, sr: str) -> Order:
    gap = {
        pair: curves.sustainable(trace, shape, pair[1]) / curves.sustainable(trace, shape, pair[0])
        for pair, shape in ((("look", "satf"), stripe), (("rlook", "rsatf"), sr))
    }
    small, large = gap["rlook", "rsatf"], gap["look", "satf"]
    found = f"RSATF/RLOOK {small:.3f}, SATF/LOOK {large:.3f}"
    return Order("9", f"{trace}: the gap between RLOOK and RSATF is the smaller one", found, small < large)


def _worst(curves: Curves) -> Order:
    shapes = ("6x1x1", "3x2x1", "2x3x1", "1x6x1", "3x1x2", "1x1x6")
    rates = {shape: curves.sustainable("cello-base", shape) for shape in shapes}
    ranked = sorted(rates, key=lambda shape: rates[shape])
    found = " < ".join(f"{shape} x{rates[shape]:.4g}" for shape in ranked)
    holds = ranked[:2] == ["1x6x1", "1x1x6"] and ranked[-1] == "2x3x1"
    return Order("10", "Cello base: 1x6x1 sustains least, then the mirror 1x1x6; 2x3x1 most", found, holds)


def _succession(curves: Curves) -> Order:
    said = ["9x4x1", "12x3x1", "18x1x2", "18x2x1", "36x1x1"]
    speeds = sorted({setup.speed for setup in curves.points if setup.trace == "tpcc" and setup.cache is None})
    best: list[str] = []
    for speed in speeds:
        means = {shape: curves.mean("tpcc", shape, natural(shape), speed=speed) for shape in said}
        known = {shape: mean for shape, mean in means.items() if not math.isnan(mean)}
        if known and len(known) >= 2:
            winner = min(known, key=lambda shape: known[shape])
            if best[-1:] != [winner]:
                best.append(winner)
    return Order("10", f"TPC-C: the best shape passes from {' to '.join(said)}", " to ".join(best), best == said)
