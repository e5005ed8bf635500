"""The real sigrok-cli: it reads the made multimeter as well as we do, and our driver reads its demo device."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from plugged import Held, Plugged, Watched, plugged_in, watched

from iojoule.meters import parse_meter
from iojoule.meters.lab.scpi_dmm import ScpiDmmFront
from iojoule.meters.lab.sigrok import SigrokFront
from iojoule.meters.scpi import Scpi

pytestmark = pytest.mark.e2e
Require = Callable[[str, str], str]


def test_an_independent_client_reads_the_multimeter_and_our_driver_agrees(require: Require) -> None:
    sigrok = require("sigrok-cli", "sigrok-cli")
    front = ScpiDmmFront(Held(18.0), seed=3)
    with plugged_in(front) as line:
        device = f"scpi-dmm:conn=tcp-raw/127.0.0.1/{line.port}"
        ran = subprocess.run(
            [sigrok, "-d", device, "--samples", "3", "-O", "analog"], capture_output=True, text=True, timeout=30
        )
        volts = [float(each) for each in re.findall(r"^P1: ([\d.]+) V DC$", ran.stdout, re.MULTILINE)]
        driver = Scpi(parse_meter(front.section()))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        (ours,) = driver.next(0)
        driver.close()
    assert len(volts) == 3, ran.stderr
    assert [10 * each for each in volts] == pytest.approx([ours.value] * 3, rel=1e-5)
    assert abs(ours.value - 18.0) < 2 * ours.u_value


@pytest.fixture
def front(require: Require) -> SigrokFront:
    require("sigrok-cli", "sigrok-cli")
    return SigrokFront(Held(18.0), seed=3)


def test_our_driver_reads_the_multimeter_through_sigrok(front: SigrokFront) -> None:
    with plugged_in(front), watched(front) as seen:
        power = seen.more(6)
        described = seen.meters.descriptions()[0]
    assert "34401A" in described["identity"]["model"]
    assert all(abs(each.value - 18.0) < 2 * each.u_value for each in power) and seen.events == []
    apart = [(b.end_ns - a.end_ns) * 1e-9 for a, b in pairwise(power)]
    assert all(0.15 < each < 0.6 for each in apart), apart


def test_over_range_is_flagged_through_sigrok(front: SigrokFront) -> None:
    with plugged_in(front), watched(front) as seen:
        front.truth.now_w = 500.0  # type: ignore[attr-defined]
        seen.until(lambda: seen.power[-1].flags == "invalid overload")
        front.truth.now_w = 18.0  # type: ignore[attr-defined]
        seen.until(lambda: seen.power[-1].good)
    assert seen.events == []


def test_what_sigrok_makes_of_a_fault_is_a_gap_or_nothing(front: SigrokFront) -> None:
    front.faults.only = "READ?"
    front.faults.late_s = 0.5
    with plugged_in(front), watched(front, timeout="1s") as seen:
        for fault in ("silent", "late", "half", "garbage", "split", "double", "hang_up"):
            front.faults.next.append(fault)  # type: ignore[arg-type]
            seen.until(lambda: not front.faults.next)
            seen.more(2)
    assert all(abs(each.value - 18.0) < 2 * each.u_value for each in seen.power if each.good)
    assert [each.seq for each in seen.power] == list(range(len(seen.power)))
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(seen.power))


def test_a_multimeter_unplugged_and_plugged_in_again_leaves_a_gap(front: SigrokFront) -> None:
    with plugged_in(front) as line, watched(front, timeout="2s") as seen:
        seen.more(2)
        line.unplug()
        seen.until(lambda: bool(seen.events))
        line.plug()
        seen.lost_and_back()
        seen.more(2)
        # Cut off, sigrok may repeat a value; it is known as old by when it came, and its window reaches into no other.
        assert all(a.end_ns <= b.start_ns for a, b in pairwise(seen.power))
        seen.power = [each for each in seen.power if "stale" not in each.quality]
        assert all(b.end_ns - a.end_ns > 100_000_000 for a, b in pairwise(seen.power))
        assert any("gap_before" in each.quality for each in seen.power)


def test_a_multimeter_that_is_not_there_is_waited_for(front: SigrokFront) -> None:
    line = Plugged(front)
    line.plug()
    line.unplug()
    seen = Watched(front)
    with seen.meters:
        assert "wall" in seen.meters.wait_first_good(1.0)
        line.plug()
        assert seen.meters.wait_first_good(60) == {}
        line.unplug()


def test_the_demo_device_is_read_value_for_value(require: Require) -> None:
    """Its sine and square waves are of 10 V; units are learnt from what it prints."""
    require("sigrok-cli", "sigrok-cli")

    class Demo:
        def section(self) -> dict[str, Any]:
            channels = [{"id": each.lower(), "shows": each, "boundary": "modelled"} for each in ("A0", "A1")]
            return {
                "kind": "sigrok", "device": "demo:analog_channels=2:logic_channels=0", "options": {"samplerate": "10"},
                "interval": "100ms", "identity": "Demo device", "channels": channels,
            }  # fmt: skip

    with watched(Demo(), channel="a1") as seen:
        seen.more(12)
        described = seen.meters.descriptions()[0]
    assert [(each["quantity"], each["unit"]) for each in described["channels"]] == [("voltage", "V")] * 2
    assert {abs(each.value) for each in seen.all if each.channel == "a0"} == {10.0}
    sine = [each.value for each in seen.power]
    assert max(sine) == pytest.approx(10.0) and min(sine) < 0
    assert all(abs(a) <= 10.0 for a in sine)
