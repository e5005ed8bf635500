"""Bugs seen in other systems that measure energy, each a test of its name: our figures are without them.

Where a driver could bring one in by itself, that driver has a test of the same name too: rails (test_seed_000_shunts,
test_hwmon), signs, zeros and sentinels (test_hwmon, test_scpi, test_yokogawa_wt310), counters (test_counters_that_wrap,
test_powercap), ranges (test_yokogawa_wt310, test_ptdaemon).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from kernel_tree import Tree

from iojoule.meters import clock, parse_meter, wire
from iojoule.meters.base import Channel, Description, Reading, Retry, read
from iojoule.meters.counter import EnergyCounter
from iojoule.meters.hwmon import Hwmon
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.meters.powercap import Powercap, modulus_nj
from iojoule.meters.yokogawa_wt310 import YokogawaWt310
from iojoule.metrics.channels import channels, cut, scopes, series
from iojoule.metrics.energy import energies, total
from iojoule.metrics.metric import Span
from iojoule.store.schema import READINGS

S = 10**9
POWER = Channel("power", "power", "W", "ac_wall", "window_mean")
ENERGY = Channel("energy", "energy", "J", "device", "counter")


def described(*of: Channel) -> list[Any]:
    """The channels of a meter ``m``, as a run's manifest has them."""
    return channels([Description({}, of).document("m", "made", 1.0)])


def joules(
    readings: Sequence[Reading], span: tuple[float, float], channel: Channel = POWER
) -> tuple[float | None, str]:
    """Energy of a phase from readings that went through the table of a run, and its note."""
    columns = [name for name in READINGS.names if name not in ("meter", "quality")]
    rows = [{"meter": "m", **{name: getattr(r, name) for name in columns}, "quality": r.flags} for r in readings]
    read_back = series(pa.Table.from_pylist(rows, schema=READINGS), described(channel))
    found = energies(read_back.values(), Span("measure", *(round(t * S) for t in span)), {})[f"m/{channel.id}"]
    return found.joules, found.note


def windows(watts: Sequence[float], flags: Mapping[int, tuple[str, ...]] | None = None) -> list[Reading]:
    """Windows of one second from 0 on."""
    marks = flags or {}
    return [read(POWER, i * S, (i + 1) * S, 0, w, *marks.get(i, ())) for i, w in enumerate(watts)]


def test_sum_of_v_times_sum_of_i(tree: Tree) -> None:
    """12 V x 1 A beside a 5 V rail without current is 12 W, not (12 + 5) V x 1 A = 17 W."""
    chip = {"hwmon0/name": "ina3221", "hwmon0/in1_input": 12000, "hwmon0/curr1_input": 1000, "hwmon0/in2_input": 5000,
            "hwmon0/curr2_input": 0}  # fmt: skip
    pairs = {"12v": ["ina3221.in1", "ina3221.curr1"], "5v": ["ina3221.in2", "ina3221.curr2"]}
    driver = Hwmon(parse_meter({"kind": "hwmon", "root": str(tree(chip)), "pairs": pairs}))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    assert {reading.channel: reading.value for reading in driver.next(0)} == pytest.approx({"12v": 12.0, "5v": 0.0})


def test_dropped_sign() -> None:
    """A rail that feeds back takes from the energy."""
    assert joules(windows([3.0, -1.0, 3.0, -1.0]), (0, 4))[0] == pytest.approx(4.0)
    assert wire.reading(wire.row(windows([-0.5])[0])).value == -0.5


def test_dropped_zero() -> None:
    """Two of four seconds at 0 W halve the mean; they are not left out of it."""
    assert joules(windows([10.0, 0.0, 10.0, 0.0]), (0, 4))[0] == pytest.approx(20.0)


def test_wrap() -> None:
    """A register that wraps loses nothing, not even the microjoules between its greatest value and its width."""
    modulus = modulus_nj(262_143_328_850)
    counter = EnergyCounter(modulus, p_max_w=300)
    counter.look(0, modulus - 6 * 10**9)
    stepped = counter.look(S, 4 * 10**9)
    assert stepped is not None
    assert stepped[1:] == (10.0, ("wrapped",))


def test_first_counter_reading(tree: Tree) -> None:
    """What a counter held before the run began is no consumption of the run."""
    zone = {"intel-rapl:0/name": "package-0", "intel-rapl:0/energy_uj": 123_000_000,
            "intel-rapl:0/max_energy_range_uj": 262_143_328_850}  # fmt: skip
    driver = Powercap(parse_meter({"kind": "powercap", "root": str(tree(zone))}))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    tree({"intel-rapl:0/energy_uj": 125_000_000})
    assert [reading.value for reading in driver.next(0)] == pytest.approx([2.0])


@pytest.mark.parametrize("watts", [65_535.0, 65_536.0, 1.0e6, 70_000.25])
def test_u16(watts: float) -> None:
    """A rack draws more than 65,535 W, and a power supply's counter goes on beyond."""
    (sent,) = windows([watts])
    assert wire.reading(wire.row(sent)).value == watts
    assert joules(windows([watts] * 4), (0, 4))[0] == pytest.approx(4 * watts)


def test_nested_domains_twice() -> None:
    """A package of 10 W that contains cores of 8 W is 10 W."""
    package = Channel("package", "power", "W", "device", "window_mean", contains=("core",), role="cpu")
    core = Channel("core", "power", "W", "device", "window_mean", role="cpu")
    of = described(package, core)
    assert [channel.id for channel in cut(of)] == ["package"]
    assert all([channel.id for channel in parts] == ["package"] for _, _, parts in scopes(of))


