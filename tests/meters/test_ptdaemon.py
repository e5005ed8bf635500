"""The dialogue with a PTDaemon, as a transcript of (sent, answered); what is left over fails the test."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect, Retry
from iojoule.meters.ptdaemon import Ptdaemon

Line = tuple[str, str]

SECTION = {"kind": "ptdaemon", "name": "wall", "address": "192.0.2.9:8888", "voltage_range": 300, "current_range": 2}
IDENTITY = (
    "Yokogawa_WT310E-C2UA12345E,1000,1,1,1,1,0,0,1,version=1.9.1-a2d19f26-20190717,OS=Linux,mode=power,1,1,1,0,0,na"
)
CONFIGURE: list[Line] = [
    ("Hello", "Hello, PTDaemon here!"),
    ("Identify", IDENTITY),
    ("Stop", "Error: no measurement to stop"),
    ("SR,V,300", "Range V changed"),
    ("RR", "Ranges,1,-1,0,300"),
    ("SR,A,2", "Range A changed"),
    ("RR", "Ranges,0,2,0,300"),
    ("RR", "Ranges,0,2,0,300"),
]
START: list[Line] = [
    ("Go,1000,0,wall", "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 rampup samples")
]
FIRST = "Time,12-23-2020 10:21:51.496,Watts,23.430000,Volts,228.370000,Amps,0.204280,PF,0.502300,Mark,wall"
SECOND = "Time,12-23-2020 10:21:52.505,Watts,33.520000,Volts,228.400000,Amps,0.281990,PF,0.520500,Mark,wall"


def sample(count: int, line: str = FIRST, uncertainty: str = "0.004,0.004,0.004,1,0,1,0") -> list[Line]:
    return [
        ("Watts", f"Watts,23.4,23.4,23.4,{count - 1},0,{count - 1}"),
        ("Watts", f"Watts,23.4,23.4,23.4,{count},0,{count}"),
        ("RL", f"Last 1 samples\n{line}"),
        ("Uncertainty", f"Uncertainty,{uncertainty}"),
    ]


class Transcript:
    """A line that knows what will be said, and fails on anything else. A second passes for each sample."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self.lines = list(lines)
        self.answers: list[str] = []

    def send(self, line: bytes) -> None:
        clock.sleep(0.001)
        sent, answer = self.lines.pop(0)
        assert line == sent.encode() + b"\r\n"
        self.answers += answer.split("\n") if answer else []

    def line(self, until_ns: int) -> bytes | None:
        clock.sleep(0.001)
        return self.answers.pop(0).encode() if self.answers else None

    def unasked(self) -> bytes:
        return "".join(self.answers).encode()

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def simulated() -> Iterator[clock.SimClock]:
    sim = clock.SimClock()
    with clock.use(sim):
        yield sim


def through(*parts: list[Line], **keys: object) -> tuple[Ptdaemon, Transcript]:
    line = Transcript(one for part in parts for one in part)
    return Ptdaemon(parse_meter(SECTION | keys), None, line), line  # type: ignore[arg-type]


def started(*parts: list[Line], **keys: object) -> tuple[Ptdaemon, Transcript]:
    driver, line = through(CONFIGURE, START, *parts, **keys)
    driver.configure()
    driver.start()
    return driver, line


def power(readings: list[Reading]) -> Reading:
    return next(one for one in readings if one.channel == "power")


def until_ns() -> int:
    return clock.now_ns() + 4 * 10**9


def changed(lines: list[Line], at: int, answer: str) -> list[Line]:
    return [*lines[:at], (lines[at][0], answer)]


def test_the_whole_dialogue() -> None:
    stop: list[Line] = [("Watts", "Watts,28.475,23.43,33.52,2,0,2"), ("Stop", "Stopping untimed measurement")]
    driver, line = started(sample(1), sample(2, SECOND, "0.003,0.002,0.004,2,0,2,0"), stop)
    identity = driver.describe().identity
    assert identity["driver"] == "Yokogawa_WT310E-C2UA12345E" and identity["confirmed"]["a"] == 2
    first, second = power(driver.next(until_ns())), power(driver.next(until_ns()))
    assert (first.value, second.value) == (23.43, 33.52)
    final = driver.stop()
    assert final is not None and final["meter_w"] == 28.475 and final["covered_s"] == pytest.approx(2.009, abs=0.002)
    assert not line.lines, "the driver said less than the transcript"


