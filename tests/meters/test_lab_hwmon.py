"""The INA226 of the laboratory: to ``cat`` and to our driver it shows the rail's watts in steps of its register."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pytest

from iojoule.experiment.coverage import cover
from iojoule.meters import clock, parse_meter
from iojoule.meters.hwmon import Hwmon
from iojoule.meters.lab.hwmon import STEP_W, HwmonFront
from iojoule.meters.lab.load import Load, State

S = 10**9


def test_cat_and_our_driver_and_the_truth_agree(require: Callable[[str, str], str]) -> None:
    cat = require("cat", "coreutils")
    front = HwmonFront(Load([State(9.0, 1e6)], time.monotonic_ns(), supply_v=12.0), seed=5)
    with front.served() as root:
        driver = Hwmon(parse_meter(front.section()))  # type: ignore[arg-type]
        driver.configure()
        text = subprocess.run([cat, f"{root}/hwmon3/power1_input"], capture_output=True, text=True, check=True).stdout
        (reading,) = driver.next(0)
    assert reading.value == pytest.approx(int(text) * 1e-6)
    # One standard uncertainty is half-widths over root three: the truth lies within the half-widths.
    assert abs(reading.value - 9.0) <= 3**0.5 * reading.u_value + STEP_W / 2


def test_a_register_has_no_sign_and_ends_at_16_bits() -> None:
    with clock.use(clock.SimClock()) as sim:
        for watts, shown in ((-5.0, 0), (5000.0, round(0xFFFF * STEP_W * 1e6))):
            front = HwmonFront(Load([State(watts, 1e6)], sim.now_ns(), supply_v=12.0), seed=1)
            assert int((front.tree.root / "hwmon3" / "power1_input").read_text()) == shown


def test_a_chip_that_averages_is_a_window_in_the_past() -> None:
    """The value was made at most one update ago, over one update: its window ends half an update before it is read."""
    with clock.use(clock.SimClock()) as sim:
        began_ns = sim.now_ns()
        front = HwmonFront(Load([State(4.0, 10.0), State(20.0, 10.0)], began_ns, supply_v=12.0), seed=1)
        driver = Hwmon(parse_meter(front.section()))  # type: ignore[arg-type]
        driver.configure()
        sim.sleep_until(began_ns + 15 * S)
        (reading,) = driver.next(0)
    assert driver.poll_s == pytest.approx(0.14)
    assert sim.now_ns() - reading.end_ns == 70_000_000
    assert reading.u_time_ns == pytest.approx(140e6 / 12**0.5, rel=1e-3)


def test_asked_more_rarely_than_it_averages_it_is_a_sample() -> None:
    with clock.use(clock.SimClock()) as sim:
        front = HwmonFront(Load([State(4.0, 10.0)], sim.now_ns(), supply_v=12.0), seed=1)
        driver = Hwmon(parse_meter(front.section() | {"interval": "1s"}))  # type: ignore[arg-type]
        driver.configure()
        (reading,) = driver.next(0)
        assert driver.describe().channels[0].kind == "instant"
    assert reading.start_ns == reading.end_ns == sim.now_ns() - 140_000_000


def test_what_is_quoted_contains_the_truth() -> None:
    found, trials = cover("hwmon", range(12))
    assert found.quoted == 12
    assert found.contained >= 11, [one for one in trials if not one.contains]


@pytest.mark.stress
def test_coverage_of_200_runs() -> None:
    found, _ = cover("hwmon", range(200))
    assert found.quoted == 200 and found.share >= 0.95, found