@pytest.mark.parametrize("code", [9.9e37, 9.91e37, -9.9e37, math.nan, math.inf])
def test_sentinel_as_power(code: float) -> None:
    """An instrument's code for "no value" is no watts: neither in a reading nor in the energy beside it."""
    driver, _ = _read_wt310()
    channel = next(channel for channel in driver.channels if channel.id == "power")
    power = driver._reading(channel, code, set(), (0, S, 0))
    assert not power.good and power.watts is None
    seconds = windows([10.0] * 100)
    seconds[50] = Reading("power", "power", "W", 50 * S, 51 * S, 0, code, 0.0, frozenset({"sentinel", "invalid"}))
    assert joules(seconds, (0, 100))[0] == pytest.approx(1000.0)


def _read_wt310() -> tuple[YokogawaWt310, list[str]]:
    """The driver after it was configured and has read once, and what it said to the meter."""
    said: list[str] = []
    with clock.use(sim := clock.SimClock()):
        front = Wt310Front(Load([State(20.0, 60.0)], sim.now_ns()), seed=1)
        link = front.link()

        class Heard:
            def write(self, command: str) -> None:
                said.append(command)
                link.write(command)

            def query(self, command: str, timeout_s: float | None = None) -> str:
                said.append(command)
                return link.query(command, timeout_s)

            def close(self) -> None:
                link.close()

        driver = YokogawaWt310(parse_meter({"name": "wt", **front.section()}), link=Heard())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        driver.next(clock.now_ns() + 5 * S)
        driver.stop()
    return driver, said


def test_autorange_after_range() -> None:
    """Once a fixed range was set, nothing puts the meter back to choosing one."""
    _, said = _read_wt310()
    ranged = [i for i, command in enumerate(said) if ":RANG " in command]
    assert len(ranged) == 2
    assert not [command for command in said[min(ranged) :] if "AUTO" in command.upper() and "OFF" not in command.upper()
                and not command.endswith("?")]  # fmt: skip


def test_mean_by_count() -> None:
    """Windows of unlike length count by their length."""
    lengths = [(0, 2, 10.0), (2, 3, 4.0), (3, 6, 8.0)]
    unequal = [read(POWER, a * S, b * S, 0, watts) for a, b, watts in lengths]
    assert joules(unequal, (0, 6))[0] == pytest.approx(48.0)


def test_a_counter_divided_by_the_asked_interval() -> None:
    """Power is joules over the time they took, not over the interval that was asked for."""
    steps = [
        Reading("energy", "energy", "J", a * S, b * S, 0, used, 0.0) for a, b, used in ((0, 2, 20.0), (2, 3, 10.0))
    ]
    assert [reading.watts for reading in steps] == [10.0, 10.0]
    assert joules(steps, (0.5, 2.5), ENERGY)[0] == pytest.approx(20.0)


def test_an_overload_leaves_no_energy() -> None:
    """One overloaded window anywhere in the phase, and the phase has none; one before it harms nothing."""
    for at in (2, 5, 7):
        found, note = joules(windows([10.0] * 10, {at: ("overload", "invalid")}), (2, 8))
        assert found is None and "overload" in note
    assert joules(windows([10.0] * 10, {0: ("overload", "invalid")}), (2, 8))[0] == pytest.approx(60.0)


def test_a_stale_repeat_is_no_sample() -> None:
    """A meter asked twice between two updates says the same twice; that is one window."""
    seconds = windows([5.0, 12.0, 16.0, 5.0])
    repeated = [*seconds[:3], read(POWER, 2 * S, 3 * S, 0, 16.0, "stale"), seconds[3]]
    assert joules(repeated, (0, 4))[0] == joules(seconds, (0, 4))[0] == pytest.approx(38.0)


def test_a_reading_is_asked_for_again_and_never_made_up(tree: Tree) -> None:
    """A file that holds no number is no power of zero."""
    root = tree({"hwmon0/name": "ina226", "hwmon0/power1_input": "n/a"})
    driver = Hwmon(parse_meter({"kind": "hwmon", "root": str(root)}))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    with pytest.raises(Retry):
        driver.next(0)


def test_totals_are_sums_of_rails_in_any_order() -> None:
    rails = described(*(Channel(name, "power", "W", "dc_rail", "window_mean") for name in ("5v", "12v", "3v3")))
    rows = [{"meter": "m", "channel": c.id, "quantity": "power", "unit": "W", "seq": i, "start_ns": i * S,
             "end_ns": (i + 1) * S, "u_time_ns": 0, "value": w + i % 2, "u_value": math.nan, "quality": ""}
            for c, w in zip(rails, (3.0, 12.0, -0.5), strict=True) for i in range(10)]  # fmt: skip
    found = energies(series(pa.Table.from_pylist(rows, schema=READINGS), rails).values(), Span("p", 0, 10 * S), {})
    parts = [(channel, found[channel.name]) for channel in rails]
    forward, back = total("t", "dc_rail", parts), total("t", "dc_rail", parts[::-1])
    assert forward.joules == pytest.approx(10 * 14.5 + 3 * 5) and back.joules == pytest.approx(forward.joules)
    assert forward.u == pytest.approx(back.u)
