"""The powercap tree of the laboratory: read by ``cat`` and by our driver it tells the truth, through every wrap."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import pytest

from iojoule.experiment.coverage import cover, read_all
from iojoule.meters import clock, parse_meter
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.powercap import PowercapFront
from iojoule.meters.powercap import Powercap

S = 10**9


def test_cat_and_our_driver_and_the_truth_agree(require: Callable[[str, str], str]) -> None:
    cat = require("cat", "coreutils")
    with clock.use(clock.SimClock()) as sim:
        load = Load([State(80.0, 1e6)], sim.now_ns())
        front = PowercapFront(load, seed=3)

        def counted() -> int:
            path = front.tree.root / "intel-rapl:0" / "energy_uj"
            return int(subprocess.run([cat, path], capture_output=True, text=True, check=True).stdout)

        driver = Powercap(parse_meter(front.section()))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        before = counted()
        sim.sleep_until(sim.now_ns() + 10 * S)
        package = next(reading for reading in driver.next(0) if reading.channel == "package-0")
        by_cat_j = (counted() - before) % front.modulus_uj * 1e-6
    assert package.value == pytest.approx(by_cat_j, abs=1e-9)
    assert by_cat_j == pytest.approx(800.0 * front.instrument.gain, abs=80.0 * 0.001 + 2e-4)


def test_served_on_the_hosts_clock_the_counter_runs_by_itself() -> None:
    front = PowercapFront(Load([State(80.0, 1e6)], time.monotonic_ns()), seed=3)
    with front.served() as root:
        driver = Powercap(parse_meter(front.section() | {"root": root}))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        by = time.monotonic() + 60
        while not any(reading.value > 0 for reading in driver.next(0)):
            assert time.monotonic() < by


def test_energy_is_the_truths_through_many_wraps() -> None:
    with clock.use(clock.SimClock()) as sim:
        began_ns = sim.now_ns()
        load = Load([State(120.0, 90.0)], began_ns)
        front = PowercapFront(load, seed=1)
        readings, document = read_all(front, began_ns + 90 * S)
    package = [reading for reading in readings if reading.channel == "package-0"]
    assert sum("wrapped" in reading.quality for reading in package) >= 4
    total = sum(reading.value for reading in package)
    true = load.joules(package[0].start_ns, package[-1].end_ns) * front.instrument.gain
    assert total == pytest.approx(true, abs=120.0 * 0.002 + 2e-4)
    assert document["channels"][0]["contains"] == ["package-0.core"]


def test_counts_are_whole_units_of_the_register() -> None:
    with clock.use(clock.SimClock()) as sim:
        front = PowercapFront(Load([State(50.0, 10.0)], sim.now_ns()), seed=2)
        sim.sleep_until(sim.now_ns() + S)
        count = int((front.tree.root / "intel-rapl:0" / "energy_uj").read_text())
    units = -(-count * 1000 // front.unit_nj)
    assert units * front.unit_nj // 1000 == count


def test_what_is_quoted_contains_the_truth() -> None:
    found, trials = cover("powercap", range(12))
    assert found.quoted == 12
    assert found.contained >= 11, [one for one in trials if not one.contains]


@pytest.mark.stress
def test_coverage_of_200_runs() -> None:
    found, _ = cover("powercap", range(200))
    assert found.quoted == 200 and found.share >= 0.95 and found.useful <= 1.5, found
