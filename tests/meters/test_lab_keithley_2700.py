"""The made Keithley 2700: a foreign program agrees with the truth, our driver with it, faults invent nothing."""

from __future__ import annotations

import math
import termios
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
from iojoule.meters.keithley_2700 import Keithley2700
from iojoule.meters.lab.keithley_2700 import Keithley2700Front
from iojoule.meters.lab.load import Load, State

WATTS = 9.0
S = 10**9
KEYS: dict[str, object] = {"interval": "300ms", "autozero": False, "timeout": "1s"}


def through(front: Keithley2700Front, seconds: float) -> list[Reading]:
    """Readings on a simulated clock, a scan every half second."""
    with clock.use(clock.SimClock()):
        driver = Keithley2700(parse_meter(front.section()), link=front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        found = []
        due_ns = clock.now_ns()
        for _ in range(int(seconds / 0.5)):
            clock.sleep_until(due_ns := due_ns + S // 2)
            found += driver.next(0)
        return found


@pytest.mark.parametrize("tcp", [False, True], ids=["serial", "lan"])
def test_pyvisa_reads_the_truth_and_our_driver_what_pyvisa_reads(tcp: bool) -> None:
    import pyvisa

    front = Keithley2700Front(Held(WATTS), seed=3, tcp=tcp)
    with plugged_in(front):
        manager = pyvisa.ResourceManager("@py")
        meter: Any = manager.open_resource(
            front.section()["resource"], read_termination="\n", write_termination="\n", timeout=5000
        )
        assert "MODEL 2700" in meter.query("*IDN?")
        for command in (
            "*RST", "SENS:FUNC 'VOLT:DC',(@101:104)", "SENS:VOLT:DC:RANG 10,(@101)", "SENS:VOLT:DC:RANG 100,(@103)",
            "SENS:VOLT:DC:RANG 0.1,(@102,104)", "FORM:ELEM READ,TST,CHAN", "ROUT:SCAN (@101:104)", "SAMP:COUN 4",
            "ROUT:SCAN:LSEL INT",
        ):  # fmt: skip
            meter.write(command)
        words = [float(word) for word in meter.query("READ?").split(",")]
        assert meter.query("SYST:ERR?").startswith('0,"No error"')
        meter.close()
        manager.close()
        theirs = dict(zip(words[2::3], words[0::3], strict=True))
        watts = 0.0
        for line in front.lines.lines:
            across = theirs[line.shunt] - line.emf_v
            watts += (theirs[line.voltage] - (across if line.upstream else 0.0)) * across / line.ohm
        assert watts == pytest.approx(WATTS, rel=2e-4)
        driver = Keithley2700(parse_meter({**front.section(), **KEYS}))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        ours = driver.next(0)
        driver.stop()
        driver.close()
    spans = (10, 0.1, 100, 0.1)  # noise and digits are a millionth of the range
    for reading, value, span in zip(ours, theirs.values(), spans, strict=True):
        assert reading.value == pytest.approx(value, abs=6e-6 * span)


def test_an_input_above_the_range_is_an_overload() -> None:
    read = through(Keithley2700Front(Held(20.0)), 3.0)
    bad = [one for one in read if one.channel == "12v_shunt"]
    assert bad and all(one.flags == "invalid overload" and math.isnan(one.value) for one in bad)


def test_stamps_are_the_times_of_conversion_though_the_timer_cannot_be_asked_for() -> None:
    for seed in range(5):
        start = 10**12
        read = through(Keithley2700Front(Load([State(3.0, 20.0), State(9.0, 100.0)], start), seed=seed), 60.0)
        shunt = [one for one in read if one.channel == "12v_shunt"]
        before = max(one.start_ns - 2 * one.u_time_ns for one in shunt if one.value < 0.04)
        after = min(one.start_ns + 2 * one.u_time_ns for one in shunt if one.value > 0.05)
        assert before < start + 20 * S < after


@contextmanager
def watched(front: Keithley2700Front) -> Iterator[Watched]:
    with watched_by(front, channel="12v_shunt", **KEYS) as seen:
        yield seen


def steady(seen: Watched, front: Keithley2700Front) -> None:
    """Numbers without a hole, times that rise, one value: nothing was invented and nothing heard twice."""
    assert [reading.seq for reading in seen.power] == list(range(len(seen.power)))
    assert all(b.start_ns - a.start_ns > 0.1 * S for a, b in pairwise(seen.power))
    true_v = front.lines.volts(104, 0, S)
    assert [reading.value for reading in seen.power] == pytest.approx([true_v] * len(seen.power), rel=3e-4)


def test_the_serial_line_has_the_flow_control_of_the_meter() -> None:
    for flow in ("xon_xoff", "none"):
        front = Keithley2700Front(Held(WATTS))
        with front.served() as path:
            driver = Keithley2700(parse_meter({**front.section(), **KEYS, "flow": flow}))  # type: ignore[arg-type]
            driver.configure()
            with Path(path).open("rb", buffering=0) as line:
                assert bool(termios.tcgetattr(line)[0] & termios.IXON) == (flow == "xon_xoff")
            driver.close()


def test_live_watts_are_those_of_the_rails() -> None:
    front = Keithley2700Front(Held(WATTS), seed=3)
    with plugged_in(front), watched(front) as seen:
        seen.more(3)
        live = seen.meters.latest()
    assert live["wall", "5v"] + live["wall", "12v"] == pytest.approx(WATTS, rel=2.5e-3)  # the resistors are of 0.1 %


def test_answers_that_are_spoilt_are_never_readings() -> None:
    front = Keithley2700Front(Held(WATTS), seed=3)
    front.faults.only, front.faults.late_s = "READ?", 1.5
    faults: list[Any] = ["silent", "late", "half", "garbage", "double", "hang_up", b"\n"]
    with plugged_in(front), watched(front) as seen:
        for count, fault in enumerate(faults, start=1):
            front.faults.next.append(fault)
            seen.until(lambda count=count: seen.events.count(("back", "")) == count)  # type: ignore[misc]
            seen.more(2)
        steady(seen, front)
        assert [kind for kind, _ in seen.events if kind != "retry"] == ["lost", "back"] * len(faults)


def test_an_answer_in_two_parts_is_one_answer() -> None:
    front = Keithley2700Front(Held(WATTS), seed=3)
    front.faults.only = "READ?"
    with plugged_in(front), watched(front) as seen:
        front.faults.next += ["split", "split"]
        seen.more(4)
        assert seen.events == [] and not front.faults.next
        steady(seen, front)


def test_a_meter_switched_off_and_on_leaves_a_gap_and_a_new_clock() -> None:
    front = Keithley2700Front(Held(WATTS), seed=3, tcp=True)
    with plugged_in(front) as line, watched(front) as seen:
        seen.more(2)
        line.unplug()
        front.restart()
        time.sleep(1.0)
        line.plug()
        seen.lost_and_back()
        seen.more(3)
        steady(seen, front)
        assert any("gap_before" in reading.quality for reading in seen.power)