def test_a_window_reaches_from_stamp_to_stamp() -> None:
    """10:21:51.496 to 10:21:52.505 are 1.009 s, though a second was asked for."""
    driver, _ = started(sample(1), sample(2, SECOND))
    first, second = power(driver.next(until_ns())), power(driver.next(until_ns()))
    assert first.end_ns - first.start_ns == 10**9 and first.end_ns == second.start_ns
    assert second.end_ns - second.start_ns == pytest.approx(1.009e9, abs=3e6)


def test_a_sample_was_stamped_between_two_counts() -> None:
    """Counts 7 ms apart bound it; of a lag of at most 100 ms the mean is taken off, and 29 ms remain."""
    driver, _ = started(sample(1))
    one, now_ns = power(driver.next(until_ns())), clock.now_ns()
    (probe,) = driver.map.probes
    assert probe.received_ns - probe.sent_ns < 10_000_000
    assert now_ns - 80_000_000 < one.end_ns < now_ns - 50_000_000
    assert one.u_time_ns == pytest.approx(0.1e9 / math.sqrt(12), rel=0.01)


def test_the_uncertainty_is_the_daemons_half_width_over_root_three() -> None:
    driver, _ = started(sample(1))
    assert power(driver.next(until_ns())).u_value == pytest.approx(0.004 * 23.43 / math.sqrt(3))


def test_extremes_of_the_uncertainty_give_its_share_and_its_constant() -> None:
    """0.1 % of reading and 0.075 W: 0.42 % at 23.43 W, 0.32 % at 33.52 W."""
    at = [0.001 + 0.075 / watts for watts in (23.43, 33.52)]
    driver, _ = started(sample(1), sample(2, SECOND, f"{sum(at) / 2:.6f},{at[1]:.6f},{at[0]:.6f},2,0,2,0"))
    driver.next(until_ns())
    assert power(driver.next(until_ns())).u_value == pytest.approx((0.03352 + 0.075) / math.sqrt(3), rel=1e-3)


def test_an_unknown_uncertainty_is_not_zero() -> None:
    driver, _ = started(sample(1, uncertainty="-1,-1,-1,1,0,0,1"))
    assert math.isnan(power(driver.next(until_ns())).u_value)


def test_minus_one_is_unknown_and_zero_and_back_feed_are_kept() -> None:
    lines = [FIRST.replace("23.43", watts) for watts in ("-1.00", "0.00", "-0.50")]
    lines = [line.replace("51.496", f"{51 + n}.496") for n, line in enumerate(lines)]
    driver, _ = started(*(sample(n, line) for n, line in enumerate(lines, start=1)))
    unknown, zero, back = (power(driver.next(until_ns())) for _ in lines)
    assert unknown.flags == "invalid sentinel" and math.isnan(unknown.value)
    assert (zero.value, back.value) == (0.0, -0.5) and zero.good and back.good


def test_several_unread_samples_are_several_windows() -> None:
    driver, _ = started([
        ("Watts", "Watts,23.4,23.4,23.4,0,0,0"),
        ("Watts", "Watts,23.4,23.4,23.4,2,0,2"),
        ("RL", f"Last 2 samples\n{FIRST}\n{SECOND}"),
        ("Uncertainty", "Uncertainty,-1,-1,-1,2,0,0,2"),
    ])  # fmt: skip
    seen = [one for one in driver.next(until_ns()) if one.channel == "power"]
    assert [one.value for one in seen] == [23.43, 33.52]
    assert all(a.end_ns == b.start_ns for a, b in pairwise(seen))


def test_a_clock_that_was_set_is_said_and_not_bridged() -> None:
    later = SECOND.replace("10:21:52.505", "11:21:52.505")
    driver, _ = started(sample(1), sample(2, later), sample(3, later.replace("52.505", "53.505")))
    driver.next(until_ns())
    after = power(driver.next(until_ns()))
    assert after.end_ns - after.start_ns == 10**9
    with pytest.raises(Retry, match=r"was set by \+3600\.0"):
        driver.next(until_ns())
    assert power(driver.next(until_ns())).start_ns == after.end_ns


