"""The made supply and multimeter: PyVISA by itself reads them, our driver agrees, and faults are gaps."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from plugged import Held, plugged_in, watched

from iojoule.meters import clock, parse_meter
from iojoule.meters.lab.faults import Fault
from iojoule.meters.lab.instrument import Instrument
from iojoule.meters.lab.scpi_dmm import ScpiDmmFront
from iojoule.meters.lab.scpi_supply import ScpiFront
from iojoule.meters.scpi import Scpi

FAULTS: list[Fault | bytes] = ["silent", "late", "half", "garbage", "double", "hang_up", b"\n", b"1;2\n"]


def test_pyvisa_by_itself_reads_the_supply_and_our_driver_agrees() -> None:
    import pyvisa

    front = ScpiFront(Held(18.0), seed=5)
    with plugged_in(front):
        manager = pyvisa.ResourceManager("@py")
        meter: Any = manager.open_resource(front.section()["resource"])
        meter.read_termination = meter.write_termination = "\n"
        assert meter.query("*IDN?").startswith("METERLAB,")
        volts, amperes, watts = (float(word) for word in meter.query("MEAS:VOLT?;CURR?;POW?").split(";"))
        meter.write("NO:SUCH")
        assert meter.query("SYST:ERR?") == '-113,"Undefined header"' and meter.query("SYST:ERR?") == '0,"No error"'
        meter.close()
        manager.close()
        driver = Scpi(parse_meter(front.section()))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        seen: dict[str, Any] = {}
        while not seen:
            seen = {reading.channel: reading for reading in driver.next(0)}
        driver.stop()
        driver.close()
    assert {name: reading.value for name, reading in seen.items()} == {
        "voltage": volts,
        "current": amperes,
        "power": watts,
    }
    assert abs(watts - 18.0) < 2 * seen["power"].u_value
    assert front.heard[-1] == "SYST:LOC" and front.settings["OUTP"] == "ON"


@pytest.mark.parametrize("front_class", [ScpiFront, ScpiDmmFront])
def test_what_is_not_one_answer_is_never_a_reading(front_class: type) -> None:
    front = front_class(Held(18.0), seed=5)
    front.faults.only, front.faults.late_s = front.section()["read"], 1.2
    true_w = 18.0
    with plugged_in(front) as line, watched(front, timeout="300ms") as seen:
        for times, fault in enumerate(FAULTS, start=1):
            front.faults.next.append(fault)
            seen.lost_and_back(times)
            seen.more(2)
        line.unplug()
        time.sleep(0.2)
        line.plug()
        seen.lost_and_back(len(FAULTS) + 1)
        front.faults.next += ["split", "split"]
        seen.more(4)
    assert len(seen.events) == 2 * (len(FAULTS) + 1)
    assert all(abs(each.value - true_w) < 2 * each.u_value for each in seen.power)
    fresh = seen.power = [each for each in seen.power if "stale" not in each.quality]
    assert all(a.end_ns <= b.start_ns + 1_000_000 for a, b in pairwise(fresh))
    assert any("gap_before" in each.quality for each in fresh)


def test_over_range_is_no_number() -> None:
    with clock.use(clock.SimClock()):
        front = ScpiFront(Held(200.0))
        driver = Scpi(parse_meter(front.section()), link=front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        clock.sleep(0.2)
        seen = {reading.channel: reading.flags for reading in driver.next(0)}
    assert seen == {"voltage": "", "current": "invalid overload", "power": "invalid overload"}


def test_an_answer_that_repeats_is_stale_and_every_update_is_one_window() -> None:
    """Asked every 40 ms of what is updated every 100 ms."""
    with clock.use(clock.SimClock()):
        front = ScpiFront(Held(18.0), seed=1)
        front.instrument = Instrument(front.truth, replace(front.instrument.make, noise=0.5), 1)
        driver = Scpi(parse_meter(front.section()), link=front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        readings, began_ns = [], clock.now_ns()
        for _ in range(250):
            clock.sleep(0.04)
            readings += [reading for reading in driver.next(0) if reading.channel == "power"]
        updates = (clock.now_ns() - began_ns) / 0.1e9
    fresh = [reading for reading in readings if "stale" not in reading.quality]
    assert abs(len(fresh) - updates) <= 1 and len(readings) - len(fresh) > 100
    assert max(reading.u_time_ns for reading in fresh[20:]) < 0.04e9 / 12**0.5
