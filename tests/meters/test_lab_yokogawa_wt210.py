"""The made WT210 on a socket and on a terminal: PyVISA by itself reads it, our driver agrees, and faults are gaps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from plugged import Held, Plugged, Watched, check_gap, plugged_in, watched

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Reconnect
from iojoule.meters.lab.faults import Fault
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa import UNKNOWN, WHILE_INTEGRATING
from iojoule.meters.lab.yokogawa_wt210 import Wt210Front, Wt210SerialFront
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.meters.yokogawa_wt210 import YokogawaWt210

FAST: dict[str, Any] = {"timeout": "1s", "interval": "100ms"}


class Exact(Wt210Front):
    MAKE = Make(update_s=0.25)


class ExactSerial(Wt210SerialFront):
    MAKE = Make(update_s=0.25)
    BAUD = 115200


@pytest.fixture(params=[Exact, ExactSerial], ids=["lan", "serial"])
def front(request: pytest.FixtureRequest, tmp_path: Path) -> Wt210Front:
    made: Wt210Front = request.param(Held(18.0))
    made.faults.only = ":MEAS:VAL?"
    made.faults.late_s = 1.5
    if isinstance(made, Wt210SerialFront):
        made.at = tmp_path / "ttyUSB0"
    return made


@pytest.fixture
def plugged(front: Wt210Front) -> Iterator[Plugged]:
    with plugged_in(front) as line:
        yield line


def test_pyvisa_by_itself_reads_it_and_our_driver_agrees(front: Wt210Front, plugged: Plugged) -> None:
    import pyvisa

    manager = pyvisa.ResourceManager("@py")
    meter: Any = manager.open_resource(front.section()["resource"])
    meter.read_termination = meter.write_termination = "\r\n"
    meter.timeout = 3000
    assert meter.query("*IDN?") == "YOKOGAWA,760401,0,F3.01"
    for item in ("W", "V", "A"):
        meter.write(f":MEAS:ITEM:{item} ON")
    meter.query(":STAT:EESR?")
    meter.write(":COMM:WAIT 1")
    volts, amperes, watts = (float(word) for word in meter.query(":MEAS:VAL?").split(","))
    meter.write(":NO:SUCH 1")
    assert meter.query(":STAT:ERR?") == UNKNOWN and meter.query(":STAT:ERR?") == '0,"No error"'
    meter.close()
    manager.close()
    assert (volts, watts) == (230.0, 18.0) and amperes == pytest.approx(18 / 230 / 0.6, rel=1e-3)
    driver = YokogawaWt210(parse_meter(front.section()))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    seen = {reading.channel: reading.value for reading in driver.next(0)}
    driver.stop()
    driver.close()
    assert seen == {"voltage": volts, "current": amperes, "power": watts}


FAULTS: list[Fault | bytes] = [
    "silent", "late", "half", "garbage", "double", "hang_up", b"\r\n", b"1,2,3\r\n4,5,6\r\n",
]  # fmt: skip


def test_what_is_not_one_answer_is_never_a_reading(front: Wt210Front, plugged: Plugged) -> None:
    with watched(front, **FAST) as seen:
        for times, fault in enumerate(FAULTS, start=1):
            front.faults.next.append(fault)
            seen.lost_and_back(times)
            seen.more(2)
            assert [reading.value for reading in seen.power] == [18.0] * len(seen.power), fault
        check_gap(seen)
        assert len(seen.lost_after) == len(FAULTS)


def test_an_answer_in_two_parts_is_one_answer(front: Wt210Front, plugged: Plugged) -> None:
    with watched(front, **FAST | {"interval": "250ms"}) as seen:
        front.faults.next += ["split", "split"]
        seen.more(3)
    assert seen.events == [] and not front.faults.next
    assert [reading.value for reading in seen.power] == [18.0] * len(seen.power)


def test_a_meter_unplugged_and_plugged_in_again_leaves_a_gap(front: Wt210Front, plugged: Plugged) -> None:
    with watched(front, **FAST) as seen:
        plugged.unplug()
        time.sleep(0.3)
        plugged.plug()
        seen.lost_and_back()
        seen.more(2)
        check_gap(seen)


def test_a_meter_that_is_not_there_is_waited_for(front: Wt210Front, plugged: Plugged) -> None:
    plugged.unplug()
    seen = Watched(front, **FAST)
    with seen.meters:
        assert "wall" in seen.meters.wait_first_good(0.8)
        plugged.plug()
        assert seen.meters.wait_first_good(60) == {}


def test_an_answer_that_another_program_left_behind_is_interrupted(front: Wt210Front) -> None:
    """The first error the meter tells is that it had to throw an answer away; then the line is clear."""
    with clock.use(clock.SimClock()):
        front.errors.append('-410,"Query INTERRUPTED"')
        front.SILENT = ("*CLS-not-yet", *front.SILENT)  # type: ignore[misc]
        said = iter([False, True])
        heard = front._said

        def once(line: str, now_ns: int) -> str | None:
            return None if line == "*CLS" and not next(said) else heard(line, now_ns)

        front._said = once  # type: ignore[method-assign]
        driver = YokogawaWt210(parse_meter(front.section()), None, front.link())  # type: ignore[arg-type]
        driver.configure()
    assert front.heard.count("*CLS") == 2


FRONTS = [Wt210Front, Wt310Front]


def through(front: Any, **keys: Any) -> Any:
    from iojoule.meters.table import driver_class

    section = front.section() | keys
    make: Any = driver_class(section["kind"])
    driver = make(parse_meter(section), link=front.link())
    driver.configure()
    driver.start()
    return driver


def watts(driver: Any) -> Any:
    return next(reading for reading in driver.next(0) if reading.channel == "power")


@pytest.mark.parametrize("front_class", FRONTS)
def test_a_range_is_found_and_then_fixed_above_the_peak(front_class: type) -> None:
    """A drive of 6 W that spins up at 30 W: 30 W/230 V/0.6 is 0.22 A, peaks of 0.43 A; the 0.2 A range is too small."""
    with clock.use(clock.SimClock()):
        front = front_class(Load([State(6.0, 8.0), State(30.0, 4.0), State(6.0, 60.0)], clock.now_ns()))
        driver = through(front, voltage_range="find", current_range="find")
        seen = [reading for _ in range(100) for reading in driver.next(0)]
        moved = {reading.start_ns for reading in seen if "range_changed" in reading.quality}
        assert len(moved) >= 4, "it went down from 0.5 A, up and down again"
        spoilt = [reading for reading in seen if "sentinel" in reading.quality]
        assert spoilt and all("range_changed" in reading.quality for reading in spoilt)
        peaks: dict[str, float] = {}
        for reading in seen:
            if reading.good:
                peaks[reading.channel] = max(peaks.get(reading.channel, 0.0), abs(reading.value))
        assert peaks["current"] == pytest.approx(0.2174, rel=0.01)
        fixed = driver.ranged(driver.config, peaks)
        assert (fixed.voltage_range, fixed.current_range) == (300.0, 0.5)
        driver.stop()

        front = front_class(front.truth)
        driver = through(front, **{key: getattr(fixed, key) for key in driver.RANGES})
        seen = [reading for _ in range(40) for reading in driver.next(0)]
        assert not any("range_changed" in reading.quality for reading in seen)
        assert not any(line.endswith(":AUTO ON") for line in front.heard)
        assert all(front.settings[f"{head}:AUTO"] == "OFF" for head in front.HEADS.values())


@pytest.mark.parametrize("front_class", FRONTS)
def test_beyond_the_range_is_an_overload_and_beyond_the_crest_a_peak(front_class: type) -> None:
    """On 0.1 A: 13.8 W are in it; 0.14 A, 19.3 W, are all that is shown; 20.7 W have peaks of 0.3 A, three ranges."""
    for load_w, expected in ((13.0, set()), (25.0, {"overload", "peak_over", "invalid"})):
        with clock.use(clock.SimClock()):
            power = watts(through(front_class(Held(load_w)), current_range=0.1))
            assert power.quality == expected, load_w
    with clock.use(clock.SimClock()):
        front = front_class(Held(40.0))
        front.condition = 1 << 8
        assert "peak_over" in watts(through(front)).quality


@pytest.mark.parametrize("front_class", FRONTS)
def test_a_range_is_not_changed_while_the_meter_integrates(front_class: type) -> None:
    with clock.use(clock.SimClock()):
        front = front_class(Held(18.0))
        driver = through(front)
        head = front.HEADS["A"]
        driver.dialogue.say(f"{head}:RANG 1A")
        assert front.settings[f"{head}:RANG"] in ("0.5A", "500MA")
        assert driver.error() == WHILE_INTEGRATING and driver.error() == ""


@pytest.mark.parametrize("front_class", FRONTS)
def test_a_setting_the_meter_does_not_have_is_an_error(front_class: type) -> None:
    from iojoule.meters.base import Fatal

    with clock.use(clock.SimClock()):
        front = front_class(Held(18.0))
        with pytest.raises(Fatal, match="was not taken"):
            through(front, current_range=0.3)
        assert list(front.errors) == ['222,"Data out of range"']


def test_a_meter_that_does_not_start_to_integrate_is_not_believed(front: Wt210Front) -> None:
    with clock.use(clock.SimClock()):
        driver = YokogawaWt210(parse_meter(front.section()), None, front.link())  # type: ignore[arg-type]
        driver.configure()
        front._integrate = lambda head, now_ns: None  # type: ignore[method-assign]
        with pytest.raises(Reconnect, match="does not run"):
            driver.start()
