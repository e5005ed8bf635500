"""Energy of a phase: windows are held, instants are joined, counters are differenced; golden vectors meter_*."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iojoule.metrics import integrate
from iojoule.metrics.channels import Channel, Series
from iojoule.metrics.edges import Level
from iojoule.metrics.energy import above_idle, phase_energy, total
from iojoule.metrics.metric import Span

KINDS = {"window_mean": "W", "instant": "W", "counter": "J"}
TRAPS = ("arrival_", "wrong_", "uncorrected")


def series(
    windows: list[tuple[float, float, float]],
    kind: str = "window_mean",
    flags: dict[int, str] | None = None,
    u_rel: float | None = None,
    u_abs: float | None = None,
    u_time_s: float = 0.0,
    meter: str = "m",
    name: str = "c",
) -> Series:
    """Readings in seconds, as the room sees them after stale repeats were left out."""
    marks = flags or {}
    rows = [(i, w) for i, w in enumerate(windows) if marks.get(i) != "stale"]
    channel = Channel(meter, name, kind, KINDS[kind], "ac_wall", u_rel=u_rel, u_abs=u_abs)
    return Series(
        channel,
        np.array([round(w[0] * 1e9) for _, w in rows], dtype=np.int64),
        np.array([round(w[1] * 1e9) for _, w in rows], dtype=np.int64),
        np.array([w[2] for _, w in rows], dtype=np.float64),
        np.full(len(rows), np.nan),
        u_time_s,
        np.array([marks.get(i) in ("overload", "invalid") for i, _ in rows], dtype=bool),
        tuple(sorted(set(marks.values()))),
    )


def span(t0: float, t1: float) -> Span:
    return Span("measure", round(t0 * 1e9), round(t1 * 1e9))


def test_window_rules_agree_with_the_golden_cases(document: Callable[[str], Any]) -> None:
    cases = document("meter_window_integration.json")["cases"]
    assert len(cases) > 10
    for case in cases:
        want = case["recomputed"]
        if "rejected" in want:
            continue
        stale = {int(i) for i, flag in case.get("flags", {}).items() if flag == "STALE"}
        rows = [w for i, w in enumerate(case["windows"]) if i not in stale]
        start, end, watts = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        t0, t1 = map(float, case["phase"])
        whole = integrate.interior(start, end, watts, t0, t1, case["interior_guard_s"])
        if want["interior"] is None:
            assert whole is None, case["id"]
        else:
            assert whole is not None
            assert (whole.n, whole.mean_w, whole.energy_j) == pytest.approx(tuple(want["interior"].values())), case[
                "id"
            ]
        assert integrate.overlap_weighted(start, end, watts, t0, t1) == pytest.approx(want["overlap_weighted_j"])
        assert integrate.covered(start, end, t0, t1) / (t1 - t0) == pytest.approx(want["coverage"])
        if "envelope_minus_idle_j" in want:
            got = integrate.envelope(start, end, watts, t0, t1, case["envelope_guard_s"], case["p_idle_w"])
            expected = want["envelope_minus_idle_j"]
            assert got == (None if expected is None else pytest.approx(expected)), case["id"]


def test_a_phase_is_the_sum_of_its_parts(document: Callable[[str], Any]) -> None:
    case = document("meter_window_integration.json")["additive"]
    start, end, watts = (np.array(column, dtype=float) for column in zip(*case["windows"], strict=True))
    parts = [integrate.overlap_weighted(start, end, watts, *phase) for phase in case["phases"]]
    assert parts == pytest.approx(case["recomputed"]["overlap_weighted_j"])
    assert sum(parts) == pytest.approx(case["recomputed"]["whole_j"])


def test_the_energy_of_a_phase_is_true_where_the_truth_is_known(document: Callable[[str], Any]) -> None:
    """phase_energy picks the rule itself; where it quotes an energy, it is the true one."""
    for case in document("meter_window_integration.json")["cases"]:
        flags = {int(i): flag.lower() for i, flag in case.get("flags", {}).items()}
        energy = phase_energy(
            series(case["windows"], flags=flags), span(*case["phase"]), idle=Level(case["p_idle_w"], 0.0)
        )
        want = case["recomputed"]
        if "rejected" in want or want.get("quotable") is False:
            assert energy.joules is None and energy.note, case["id"]
        elif "true_j" in want:
            assert energy.joules == pytest.approx(want["true_j"]), case["id"]


def test_instants_are_joined_by_straight_lines(document: Callable[[str], Any]) -> None:
    for case in document("meter_instant_samples.json")["cases"]:
        times, watts = (np.array(column, dtype=float) for column in zip(*case["samples"], strict=True))
        want = case["recomputed"]["energy_j"]
        got = integrate.trapezoid(times, watts, *map(float, case["phase"]))
        assert got == (None if want is None else pytest.approx(want)), case["id"]


def test_channels_scanned_one_after_another_meet_at_one_instant(document: Callable[[str], Any]) -> None:
    case = document("meter_instant_samples.json")["skewed_channels"]
    when = np.array([case["instant"]])
    volts, shunt = (
        integrate.at_common_instant(*(np.array(c, dtype=float) for c in zip(*case[name], strict=True)), when)
        for name in ("v", "v_shunt")
    )
    assert integrate.rail_power(volts, shunt / case["r_ohm"]) == pytest.approx([case["recomputed"]["p_w"]])


def test_counters_are_interpolated_at_the_ends_only() -> None:
    steps = [(0.0, 1.0, 10.0), (1.0, 2.0, 10.0), (2.0, 3.0, 30.0), (3.0, 4.0, 10.0)]
    energy = phase_energy(series(steps, "counter"), span(0.5, 3.5))
    assert energy.joules == pytest.approx(5 + 10 + 30 + 5)
    # One interval between reads times the spread of the power, uniform between least and greatest.
    assert energy.budget["integration"] == pytest.approx(1.0 * 20 / math.sqrt(12))
    whole = phase_energy(series(steps, "counter"), span(0, 4))
    assert whole.joules == pytest.approx(60) and "integration" not in whole.budget


def test_a_counter_step_lost_at_an_end_leaves_a_gap_and_a_known_uncertainty() -> None:
    steps = [(float(t), t + 1.0, 10.0) for t in range(-3, 103) if t != -1]
    energy = phase_energy(series(steps, "counter", u_time_s=0.01), span(-0.5, 100.0))
    assert energy.joules == pytest.approx(1005.0, rel=1e-3)
    assert math.isfinite(energy.u) and energy.budget["alignment"] == pytest.approx(math.hypot(10, 10) * 0.01)


def test_counters_that_do_not_reach_over_the_phase_give_no_energy() -> None:
    energy = phase_energy(series([(0.0, 1.0, 10.0), (1.0, 2.0, 10.0)], "counter"), span(0.5, 3.0))
    assert energy.joules is None and "cover" in energy.note


def test_zero_and_negative_readings_count() -> None:
    windows = [(float(i), float(i + 1), p) for i, p in enumerate([0.0, -0.2, 0.4, 0.2])]
    assert phase_energy(series(windows), span(0, 4)).joules == pytest.approx(0.4)


def test_an_overload_inside_the_phase_leaves_no_energy_and_outside_it_does() -> None:
    windows = [(float(i), float(i + 1), 12.0) for i in range(8)]
    inside = phase_energy(series(windows, flags={3: "overload"}), span(2, 6))
    assert inside.joules is None and "overload" in inside.note
    assert phase_energy(series(windows, flags={7: "overload"}), span(2, 6)).joules == pytest.approx(48)


def test_a_gap_of_two_percent_is_the_most_that_is_quoted() -> None:
    windows = [(float(i), float(i + 1), 10.0 + i % 2) for i in range(200)]
    fine = phase_energy(series([w for w in windows if w[0] != 100]), span(0, 200))
    assert fine.joules == pytest.approx(2100, rel=1e-3)
    assert fine.budget["gaps"] == pytest.approx(1 / math.sqrt(12))
    lost = phase_energy(series([w for w in windows if not 100 <= w[0] < 105]), span(0, 200))
    assert lost.joules is None and lost.coverage == pytest.approx(0.975)


def test_gain_and_offset_do_not_shrink_with_more_samples() -> None:
    one = [(float(i), float(i + 1), 18.0) for i in range(100)]
    many = [(i / 10, (i + 1) / 10, 18.0) for i in range(1000)]
    budgets = [phase_energy(series(w, u_rel=0.001, u_abs=0.02), span(0, 100)).u for w in (one, many)]
    assert budgets == pytest.approx([100 * (0.018 + 0.02)] * 2)


def test_a_clock_that_is_off_costs_the_step_at_the_edge(table: Callable[[str], list[dict[str, Any]]]) -> None:
    """Samples joined by lines move with the clock: ΔP for every second, once, since both ends shift alike."""
    for row in table("meter_alignment.csv"):
        t1 = 60 + row["phase_s"]
        times = [float(t) for t in np.arange(0.125, t1 + 60, 0.25)]
        samples = [(t, t, row["p_w"] if 60 < t < t1 else row["p_neighbour_w"]) for t in times]
        energy = phase_energy(series(samples, "instant", u_time_s=row["shift_s"]), span(60, t1))
        assert energy.budget.get("alignment", 0.0) == pytest.approx(row["recomputed_error_j"])


def test_whole_windows_clear_of_the_edges_do_not_care_for_a_shift_of_the_clock() -> None:
    for shift in (-0.9, 0.0, 0.9):
        windows = [(i + shift, i + 1 + shift, 12.0 if 5 <= i < 35 else 5.0) for i in range(40)]
        energy = phase_energy(series(windows, u_time_s=0.5), span(5, 35))
        assert energy.joules == pytest.approx(360) and "alignment" not in energy.budget


def test_where_no_window_clears_the_edges_a_shift_of_the_clock_is_paid_for() -> None:
    windows = [(float(i), float(i + 1), 12.0 if i == 5 else 5.0) for i in range(4, 8)]
    energy = phase_energy(series(windows, u_time_s=2.0), span(5, 6))
    assert energy.joules == pytest.approx(12) and energy.budget["alignment"] == pytest.approx(14)


def test_channels_of_one_meter_err_together_and_two_meters_apart() -> None:
    windows = [(float(i), float(i + 1), 10.0) for i in range(10)]
    parts = []
    for meter, name in (("a", "x"), ("a", "y"), ("b", "z")):
        one = series(windows, u_rel=0.01, meter=meter, name=name)
        parts.append((one.channel, phase_energy(one, span(0, 10))))
    assert total("two", "ac_wall", parts[:2]).u == pytest.approx(2.0)
    assert total("two", "ac_wall", parts[1:]).u == pytest.approx(math.sqrt(2))
    assert total("three", "ac_wall", parts).u == pytest.approx(math.hypot(2, 1))


def test_a_total_without_one_of_its_parts_is_no_total() -> None:
    fine, lost = series([(0.0, 10.0, 10.0)]), series([])
    energy = total("both", "ac_wall", [(s.channel, phase_energy(s, span(0, 10))) for s in (fine, lost)])
    assert energy.joules is None and "no readings" in energy.note


def test_the_offset_cancels_when_idle_is_taken_off() -> None:
    windows = [(float(i), float(i + 1), 5.0 if i < 10 else 12.0) for i in range(20)]
    readings = series(windows, u_rel=0.001, u_abs=0.5)
    net = above_idle(phase_energy(readings, span(10, 20)), phase_energy(readings, span(0, 10)))
    assert net.joules == pytest.approx(70) and net.u == pytest.approx(0.07)


def test_what_a_display_rounds_is_no_error_of_its_gain_and_does_not_cancel_when_idle_is_taken_off() -> None:
    """A display of 1 W: 5.4 W is shown as 5 W and 12.6 W as 13 W, so that 7.2 W above idle are read as 8 W."""
    read = series([(i, i + 1, 5.0 if i < 30 else 13.0) for i in range(60)], u_rel=0.01)
    read = replace(read, channel=replace(read.channel, u_digit=1 / math.sqrt(12)))
    idle, active = phase_energy(read, span(0, 30)), phase_energy(read, span(30, 60))
    assert active.u == pytest.approx(30 * math.hypot(0.01 * 13, 1 / math.sqrt(12)))
    net = above_idle(active, idle)
    assert net.joules is not None and abs(net.joules - 30 * 7.2) <= net.expanded
    assert net.u == pytest.approx(30 * math.hypot(0.01 * 8, math.sqrt(2 / 12)))


def test_what_was_not_known_of_time_long_before_a_phase_does_not_blur_its_edges() -> None:
    windows = series([(t, t + 1.0, 5.0) for t in range(20)])
    known = replace(windows, u_time_s=0.3, u_times_s=np.array([0.3] * 5 + [0.01] * 15))
    assert known.u_time_near(10 * 10**9, 15 * 10**9) == 0.01
    assert known.u_time_near(6_500_000_000, 15 * 10**9) == 0.3  # the window two before an edge tells of it
    assert windows.u_time_near(0, 10**9) == windows.u_time_s
