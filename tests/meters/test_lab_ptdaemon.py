"""The made PTDaemon: a foreign harness agrees with the truth, our driver with it, faults invent nothing."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest
from plugged import Held, Watched, plugged_in, watched
from ptd_harness import Harness

from iojoule.experiment.coverage import cover
from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.ptdaemon import PtdaemonFront
from iojoule.meters.ptdaemon import Ptdaemon

WATTS = 23.0
S = 10**9
KEYS: dict[str, object] = {"interval": "200ms", "timeout": "500ms"}


def through(front: PtdaemonFront, seconds: float, **keys: object) -> list[Reading]:
    """Power on the simulated clock that is in use."""
    driver = Ptdaemon(parse_meter({**front.section(), **keys}), link=front.link())  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    until_ns, found = clock.now_ns() + int(seconds * S), list[Reading]()
    while clock.now_ns() < until_ns:
        found += driver.next(clock.now_ns() + 4 * S)
    return [one for one in found if one.channel == "power"]


def test_a_foreign_harness_reads_the_truth_and_our_driver_what_it_reads() -> None:
    front = PtdaemonFront(Held(WATTS), seed=3)
    with plugged_in(front) as line:
        with Harness(line.port) as ptd:
            assert ptd.cmd("Hello") == "Hello, PTDaemon here!"
            assert ptd.cmd("Identify").startswith("Yokogawa_WT310E-C2UA12345E,1000,1,1,1,1,")
            assert ptd.cmd("SR,A,0.4") == "Range A changed" and ptd.ranges() == (0, 0.5, 0, 300)
            assert ptd.cmd("SR,A,40") == "Error: range too large"
            ptd.cmd("Go,200,0,m")
            seen = ptd.samples()
            while len(seen) < 3:
                seen += ptd.samples()
            theirs = seen[-1]
            assert theirs["Volts"] * theirs["Amps"] * theirs["PF"] == pytest.approx(theirs["Watts"], rel=1e-3)
            width = float(ptd.cmd("Uncertainty").split(",")[1])
            assert ptd.cmd("Stop") == "Stopping untimed measurement"
        assert theirs["Watts"] == pytest.approx(WATTS, rel=width), "within what the daemon says of itself"
        with watched(front, **KEYS) as client:
            ours = client.more(3)
    assert all(one.value == theirs["Watts"] for one in ours)
    assert ours[-1].u_value == pytest.approx(width * theirs["Watts"] / 3**0.5, rel=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_windows_of_a_daemon_whose_clock_is_off_are_where_they_were(seed: int) -> None:
    """A load that steps at 30.4 s: the windows before and after it have the levels, the one over it the share."""
    sim = clock.SimClock()
    with clock.use(sim):
        begun_ns = sim.now_ns()
        front = PtdaemonFront(Load([State(10.0, 30.4), State(50.0, 100.0)], begun_ns), seed)
        power = through(front, 60.0)
    (over,) = (one for one in power if 11 < one.value < 49)
    assert over.start_ns - 2 * over.u_time_ns < begun_ns + 30_400_000_000 < over.end_ns + 2 * over.u_time_ns
    share = (over.value - 10) / 40
    stepped_ns = over.end_ns - share * (over.end_ns - over.start_ns)
    assert abs(stepped_ns - begun_ns - 30_400_000_000) < 2 * over.u_time_ns
    assert all(b.start_ns == a.end_ns for a, b in pairwise(power))


def steady(seen: Watched) -> None:
    """Numbers without a hole, windows that do not pile up, one value: nothing was invented and nothing heard twice."""
    assert [reading.seq for reading in seen.power] == list(range(len(seen.power)))
    assert all(b.start_ns > a.end_ns - 60_000_000 for a, b in pairwise(seen.power))
    assert len({reading.value for reading in seen.power}) == 1


def test_answers_that_are_spoilt_are_never_readings() -> None:
    front = PtdaemonFront(Held(WATTS), seed=3)
    front.faults.only, front.faults.late_s = "RL", 1.0
    faults: list[Any] = ["silent", "late", "half", "garbage", "double", "hang_up", b"Last 1 samples\r\nTime,11-13"]
    with plugged_in(front), watched(front, **KEYS) as seen:
        for count, fault in enumerate(faults, start=1):
            front.faults.next.append(fault)
            seen.until(lambda count=count: seen.events.count(("back", "")) == count)  # type: ignore[misc]
            seen.more(1)
        steady(seen)
        assert [kind for kind, _ in seen.events if kind != "retry"] == ["lost", "back"] * len(faults)


def test_an_answer_in_two_parts_is_one_answer() -> None:
    front = PtdaemonFront(Held(WATTS), seed=3)
    with plugged_in(front), watched(front, **KEYS) as seen:
        front.faults.only = "RL"
        front.faults.next += ["split", "split"]
        seen.more(4)
        assert seen.events == [] and not front.faults.next
        steady(seen)


def test_a_daemon_that_is_restarted_leaves_a_gap() -> None:
    front = PtdaemonFront(Held(WATTS), seed=3)
    with plugged_in(front) as line, watched(front, **KEYS) as seen:
        seen.more(2)
        line.unplug()
        time.sleep(0.7)
        line.plug()
        seen.lost_and_back()
        seen.more(3)
        steady(seen)
        assert sum("gap_before" in reading.quality for reading in seen.power) == 1


def check_coverage(runs: int) -> None:
    found, trials = cover("ptdaemon", range(runs))
    assert found.quoted == runs, [one for one in trials if one.joules is None]
    assert found.share >= 0.95 and found.used <= 1


def test_what_is_quoted_holds_the_truth() -> None:
    check_coverage(20)


@pytest.mark.stress
def test_what_is_quoted_holds_the_truth_in_many_runs() -> None:
    check_coverage(200)
