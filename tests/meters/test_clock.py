"""A meter's clock mapped to the host's: the map holds the truth within what it states, with drift and coarse steps."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from iojoule.meters import clock
from iojoule.meters.base import ClockProbe

S = 10**9


def probed(draw: random.Random, at_ns: int, offset_ns: float, drift: float, step_ns: int) -> ClockProbe:
    """A probe over a way of 2 to 6 ms, of a clock that shows whole steps."""
    there, back = draw.randint(10**6, 3 * 10**6), draw.randint(10**6, 3 * 10**6)
    meter = int(at_ns + there + offset_ns + drift * at_ns)
    return ClockProbe(at_ns, meter // step_ns * step_ns, at_ns + there + back)


@settings(max_examples=60)
@given(st.integers(), st.floats(-4e11, 4e11), st.floats(-80e-6, 80e-6), st.sampled_from([1, 10**6, 10**9]))
@example(0, 0.0, -8e-5, S)
def test_stamps_of_a_drifting_clock_become_host_times_within_twice_their_uncertainty_nearly_always(
    seed: int, offset_ns: float, drift: float, step_ns: int
) -> None:
    draw = random.Random(seed)
    known = clock.ClockMap(resolution_ns=step_ns if step_ns > 1 else 0)
    start_ns = 10**15
    misses = total = 0
    for second in range(0, 200, 10):
        known.add(probed(draw, start_ns + second * S, offset_ns, drift, step_ns))
        for later in (0, 3, 9):
            true_ns = start_ns + (second + later) * S
            host_ns, u_ns = known.host_ns(int(true_ns + offset_ns + drift * true_ns))
            total += 1
            misses += abs(host_ns - true_ns) > 2 * u_ns + 1
    # Each state of the map is used three times, and states share their probes: misses come together.
    assert misses <= 0.2 * total, (misses, total, known.describe())


def test_the_shortest_way_is_believed() -> None:
    probes = [ClockProbe(0, 105, 20), ClockProbe(100, 206, 104), ClockProbe(200, 305, 230)]
    assert clock.best(probes) == 1
    assert clock.offset_ns(probes[1]) == (104.0, 2.0)
    with pytest.raises(ValueError, match="no clock probe"):
        clock.best([])
    with pytest.raises(ValueError, match="no clock probe"):
        clock.ClockMap().host_ns(5)


def test_more_probes_than_are_kept_lose_the_long_ways_and_not_the_shortest() -> None:
    known = clock.ClockMap()
    for i in range(clock.ClockMap.KEEP + 50):
        way = 1000 if i == 3 else 100_000 + i
        known.add(ClockProbe(i * S, i * S + way // 2 + 77, i * S + way))
    assert len(known.probes) == clock.ClockMap.KEEP
    assert min(p.received_ns - p.sent_ns for p in known.probes) == 1000
    assert known.describe()["offset_s"] == pytest.approx(77e-9, abs=1e-8)


def test_simulated_time_passes_only_when_somebody_sleeps_and_never_backwards() -> None:
    seen: list[int] = []
    sim = clock.SimClock(1000)
    sim.on_advance.append(seen.append)
    with clock.use(sim):
        clock.sleep(1e-6)
        clock.sleep_until(1500)
        assert clock.now_ns() == 2000
    assert seen == [2000]
    assert clock.now_ns() > 10**6