def test_a_range_that_was_not_taken_is_fatal() -> None:
    for at, answer, why in ((5, "Error in parameter", "Error in parameter"), (6, "Ranges,0,1,0,300", "range 1")):
        driver, _ = through(changed(CONFIGURE, at, answer))
        with pytest.raises(Fatal, match=why):
            driver.configure()


def test_the_next_range_above_is_taken_for_what_it_is() -> None:
    higher = [*CONFIGURE[:5], ("SR,A,1.7", "Range A changed"), *CONFIGURE[6:]]
    driver, _ = through(higher, current_range=1.7)
    driver.configure()
    assert driver.describe().identity["confirmed"]["a"] == 2


def test_automatic_ranging_and_the_ranges_it_finds() -> None:
    automatic = [*CONFIGURE[:3], ("SR,V,Auto", "Range V changed"), ("RR", "Ranges,0,2,1,300"),
                 ("SR,A,Auto", "Range A changed"), ("RR", "Ranges,1,2,1,300"), ("RR", "Ranges,1,2,1,300")]  # fmt: skip
    driver, line = through(automatic, voltage_range="find", current_range="find")
    driver.configure()
    assert not line.lines
    fixed = Ptdaemon.ranged(driver.config, {"voltage": 231.0, "current": -0.4})
    assert (fixed.voltage_range, fixed.current_range) == pytest.approx((254.1, 0.44))
    with pytest.raises(Fatal, match="current_range"):
        Ptdaemon.ranged(driver.config, {"voltage": 231.0})


def test_a_range_that_moved_is_flagged() -> None:
    automatic = [*CONFIGURE[:3], ("SR,V,300", "Range V changed"), ("RR", "Ranges,1,1,0,300"),
                 ("SR,A,Auto", "Range A changed"), ("RR", "Ranges,1,1,0,300"), ("RR", "Ranges,1,1,0,300")]  # fmt: skip
    lines = [(FIRST.replace("51.496", f"{51 + n}.496"), amps) for n, amps in enumerate("122")]
    seen = [[*sample(n, line), ("RR", f"Ranges,1,{amps},0,300")] for n, (line, amps) in enumerate(lines, start=1)]
    driver, _ = through(automatic, START, *seen, current_range="find")
    driver.configure()
    driver.start()
    assert [power(driver.next(until_ns())).flags for _ in lines] == ["", "range_changed", ""]


@pytest.mark.parametrize(
    ("at", "answer"), [(0, "220 mail.example ESMTP"), (1, IDENTITY.replace("=power", "=temperature"))]
)
def test_another_service_is_fatal(at: int, answer: str) -> None:
    driver, _ = through(changed(CONFIGURE, at, answer))
    with pytest.raises(Fatal):
        driver.configure()


@pytest.mark.parametrize(
    "answer",
    ["", "garbage", "Last many samples", "Last 1 samples", f"Last 2 samples\n{FIRST}", f"Last 1 samples\n{FIRST[:40]}",
     f"Last 2 samples\n{FIRST}\n{FIRST}", f"Last 1 samples\n{FIRST}\n{SECOND}"],
)  # fmt: skip
def test_what_is_not_the_samples_asked_for_breaks_the_connection(answer: str) -> None:
    driver, _ = started(sample(1)[:2], [("RL", answer), ("Uncertainty", "Uncertainty,-1,-1,-1,1,0,0,1")])
    with pytest.raises(Reconnect):
        driver.next(until_ns())


def test_the_same_sample_twice_is_not_two() -> None:
    driver, _ = started(sample(1), sample(2))
    driver.next(until_ns())
    with pytest.raises(Reconnect, match="twice"):
        driver.next(until_ns())


def test_a_daemon_that_does_not_count_is_read_by_rl_alone() -> None:
    driver, _ = started([
        ("Watts", "Unknown command: Watts"),
        ("RL", "No unread samples available"),
        ("RL", f"Last 1 samples\n{FIRST}"),
        ("Uncertainty", "Unknown command: Uncertainty"),
    ])  # fmt: skip
    assert driver.next(until_ns()) == []
    assert power(driver.next(until_ns())).value == 23.43
