"""The truth of the laboratory: energies add up, noise included, and instruments err within what they state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Driven, Load, State

S = 10**9
STATES = st.lists(
    st.builds(State, st.floats(0.0, 100.0), st.floats(0.001, 20.0).map(lambda s: round(s, 3))), min_size=1, max_size=5
)
TIMES = st.integers(-5 * S, 60 * S)


@given(STATES, TIMES, TIMES, TIMES, st.booleans(), st.sampled_from([0.0, 0.3]))
def test_energy_is_additive_wherever_it_is_cut(
    states: list[State], a: int, b: int, c: int, repeat: bool, noise_w: float
) -> None:
    load = Load(states, 0, noise_w=noise_w, repeat=repeat, seed=3)
    assert load.joules(a, b) + load.joules(b, c) == pytest.approx(load.joules(a, c), abs=1e-6)


@given(st.floats(0.0, 50.0), st.floats(0.0, 50.0), st.integers(1, 20 * S))
def test_energy_of_a_step_is_power_times_time_on_either_side(idle_w: float, active_w: float, shift: int) -> None:
    load = Load([State(idle_w, 10.0), State(active_w, 1000.0)], start_ns=5 * S)
    at = 15 * S
    assert load.joules(at - shift, at + shift) == pytest.approx((idle_w + active_w) * shift * 1e-9, abs=1e-6)


def test_the_mean_of_many_instants_is_the_energy() -> None:
    load = Load([State(3.0, 0.5), State(9.0, 0.25)], 0, noise_w=1.0, cell_s=0.01, repeat=True, seed=1)
    instants = [load.watts(at) for at in range(0, 6 * S, 5_000_000)]
    assert sum(instants) / len(instants) * 6 == pytest.approx(load.joules(0, 6 * S))


def test_volts_droop_until_power_and_resistance_agree() -> None:
    load = Load([State(24.0, 1.0)], 0, supply_v=12.0, source_ohm=0.1)
    volts = load.volts(0)
    assert (12.0 - volts) / 0.1 * volts == pytest.approx(24.0)
    with pytest.raises(ValueError, match="cannot give"):
        Load([State(1000.0, 1.0)], 0, supply_v=12.0, source_ohm=0.1).volts(0)


def test_a_driven_load_holds_each_look_until_the_next() -> None:
    rate = [0.0]
    load = Driven(lambda: rate[0], most=100.0, idle_w=5.0, active_w=7.0)
    for at, now in ((0, 50.0), (2 * S, 200.0), (3 * S, 0.0)):
        rate[0] = now
        load.look(at)
    assert [load.watts(at) for at in (-1, 0, S, 2 * S, 4 * S)] == [5.0, 8.5, 8.5, 12.0, 5.0]
    assert load.joules(-S, 5 * S) == pytest.approx(5.0 + 17.0 + 12.0 + 10.0)


@given(st.integers(0, 10_000), st.floats(-100.0, 100.0))
def test_an_instrument_errs_within_what_it_states_and_half_a_digit(seed: int, watts: float) -> None:
    make = Make(rdg_pct=0.5, rng_pct=0.2, range=150.0, resolution=0.01)
    shown = Instrument(Load([State(watts, 1.0)], 0), make, seed).instant(0)
    assert abs(shown - watts) <= 0.005 * abs(watts) + 0.3 + 0.005 + 1e-9


def test_a_window_shows_the_mean_over_itself_once_the_latency_is_over() -> None:
    instrument = Instrument(
        Load([State(0.0, 10.0), State(10.0, 10.0)], 0), Make(update_s=1.0, latency_s=0.2, phase_s=0.5)
    )
    before, after = instrument.shown(10_699_999_999), instrument.shown(10_700_000_000)
    assert (before.start_ns, before.end_ns, before.value) == (8_500_000_000, 9_500_000_000, 0.0)
    assert (after.start_ns, after.end_ns, after.value) == (9_500_000_000, 10_500_000_000, 5.0)
    assert instrument.next_update_ns(10_699_999_999) == 10_700_000_000
