"""The made 34970A: a foreign program agrees with the truth, our driver with it, faults invent nothing."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from plugged import Held, Watched, plugged_in
from plugged import watched as watched_by

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.continuity import Continuity
from iojoule.meters.keysight_34970a import Keysight34970a
from iojoule.meters.lab.keysight_34970a import Keysight34970aFront
from iojoule.meters.lab.load import Load, State

WATTS = 9.0
S = 10**9
#: A scan of four channels at one period of 50 Hz without autozero takes 0.15 s.
KEYS: dict[str, object] = {"interval": "200ms", "autozero": False, "timeout": "1s"}


@pytest.fixture(params=["34972A", "34970A"], ids=["lan", "serial"])
def front(request: pytest.FixtureRequest) -> Keysight34970aFront:
    return Keysight34970aFront(Held(WATTS), seed=3, model=request.param)


def watts(values: dict[str, float], front: Keysight34970aFront) -> float:
    """Σ V·I of the rails, with the resistance that the made resistors really have."""
    found = 0.0
    for line in front.lines.lines:
        across = values[f"{line.name}_shunt"] - line.emf_v
        found += (values[f"{line.name}_voltage"] - (across if line.upstream else 0.0)) * across / line.ohm
    return found


@contextmanager
def pyvisa_session(resource: str) -> Iterator[Any]:
    import pyvisa

    manager = pyvisa.ResourceManager("@py")
    session: Any = manager.open_resource(resource, read_termination="\n", write_termination="\n", timeout=5000)
    yield session
    session.close()
    manager.close()


def test_pyvisa_reads_the_truth_and_our_driver_what_pyvisa_reads(front: Keysight34970aFront) -> None:
    with plugged_in(front):
        with pyvisa_session(front.section()["resource"]) as meter:
            assert "34970A" in meter.query("*IDN?") or "34972A" in meter.query("*IDN?")
            for command in ("*RST", "CONF:VOLT:DC 0.1,(@102,104)", "CONF:VOLT:DC 10,(@101)", "CONF:VOLT:DC 100,(@103)"):
                meter.write(command)
            meter.write("ROUT:SCAN (@101:104)")
            values = [float(word) for word in meter.query("READ?").split(",")]
            assert meter.query("SYST:ERR?").startswith('+0,"No error"')
        theirs = dict(zip(("5v_voltage", "5v_shunt", "12v_voltage", "12v_shunt"), values, strict=True))
        assert watts(theirs, front) == pytest.approx(WATTS, rel=2e-4)
        driver = Keysight34970a(parse_meter({**front.section(), **KEYS}))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        time.sleep(0.4)
        ours = {reading.channel: reading.value for reading in driver.next(0)[:4]}
        driver.stop()
        driver.close()
    # Noise and digits are a millionth of the range.
    for name, span in (("5v_voltage", 10), ("5v_shunt", 0.1), ("12v_voltage", 100), ("12v_shunt", 0.1)):
        assert ours[name] == pytest.approx(theirs[name], abs=6e-6 * span)


def test_what_the_meter_does_not_know_is_an_error_in_its_queue() -> None:
    front = Keysight34970aFront(Held())
    assert front.answer("CONF:CURR:DC 1,(@101)", 0)[1] is None
    assert "Undefined header" in (front.answer("SYST:ERR?", 0)[1] or "")
    assert (front.answer("SYST:ERR?", 0)[1] or "").startswith("+0")


def test_an_input_above_the_range_is_an_overload() -> None:
    front = Keysight34970aFront(Held(20.0))  # 16 W of 12 V: 0.13 V over the shunt
    read, _ = through(front, 3.0)
    bad = [one for one in read if one.channel == "12v_shunt"]
    assert bad and all(one.flags == "invalid overload" and math.isnan(one.value) for one in bad)
    assert all(one.good for one in read if one.channel == "5v_shunt")


def through(front: Keysight34970aFront, seconds: float) -> tuple[list[Reading], Keysight34970a]:
    """Readings on a simulated clock, a look every half second."""
    with clock.use(clock.SimClock()):
        driver = Keysight34970a(parse_meter(front.section()), link=front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.sync()
        driver.start()
        found = []
        for _ in range(int(seconds / 0.5)):
            clock.sleep(0.5)
            found += driver.next(0)
        return found, driver


def test_a_memory_that_ran_over_is_a_gap_that_is_flagged() -> None:
    """40 readings are 5 s of scans; nobody listens for 30 s."""
    front = Keysight34970aFront(Held(WATTS), memory=40)
    continuity = Continuity(0.5)
    with clock.use(clock.SimClock()):
        driver = Keysight34970a(parse_meter(front.section()), link=front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.sync()
        driver.start()
        clock.sleep(3.0)
        before = continuity.stamp(driver.next(0))
        clock.sleep(30.0)
        after = continuity.stamp(driver.next(0))
        final = driver.stop()
    assert len(after) == 40 and not any("gap_before" in reading.quality for reading in before)
    assert [reading.channel for reading in after if "gap_before" in reading.quality] == [
        "5v_voltage", "5v_shunt", "12v_voltage", "12v_shunt",
    ]  # fmt: skip
    # The meter counted what it forgot.
    assert final is not None and final["scanned"] - final["delivered"] - final["left"] == pytest.approx(200, abs=8)


def test_stamps_are_the_times_of_conversion_whatever_the_meters_clock_says() -> None:
    """A step of the load is where it was, within what is stated."""
    for seed in range(5):
        start = 10**12
        front = Keysight34970aFront(Load([State(3.0, 20.0), State(9.0, 100.0)], start), seed=seed)
        read, _ = through(front, 60.0)
        shunt = [one for one in read if one.channel == "12v_shunt"]
        before = max(one.start_ns - 2 * one.u_time_ns for one in shunt if one.value < 0.04)
        after = min(one.start_ns + 2 * one.u_time_ns for one in shunt if one.value > 0.05)
        assert before < start + 20 * S < after and after - before < 0.7 * S


@contextmanager
def watched(front: Keysight34970aFront) -> Iterator[Watched]:
    with watched_by(front, channel="12v_shunt", **KEYS) as seen:
        yield seen


def steady(seen: Watched, front: Keysight34970aFront) -> None:
    """Numbers without a hole, times that rise, one value: nothing was invented and nothing heard twice."""
    assert [reading.seq for reading in seen.power] == list(range(len(seen.power)))
    assert all(b.start_ns - a.start_ns > 0.15 * S for a, b in pairwise(seen.power))
    true_v = front.lines.volts(104, 0, S)
    assert [reading.value for reading in seen.power] == pytest.approx([true_v] * len(seen.power), rel=3e-4)


def test_live_watts_are_those_of_the_rails(front: Keysight34970aFront) -> None:
    with plugged_in(front), watched(front) as seen:
        seen.more(3)
        live = seen.meters.latest()
        described = seen.meters.descriptions()[0]
        final = seen.meters.close()["wall"]
    assert live["wall", "5v"] + live["wall", "12v"] == pytest.approx(WATTS, rel=2.5e-3)  # the resistors are of 0.1 %
    assert [rail["id"] for rail in described["rails"]] == ["5v", "12v"]
    assert final is not None and 0 <= final["scanned"] - final["delivered"] <= 8


def test_a_probe_tells_what_the_rails_are_made_of(tmp_path: Path) -> None:
    front = Keysight34970aFront(Held(WATTS), seed=3, model="34970A")
    with plugged_in(front):
        section = {"name": "dmm", **front.section()}
        rails = section.pop("rails")
        lines = ["[[meter]]", *(f"{key} = {json.dumps(value)}" for key, value in section.items())]
        for rail in rails:
            lines += ["[[meter.rails]]", *(f"{key} = {json.dumps(value)}" for key, value in rail.items())]
        (tmp_path / "dmm.toml").write_text("\n".join(lines))
        command = [sys.executable, "-m", "iojoule", "meter", "probe", str(tmp_path / "dmm.toml"), "-n", "1"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "rail 12v: power of 12v_voltage (at the supply) and 12v_shunt over 0.1 ohm, u = 0.058 % of it" in told
    assert "clock:" in told and "12v_shunt" in told


def test_what_was_scanned_while_the_line_was_out_is_read_afterwards() -> None:
    front = Keysight34970aFront(Held(WATTS), seed=3)
    with plugged_in(front) as line, watched(front) as seen:
        seen.more(2)
        line.unplug()
        time.sleep(1.5)
        line.plug()
        seen.lost_and_back()
        seen.more(4)
        steady(seen, front)
        # Longer out than a gap would be, and there is none: the memory had it.
        assert all(b.start_ns - a.start_ns < 0.3 * S for a, b in pairwise(seen.power))
        assert not any("gap_before" in reading.quality for reading in seen.all)


def test_what_was_scanned_while_the_process_was_dead_is_read_by_the_next_one() -> None:
    front = Keysight34970aFront(Held(WATTS), seed=3)
    with plugged_in(front), watched(front) as seen:
        seen.more(2)
        process = seen.meters._meters[0].process
        assert process is not None
        process.kill()
        seen.lost_and_back()
        seen.more(4)
        steady(seen, front)
        assert all(b.start_ns - a.start_ns < 0.3 * S for a, b in pairwise(seen.power))
        assert not any("gap_before" in reading.quality for reading in seen.all)


def test_answers_that_are_spoilt_are_never_readings() -> None:
    front = Keysight34970aFront(Held(WATTS), seed=3)
    front.faults.only, front.faults.late_s = "DATA:REM?", 1.5
    faults: list[Any] = ["silent", "late", "half", "garbage", "double", "hang_up"]
    with plugged_in(front), watched(front) as seen:
        for count, fault in enumerate(faults, start=1):
            front.faults.next.append(fault)
            seen.until(lambda count=count: seen.events.count(("back", "")) == count)  # type: ignore[misc]
            seen.more(2)
        steady(seen, front)
        # What the meter had given away is gone: a scan or two of each answer, and flagged.
        holes = [b for a, b in pairwise(seen.power) if b.start_ns - a.start_ns > 0.3 * S]
        assert 1 <= len(holes) <= len(faults) and all("gap_before" in reading.quality for reading in holes)


def test_an_answer_in_two_parts_is_one_answer() -> None:
    front = Keysight34970aFront(Held(WATTS), seed=3)
    front.faults.only = "DATA:REM?"
    with plugged_in(front), watched(front) as seen:
        front.faults.next += ["split", "split"]
        seen.more(4)
        assert seen.events == [] and not front.faults.next
        steady(seen, front)


def test_a_meter_that_was_switched_off_begins_anew() -> None:
    front = Keysight34970aFront(Held(WATTS), seed=3)
    with plugged_in(front) as line, watched(front) as seen:
        seen.more(2)
        line.unplug()
        front.power_cycle()
        time.sleep(0.5)
        line.plug()
        seen.lost_and_back()
        seen.more(3)
        steady(seen, front)
        assert any("gap_before" in reading.quality for reading in seen.power)
