"""Golden vectors of meters: every case of integration, clocks, registers and uncertainty, and the wrong rules beside
them, which must not come out of our code. Each value that differs is named."""

from __future__ import annotations

import csv
import json
import math
import struct
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iojoule.meters import clock
from iojoule.meters.base import Accuracy, ClockProbe
from iojoule.meters.counter import step, wrap_uncertain
from iojoule.metrics import integrate, uncertainty
from iojoule.metrics.channels import Channel, Series
from iojoule.metrics.edges import Level
from iojoule.metrics.energy import Energy, above_idle, phase_energy
from iojoule.metrics.metric import Span

DIGITS = 1e-9
"""The vectors have ten significant digits."""


def rows(golden: Path, name: str) -> list[dict[str, str]]:
    with (golden / name).open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert found
    return found


def differences(where: str, want: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """Every value of ``want`` that ``got`` does not have, by name."""
    return [
        f"{where} {name}: {got.get(name)!r}, not {value!r}"
        for name, value in want.items()
        if not _same(got.get(name), value)
    ]


def _same(got: Any, want: Any) -> bool:
    if isinstance(want, Mapping):
        return isinstance(got, Mapping) and all(_same(got.get(key), value) for key, value in want.items())
    if want in (None, ""):
        return got is None
    if isinstance(want, bool) or isinstance(got, bool):
        return bool(got) == bool(want)
    return got is not None and math.isclose(float(got), float(want), rel_tol=DIGITS, abs_tol=1e-12)


def none_differs(found: Iterable[str]) -> None:
    told = list(found)
    assert not told, "\n".join(told)


def of_windows(case: Mapping[str, Any]) -> dict[str, Any]:
    """Everything the rules say of one case of windows."""
    flags = {int(index): flag for index, flag in case.get("flags", {}).items()}
    kept = [window for index, window in enumerate(case["windows"]) if flags.get(index) != "STALE"]
    start, end, watts = (np.array(column, dtype=float) for column in zip(*kept, strict=True))
    (t0, t1), late = case["phase"], case["latency_s"]

    def ruled(begin: Any, finish: Any) -> dict[str, Any]:
        whole = integrate.interior(begin, finish, watts, t0, t1, case["interior_guard_s"])
        return {
            "interior": whole and {"n": whole.n, "mean_w": whole.mean_w, "energy_j": whole.energy_j},
            "overlap_weighted_j": integrate.overlap_weighted(begin, finish, watts, t0, t1),
            "envelope_minus_idle_j": integrate.envelope(
                begin, finish, watts, t0, t1, case["envelope_guard_s"], case["p_idle_w"]
            ),
        }

    missing = integrate.holes(start, end, t0, t1)
    gap_w = float(case.get("p_max_w", 0)) - float(case.get("p_min_w", 0))
    coverage = integrate.covered(start, end, t0, t1) / (t1 - t0)
    return ruled(start, end) | {
        "uncorrected": ruled(start + late, end + late), "coverage": coverage, "gap_s": missing,
        "quotable": coverage >= 0.98, "u_gap_j": gap_w / math.sqrt(12) * missing,
    }  # fmt: skip


TRAPS = ("arrival_", "wrong_")


def test_windows_are_integrated_as_the_vectors_say(golden: Path) -> None:
    document = json.loads((golden / "meter_window_integration.json").read_text(encoding="utf-8"))
    found = []
    for case in document["cases"]:
        want = case["recomputed"]
        if "rejected" not in want:
            known = {name: v for name, v in want.items() if name != "true_j" and not name.startswith(TRAPS)}
            found += differences(f"meter_window_integration {case['id']}", known, of_windows(case))
    none_differs(found)


def quoted(case: Mapping[str, Any]) -> Energy:
    """The energy of one case as a run would have it."""
    flags = {int(index): flag for index, flag in case.get("flags", {}).items()}
    kept = [(index, window) for index, window in enumerate(case["windows"]) if flags.get(index) != "STALE"]
    start, end = (np.array([round(w[k] * 1e9) for _, w in kept], dtype=np.int64) for k in (0, 1))
    watts = np.array([w[2] for _, w in kept], dtype=float)
    bad = np.array([flags.get(index) == "OVERLOAD" for index, _ in kept])
    channel = Channel("meter", "power", "window_mean", "W", "ac_wall")
    readings = Series(channel, start, end, watts, np.full(len(kept), np.nan), 0.0, bad, ("overload",) * bool(bad.any()))
    t0, t1 = (round(t * 1e9) for t in case["phase"])
    return phase_energy(readings, Span("measure", t0, t1), idle=Level(float(case["p_idle_w"]), 0.0))


def test_what_is_quoted_is_the_truth_and_none_of_the_wrong_rules(golden: Path) -> None:
    document = json.loads((golden / "meter_window_integration.json").read_text(encoding="utf-8"))
    found = []
    traps = 0
    for case in document["cases"]:
        want, energy = case["recomputed"], quoted(case)
        if "rejected" in want or want.get("quotable") is False:
            if energy.joules is not None or not energy.note:
                found.append(f"{case['id']}: quoted {energy.joules}, though it has no energy")
            continue
        if "true_j" in want:
            found += differences(case["id"], {"true_j": want["true_j"]}, {"true_j": energy.joules})
        for name, value in want.items():
            if name.startswith(TRAPS) and value is not None:
                traps += 1
                # By chance a wrong rule may give what the right one for a burst gives; the rule it distorts then tells.
                right = want["interior"]["energy_j"] if value == want.get("envelope_minus_idle_j") else energy.joules
                if math.isclose(value, right or 0.0, rel_tol=1e-6):
                    found.append(f"{case['id']}: {name} came out, {value} J")
    assert traps > 10
    none_differs(found)


def test_phases_that_meet_within_a_window_add_up(golden: Path) -> None:
    case = json.loads((golden / "meter_window_integration.json").read_text(encoding="utf-8"))["additive"]
    start, end, watts = (np.array(column, dtype=float) for column in zip(*case["windows"], strict=True))
    parts = [integrate.overlap_weighted(start, end, watts, *phase) for phase in case["phases"]]
    assert parts == pytest.approx(case["recomputed"]["overlap_weighted_j"], rel=DIGITS)
    assert sum(parts) == pytest.approx(case["recomputed"]["whole_j"], rel=DIGITS)


def test_the_shortest_way_bounds_the_offset_of_a_clock(golden: Path) -> None:
    for case in json.loads((golden / "meter_clock_offset.json").read_text(encoding="utf-8"))["cases"]:
        probes = [ClockProbe(*(round(t * 1e9) for t in probe)) for probe in case["probes"]]
        if "rejected" in case["recomputed"]:
            with pytest.raises(ValueError, match="no clock probe"):
                clock.best(probes)
            continue
        index = clock.best(probes)
        offset, bound = clock.offset_ns(probes[index])
        got = {"probe": index, "offset_s": offset * 1e-9, "bound_s": bound * 1e-9}
        none_differs(differences(f"meter_clock_offset {case['id']}", case["recomputed"], got))


def test_budgets_of_an_energy(golden: Path) -> None:
    found = []
    for row in rows(golden, "meter_energy_budget.csv"):
        r = {name: float(text) for name, text in row.items() if name != "id"}
        t, n = r["phase_s"], uncertainty.effective_samples(r["n"], r["lag1_correlation"])
        noise = r["noise_sd_w"] / math.sqrt(n)
        u = uncertainty.combine(
            {"instrument": t * r["u_systematic_w"], "noise": t * noise,
             "alignment": r["delta_p_w"] * r["u_alignment_s"], "gaps": r["u_gap_j"]}
        )  # fmt: skip
        energy = Energy("e", "ac_wall", t, t * r["p_w"], u)
        got = {
            "recomputed_energy_j": energy.joules, "recomputed_n_effective": n, "recomputed_u_noise_w": noise,
            "recomputed_u_energy_j": u, "recomputed_u95_energy_j": energy.expanded,
            "recomputed_u95_energy_pct": 100 * energy.expanded / (t * r["p_w"]),
        }  # fmt: skip
        want = {name: value for name, value in r.items() if name.startswith("recomputed_")}
        found += differences(f"meter_energy_budget {row['id']}", want, got)
    none_differs(found)


def test_idle_is_taken_off_with_its_covariance(golden: Path) -> None:
    """One instrument on one range: its range term cancels, its gain acts on the difference."""
    found = []
    for row in rows(golden, "meter_idle_subtraction.csv"):
        r = {name: float(text) for name, text in row.items()}
        accuracy = Accuracy(r["rdg_pct"], r["rng_pct"], r["range_w"])

        def steady(watts: float, of: Accuracy = accuracy) -> Energy:
            budget = {"gain": 10 * of.u_rel * watts, "offset": 10 * of.u_abs}
            return Energy("e", "ac_wall", 10.0, 10 * watts, uncertainty.combine(budget), budget)

        net = above_idle(steady(r["p_w"]), steady(r["idle_w"]))
        got = {
            "recomputed_net_w": net.mean_w, "recomputed_u_net_correlated_w": net.u / 10,
            "recomputed_u_net_uncorrelated_w": math.hypot(accuracy.u(r["p_w"]), accuracy.u(r["idle_w"])),
        }  # fmt: skip
        want = {name: value for name, value in r.items() if name.startswith("recomputed_")}
        found += differences(f"meter_idle_subtraction {r['p_w']:g}-{r['idle_w']:g} W", want, got)
    none_differs(found)


def test_accuracy_classes_of_instruments(golden: Path) -> None:
    found = []
    for row in rows(golden, "meter_instrument_uncertainty.csv"):
        watts, limit = float(row["reading_w"]), float(row["limit_pct"])
        range_w = float(row["range_v"]) * float(row["range_a"])
        accuracy = Accuracy(float(row["rdg_pct"]), float(row["rng_pct"]), range_w)
        half, u = accuracy.half_width(watts), accuracy.u(watts)
        share = 100 / abs(watts) if watts else None
        got = {
            "range_w": range_w, "half_width_w": half, "u_w": u, "u95_w": 2 * u,
            "half_width_pct": share and half * share, "u95_pct": share and 2 * u * share,
            "within_limit": share and int(half * share <= limit),
        }  # fmt: skip
        want = {name.removeprefix("recomputed_"): v for name, v in row.items() if name.startswith("recomputed_")}
        found += differences(f"meter_instrument_uncertainty {row['id']}", want, got)
    none_differs(found)


def test_a_ratio_carries_both_relative_uncertainties(golden: Path) -> None:
    found = []
    for row in rows(golden, "meter_ratio_uncertainty.csv"):
        value, u = uncertainty.ratio(*(float(row[name]) for name in ("iops", "u_iops", "p_w", "u_p_w")))
        got = {"iops_per_w": value, "u_iops_per_w": u, "u95_iops_per_w": 2 * u, "u95_pct": 200 * u / value}
        want = {name.removeprefix("recomputed_"): v for name, v in row.items() if name.startswith("recomputed_")}
        found += differences(f"meter_ratio_uncertainty {row['id']}", want, got)
    none_differs(found)


def test_wraps_of_rapl(golden: Path) -> None:
    found = []
    for row in rows(golden, "meter_rapl_wrap.csv"):
        scale, joules = (1000, 1e-9) if row["unit"] == "uJ" else (1, 2.0**-14)
        previous, current, modulus = (int(Fraction(row[name]) * scale) for name in ("previous", "current", "modulus"))
        used, wrapped = step(previous, current, modulus)
        want = {name: row[f"recomputed_{name}"] for name in ("delta", "wrapped", "energy_j")}
        got = {"delta": used / scale, "wrapped": int(wrapped), "energy_j": used * joules}
        found += differences(f"meter_rapl_wrap {row['id']}", want, got)
        for trap in ("recomputed_delta_max_minus_prev_plus_cur", "recomputed_delta_with_plus_one"):
            if row[trap] and float(row[trap]) == used / scale:
                found.append(f"meter_rapl_wrap {row['id']}: {trap} came out")
    none_differs(found)


def test_time_between_looks_that_wraps_allow(golden: Path) -> None:
    found = []
    for row in rows(golden, "meter_rapl_wrap_time.csv"):
        watts, gap, range_j = float(row["p_max_w"]), float(row["gap_s"]), 2**32 * 61.035e-6
        got = {
            "range_j": range_j, "wrap_s": range_j / watts, "longest_safe_gap_s": range_j / 2 / watts,
            "wrap_uncertain": int(wrap_uncertain(gap, watts, range_j)),
        }  # fmt: skip
        want = {name.removeprefix("recomputed_"): v for name, v in row.items() if name.startswith("recomputed_")}
        found += differences(f"meter_rapl_wrap_time {watts:g} W {gap:g} s", want, got)
    none_differs(found)


def test_float_registers_lose_watt_hours(golden: Path) -> None:
    found = []
    for row in rows(golden, "meter_register_resolution.csv"):
        kwh = float(row["float32_kwh"])
        bits = struct.unpack(">I", struct.pack(">f", kwh))[0]
        following = struct.unpack(">f", struct.pack(">I", bits + 1))[0]
        step_wh = (following - kwh) * 1000
        got = {"step_wh": step_wh, "resolves_1_wh": int(step_wh <= 1)}
        want = {name.removeprefix("recomputed_"): v for name, v in row.items() if name.startswith("recomputed_")}
        found += differences(f"meter_register_resolution {kwh:g} kWh", want, got)
    none_differs(found)
