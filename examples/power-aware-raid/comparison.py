"""Thesis beside simulation beside bound: every figure of seeds/000 section 6 that has a number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from figures import Run, above, saving, savings_over_time

THESIS = {
    "lru_saving_mean_first": 3.0,
    "lru_saving_mean_second": 5.0,
    "lru_saving_max": 46.0,
    "paraid_saving_min": 15.0,
    "paraid_saving_max": 40.0,
    "paraid_saving_mean": 23.0,
    "paraid_saving_worst": 0.0,
    "latency_max_ratio": 150.0,
    "latency_above_raid0_max": 10.0,
    "completion_max_ratio": 50.0,
    "completion_above_raid0_max": 15.0,
    "spin_up_stripe": 20.0,
}
"""As printed; the names are those of the golden table `000_results.csv`."""

IDLE_W, STANDBY_W, SPIN_UP_S = 10.2, 2.5, 10.9
DRIVES, LOW_GEAR = 4, 2
CYCLES_PER_DAY = 20_000 / (5 * 365)


@dataclass(frozen=True)
class Row:
    """One line: what is compared, the thesis, ours, the bound, and a plain word on the difference."""

    quantity: str
    thesis: str
    ours: str
    bound: str
    why: str


def bounds() -> Mapping[str, float]:
    """What these drives allow, in per cent of the power of drives that idle."""
    rest = 100 * (1 - STANDBY_W / IDLE_W)
    return {"all at rest": rest, "low gear": rest * (DRIVES - LOW_GEAR) / DRIVES}


def rows(runs: Mapping[str, Run]) -> list[Row]:
    base, rest, paraid = runs["RAID-0"], runs["spin-down"], runs["PARAID"]
    limit = bounds()
    oracle = 100 * (1 - base.summary["oracle"]["energy_j"] / base.summary["energy_j"])
    rest_over_time, gears_over_time = savings_over_time(rest, base) * 100, savings_over_time(paraid, base) * 100
    first = float(base.latency_ms[-1])
    last = float(base.completion_ms[-1])
    slowest_s = float(rest.completion_ms[-1]) / 1e3
    t = THESIS
    return [
        Row(
            "saved by spin-down, mean",
            f"{t['lru_saving_mean_first']:g} %, also {t['lru_saving_mean_second']:g} %",
            f"{100 * saving(rest, base):.1f} %",
            f"{oracle:.1f} % (oracle)",
            "memory answers what was read before, so drives idle longer than the thesis' did; see the variants",
        ),
        Row(
            "saved by spin-down in 15 s, most",
            f"{t['lru_saving_max']:g} %",
            f"{rest_over_time.max():.1f} %",
            f"{limit['all at rest']:.1f} % (all four in standby)",
            "the thesis' drives never rested all four at once; these do",
        ),
        Row(
            "saved by PARAID, mean",
            f"{t['paraid_saving_mean']:g} %",
            f"{100 * saving(paraid, base):.1f} %",
            f"{limit['low gear']:.1f} % (two of four in standby)",
            "the low gear carries this load at all hours; the thesis shifted up around midday",
        ),
        Row(
            "saved by PARAID in 15 s, least to most",
            f"{t['paraid_saving_min']:g} to {t['paraid_saving_max']:g} %, at worst {t['paraid_saving_worst']:g} %",
            f"{gears_over_time.min():.1f} to {gears_over_time.max():.1f} %",
            f"{limit['low gear']:.1f} %",
            "40 % is above what two drives in standby can save; in 15 s with work RAID-0 draws more than idle power",
        ),
        Row(
            "largest latency, spin-down over RAID-0",
            f"over {t['latency_max_ratio']:g}",
            f"{rest.latency_ms[-1] / first:.0f}",
            "–",
            f"a spin-up over the slowest of RAID-0's first reads, {first:.0f} ms without network or server",
        ),
        Row(
            "spin-down: requests above RAID-0's largest latency",
            f"{t['latency_above_raid0_max']:g} %",
            f"{100 * above(rest.latency_ms, first):.1f} %",
            "–",
            "requests that memory answers are in the count",
        ),
        Row(
            "largest completion time, spin-down over RAID-0",
            f"over {t['completion_max_ratio']:g}",
            f"{rest.completion_ms[-1] / last:.0f}",
            "–",
            f"RAID-0's slowest takes {last / 1e3:.2f} s here",
        ),
        Row(
            "spin-down: requests above RAID-0's largest completion time",
            f"{t['completion_above_raid0_max']:g} %",
            f"{100 * above(rest.completion_ms, last):.1f} %",
            "–",
            "as above",
        ),
        Row(
            "slowest file over drives at rest",
            f"over {t['spin_up_stripe']:g} s",
            f"{slowest_s:.1f} s",
            f"{SPIN_UP_S:g} s each, one after the other {DRIVES * SPIN_UP_S:g} s",
            "a file is read from its start: its next drive is woken when the read before it has come",
        ),
        Row(
            "PARAID's latency over RAID-0's: median, 99th, largest of what the drives served",
            "slightly better",
            ", ".join(f"{ratio:.2f}" for ratio in _ratios(paraid, base)),
            "–",
            "two drives seek as four do; in the low gear half of a file's blocks are on each",
        ),
        Row(
            "spin-ups per drive-day: spin-down, PARAID",
            "not given",
            f"{rest.spin_ups_per_drive_day:.1f}, {paraid.spin_ups_per_drive_day:.1f}",
            f"{CYCLES_PER_DAY:.1f} (20,000 starts in five years)",
            "days of the drive's own time: the log runs eight times as fast",
        ),
        Row(
            "energy over the oracle's: RAID-0, spin-down, PARAID",
            "not given",
            ", ".join(f"{run.oracle_ratio:.2f}" for run in (base, rest, paraid) if run.oracle_ratio is not None),
            "1",
            "the oracle knows every idle period and is back in time",
        ),
    ]


def _ratios(run: Run, base: Run) -> list[float]:
    served, others = (one.latency_ms[one.latency_ms > 0] for one in (run, base))
    if not len(served) or not len(others):
        return []
    return [float(np.percentile(served, q) / np.percentile(others, q)) for q in (50, 99, 100)]
