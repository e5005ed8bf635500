"""Laws that hold for any readings: energy adds up over adjacent phases, scales, does not mind where a known clock
begins, and is never surer than its instrument."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iojoule.metrics import integrate
from iojoule.metrics.channels import Channel, Series
from iojoule.metrics.energy import Energy, phase_energy
from iojoule.metrics.metric import Span

S = 10**9
KINDS = ("window_mean", "counter", "instant")
U_REL, U_ABS = 0.001, 0.02
LEVELS = st.lists(st.floats(-5, 100, allow_nan=False), min_size=12, max_size=40)


def readings(values: list[float], kind: str, interval_s: float = 1.0, u_time_s: float = 0.0) -> Series:
    """Readings every interval from 0 on; values are watts, of a counter joules per step."""
    start = np.round(np.arange(len(values)) * interval_s * S).astype(np.int64)
    end = start if kind == "instant" else start + round(interval_s * S)
    channel = Channel("m", "c", kind, "J" if kind == "counter" else "W", "ac_wall", u_rel=U_REL, u_abs=U_ABS)
    none = np.full(len(values), math.nan)
    return Series(channel, start, end, np.array(values, dtype=float), none, u_time_s, np.zeros(len(values), dtype=bool))


def energy(of: Series, t0: float, t1: float, origin_ns: int = 0) -> Energy:
    return phase_energy(of, Span("p", origin_ns + round(t0 * S), origin_ns + round(t1 * S)))


@pytest.mark.parametrize("kind", ["counter", "instant"])
@given(values=LEVELS, at=st.floats(3.5, 7.5))
def test_counters_and_samples_add_up_over_adjacent_phases(kind: str, values: list[float], at: float) -> None:
    at = round(at, 3)
    of = readings(values, kind)
    first, second, whole = (energy(of, *phase).joules for phase in ((2.25, at), (at, 9.5), (2.25, 9.5)))
    assert first is not None and second is not None
    assert first + second == pytest.approx(whole, abs=1e-6)


@given(values=LEVELS, at=st.integers(4, 7))
def test_windows_that_the_edges_do_not_cut_add_up_over_adjacent_phases(values: list[float], at: int) -> None:
    of = readings(values, "window_mean")
    first, second, whole = (energy(of, *phase).joules for phase in ((2, at), (at, 9), (2, 9)))
    assert first is not None and second is not None
    assert first + second == pytest.approx(whole, abs=1e-6)


@settings(deadline=None)
@given(
    watts=st.lists(st.floats(1, 100), min_size=4, max_size=4),
    shift=st.floats(0.02, 0.98),
    lengths=st.lists(st.floats(5, 30), min_size=2, max_size=2),
)
def test_cut_windows_add_up_within_what_is_quoted(watts: list[float], shift: float, lengths: list[float]) -> None:
    """Steps of power where phases meet; each window is the true mean of what it saw."""
    edges = np.cumsum([20.0, *lengths, 20.0])
    edges = np.round(edges, 6)

    def joules(t: np.ndarray) -> np.ndarray:
        return np.interp(t, np.array([0.0, *edges]), np.cumsum([0.0, *(np.diff([0.0, *edges]) * watts)]))

    at = np.arange(shift, edges[-1] - 1, 1.0)
    of = readings(list(np.diff(joules(at))), "window_mean")
    moved = replace(of, start_ns=of.start_ns + round(shift * S), end_ns=of.end_ns + round(shift * S))
    first, second, whole = (
        energy(moved, *phase) for phase in ((edges[0], edges[1]), (edges[1], edges[2]), (edges[0], edges[2]))
    )
    assert first.joules is not None and second.joules is not None and whole.joules is not None
    spread = first.expanded + second.expanded + whole.expanded
    assert abs(first.joules + second.joules - whole.joules) <= spread + 1e-9
    for part, (a, b) in ((first, edges[:2]), (second, edges[1:3])):
        true = float(np.diff(joules(np.array([a, b])))[0])
        assert part.joules is not None and abs(part.joules - true) <= part.expanded + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@given(values=LEVELS, factor=st.floats(0.1, 50))
def test_a_voltage_k_times_as_high_is_k_times_the_energy_and_what_is_not_known_of_it(
    kind: str, values: list[float], factor: float
) -> None:
    of = readings(values, kind)
    more = replace(of, value=of.value * factor, channel=replace(of.channel, u_abs=U_ABS * factor))
    one, other = energy(of, 2.25, 9.5), energy(more, 2.25, 9.5)
    assert one.joules is not None
    assert other.joules == pytest.approx(factor * one.joules, rel=1e-6, abs=1e-6 * factor)
    assert other.u == pytest.approx(factor * one.u, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@given(values=LEVELS, shift_ns=st.integers(-(10**15), 10**15))
def test_a_clock_offset_that_is_known_changes_nothing(kind: str, values: list[float], shift_ns: int) -> None:
    of = readings(values, kind)
    moved = replace(of, start_ns=of.start_ns + shift_ns, end_ns=of.end_ns + shift_ns)
    one, other = energy(of, 2.25, 9.5), energy(moved, 2.25, 9.5, shift_ns)
    assert (other.joules, other.u, other.rule) == (one.joules, one.u, one.rule)


@pytest.mark.parametrize("kind", ["window_mean", "instant"])
@given(watts=st.floats(0.5, 100), noise=st.floats(0, 1), per_s=st.sampled_from([1, 4, 20]))
def test_no_number_of_samples_is_surer_than_the_instrument(kind: str, watts: float, noise: float, per_s: int) -> None:
    values = [watts + noise * (-1) ** i for i in range(40 * per_s)]
    found = energy(readings(values, kind, 1 / per_s), 5, 35)
    assert found.joules is not None
    assert found.u >= U_REL * abs(found.joules) + U_ABS * 30 - 1e-9


@given(values=LEVELS)
def test_zero_and_negative_windows_pass_through_the_mean(values: list[float]) -> None:
    found = energy(readings(values, "window_mean"), 0, len(values))
    assert found.joules == pytest.approx(math.fsum(values), abs=1e-6)


@given(values=LEVELS, at=st.integers(2, 9))
def test_an_overload_anywhere_in_the_phase_leaves_no_energy(values: list[float], at: int) -> None:
    of = readings(values, "window_mean")
    of.bad[at] = True
    assert energy(of, 2, 10).joules is None


@given(lost=st.sets(st.integers(0, 59), max_size=30))
def test_what_is_lost_never_raises_the_coverage(lost: set[int]) -> None:
    covered, kept = 1.0, np.arange(60.0)
    for index in sorted(lost):
        kept = kept[kept != index]
        now = integrate.covered(kept, kept + 1, 0.0, 60.0) / 60
        assert now <= covered
        covered = now
    assert covered == pytest.approx(1 - len(lost) / 60)


@given(watts=st.floats(1, 50), shift=st.floats(-1, 1))
def test_a_clock_that_is_off_by_less_than_its_uncertainty_moves_nothing(watts: float, shift: float) -> None:
    """Windows clear of the edges by two standard uncertainties are inside, wherever the clock truly was."""
    values = [5.0] * 20 + [5.0 + watts] * 30 + [5.0] * 20
    of = readings(values, "window_mean", u_time_s=0.5)
    moved = replace(of, start_ns=of.start_ns + round(shift * S), end_ns=of.end_ns + round(shift * S))
    assert energy(moved, 20, 50).joules == pytest.approx(30 * (5 + watts))
