"""What a look at the registers of a PDU or BMC becomes: readings, flags, steps of a counter, and secrets that stay."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.meters.base import Fatal, Reading
from iojoule.meters.managed import Managed, ManagedConfig, register, secret

S = 10**9


class Config(ManagedConfig):
    kind: Literal["made"] = "made"
    update: float = 1.0


def meter(step_w: float = 1.0, modulus_j: float = 1000.0, **keys: Any) -> Managed:
    config = Config(**{"accuracy_pct": 1.0, "latency": 0.0, "p_max_w": 400.0} | keys)
    made = Managed(config)
    made.registers = [
        register(config, "power", "power", "W", step_w, inside=("energy",)),
        register(config, "energy", "energy", "J", 1.0, modulus=modulus_j),
    ]
    return made


def looked(made: Managed, *values: tuple[float | None, float | None]) -> list[list[Reading]]:
    """One look a second, each at an update of its own."""
    return [made.seen(i * S, i * S, list(shown)) for i, shown in enumerate(values)]


@given(st.lists(st.integers(0, 300), min_size=3, max_size=20), st.integers(0, 999))
def test_the_steps_of_a_counter_are_what_was_counted_over_any_number_of_wraps(steps: list[int], first: int) -> None:
    count, shown = first, [(100.0, float(first))]
    for i, step in enumerate(steps):
        count += step
        shown.append((101.0 + i, float(count % 1000)))
    read = [r for batch in looked(meter(), *shown) for r in batch if r.channel == "energy"]
    # The first update is where it begins.
    assert sum(r.value for r in read) == pytest.approx(sum(steps[1:]))
    assert all(a.end_ns == b.start_ns for a, b in pairwise(read))
    assert ["wrapped" in r.quality for r in read] == [b < a for (_, a), (_, b) in pairwise(shown[1:])]


def test_what_was_counted_while_the_device_was_out_of_sight_is_not_lost() -> None:
    made = meter()
    looked(made, (100.0, 10.0), (101.0, 110.0))
    made.forget()
    made.has(meter().registers)
    assert made.seen(10 * S, 10 * S, [102.0, 400.0]) == []
    back = [one for one in made.seen(11 * S, 11 * S, [103.0, 500.0]) if one.channel == "energy"]
    assert [(one.value, one.flags) for one in back] == [(390.0, "wrap_uncertain")]  # 10 s at 400 W may wrap 1000 J


def test_a_counter_that_was_set_back_is_no_consumption() -> None:
    *_, last = looked(meter(modulus_j=1e12), (100.0, 5e6), (101.0, 5e6 + 100), (102.0, 3.0))
    assert [r.flags for r in last if r.channel == "energy"] == ["invalid wrap_uncertain wrapped"]


def test_a_repeat_is_kept_and_flagged_and_counts_nothing() -> None:
    made = meter()
    made.seen(0, 0, [100.0, 1.0])
    made.seen(S // 2, S // 2, [200.0, 2.0])
    again = made.seen(S, S, [200.0, 2.0])
    assert [(r.channel, r.value, r.flags) for r in again] == [("power", 200.0, "stale")]


def test_a_steady_load_is_covered_without_a_hole_and_a_step_is_in_the_window_of_its_update() -> None:
    made = meter()
    # Updates at 0.1 s, 1.1 s, ...; looks every 0.25 s; 100 W until the update at 5.1 s, which is half of it at 200 W.
    seen = [
        one
        for i in range(60)
        for one in made.seen(i * S // 4, i * S // 4, [{0: 100.0, 1: 150.0}.get(max(0, int(i / 4 - 4.1)), 200.0), 0.0])
        if one.channel == "power" and "stale" not in one.quality
    ]
    assert all(a.end_ns == b.start_ns for a, b in pairwise(seen))
    (step,) = (one for one in seen if one.value == 150.0)
    assert step.end_ns - step.start_ns == S and abs(step.end_ns - 5.1 * S) < 0.125 * S
    joules = sum(one.value * (one.end_ns - one.start_ns) * 1e-9 for one in seen if one.end_ns <= 8 * S)
    first, last = seen[0].start_ns, max(one.end_ns for one in seen if one.end_ns <= 8 * S)
    true = 100.0 * (4.6 * S - first) * 1e-9 + 200.0 * (last - 4.6 * S) * 1e-9
    assert joules == pytest.approx(true, abs=100.0 * 0.125)


def test_a_device_that_is_slower_than_it_is_said_to_be_tells_itself() -> None:
    made = meter()
    assert made.stop() is None
    for i in range(100):
        made.seen(i * S // 4, i * S // 4, [100.0 + i // 20, 0.0])  # every 5 s
    assert made.stop() == {"closest_changes_s": pytest.approx(5.0, abs=0.3)}


def test_no_value_is_a_reading_that_is_none_and_the_next_value_is_taken() -> None:
    made = meter()
    made.seen(0, 0, [100.0, 1.0])
    lost = made.seen(S // 2, S // 2, [None, None])
    assert all(r.flags == "invalid sentinel" and math.isnan(r.value) for r in lost) and len(lost) == 2
    assert [r.value for r in made.seen(S, S, [150.0, 2.0]) if r.channel == "power"] == [150.0]


def test_a_digit_of_more_than_a_tenth_of_the_reading_says_nothing_of_a_drive() -> None:
    flags = [
        [r.flags for r in batch if r.channel == "power"]
        for batch in looked(meter(10.0), (0.0, 0.0), (90.0, 1.0), (110.0, 2.0))
    ]
    assert flags == [[], ["under_range"], [""]]
    coarse = meter(10.0).registers[0].channel
    assert coarse.u(10.0) == pytest.approx(
        math.hypot(0.1 / math.sqrt(3), 10 / math.sqrt(12))
    )  # 29 %, one standard uncertainty


def test_power_counts_in_a_total_and_the_energy_of_the_same_rail_does_not() -> None:
    power, energy = (one.channel for one in meter().registers)
    assert power.contains == ("energy",) and energy.contains == () and energy.kind == "counter"


def test_without_a_stated_accuracy_the_uncertainty_is_unknown_not_zero() -> None:
    assert math.isnan(meter(accuracy_pct=None).registers[0].channel.u(100.0))


def test_a_latency_that_nobody_knows_is_anything_up_to_an_update() -> None:
    made = meter(latency=None)
    made.seen(0, 0, [1.0, 1.0])
    window = made.seen(S, S, [2.0, 2.0])[0]
    assert window.u_time_ns >= S / math.sqrt(12)


def test_a_secret_comes_from_a_file_or_the_environment_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("from file\n")
    monkeypatch.setenv("IOJOULE_TEST_KEY", "from environment")
    assert secret(tmp_path / "key", None, "key") == "from file"
    assert secret(None, "IOJOULE_TEST_KEY", "key") == "from environment"
    assert secret(None, None, "key") is None
    with pytest.raises(Fatal, match="no key in"):
        secret(tmp_path / "missing", None, "key")
    with pytest.raises(Fatal, match="no IOJOULE_TEST_NONE"):
        secret(None, "IOJOULE_TEST_NONE", "key")
