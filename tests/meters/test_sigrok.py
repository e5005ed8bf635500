"""What sigrok-cli prints, line by line, as a transcript; the program itself is tried in ``tests/e2e``."""

from __future__ import annotations

import math
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect, Retry
from iojoule.meters.sigrok import PREFIXES, QUANTITIES, Sigrok, parse
from iojoule.meters.sigrok_process import SigrokProcess

WHO = "HEWLETT-PACKARD 34401A 11-5-2 [S/N: 0] with 1 channel: P1"
SECTION: dict[str, Any] = {
    "kind": "sigrok",
    "device": "scpi-dmm:conn=tcp-raw/192.0.2.7/5025",
    "identity": "34401A",
    "interval": "200ms",
    "latency": "20ms",
    "channels": [
        {"id": "power", "shows": "P1", "measured": "V DC", "unit": "W", "scale": 10, "boundary": "ac_wall",
         "accuracy": [0.1, 0.05, 100.0]},
    ],
}  # fmt: skip


class Printed:
    """Lines as they would come, a batch each call; then the program ends."""

    def __init__(self, *batches: list[str], who: str = WHO) -> None:
        self.batches, self.who = list(batches), who

    def found(self) -> str:
        return self.who

    def lines(self, deadline_ns: int) -> tuple[int, list[str]]:
        if not self.batches:
            raise Reconnect("sigrok-cli ended")
        return clock.now_ns(), self.batches.pop(0)

    def close(self) -> None:
        pass


def driver(*batches: list[str], who: str = WHO, **keys: object) -> Sigrok:
    made = Sigrok(parse_meter(SECTION | keys), None, Printed(*batches, who=who))  # type: ignore[arg-type]
    made.configure()
    made.start()
    return made


def one(line: str) -> Reading:
    (reading,) = driver([line]).next(0)
    return reading


def test_a_line_is_a_reading_of_the_window_before_it() -> None:
    with clock.use(clock.SimClock()):
        reading = one("P1: 1.80294 V DC")
        assert reading.value == pytest.approx(18.0294) and reading.unit == "W"
        assert reading.end_ns - reading.start_ns == 200_000_000
        assert reading.end_ns == clock.now_ns() - 10_000_000
        assert reading.u_time_ns == pytest.approx(20e6 / math.sqrt(12), abs=1)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("P1: 100.2345 mV DC", ("P1", 0.1002345, "V", "DC")),
        ("P1: -0.0 mV DC", ("P1", 0.0, "V", "DC")),
        ("A1: 10.0000 V DC", ("A1", 10.0, "V", "DC")),
        ("P1: 1.5e-05 A AC RMS", ("P1", 1.5e-5, "A", "AC RMS")),
        ("P2: 18.03 W", ("P2", 18.03, "W", "")),
        ("P1: 4.7 kΩ", ("P1", 4700.0, "Ω", "")),
        ("P1: 49.98 Hz", ("P1", 49.98, "Hz", "")),
        ("P1: inf mV DC", ("P1", math.inf, "V", "DC")),
        ("CH1: 0.85", ("CH1", 0.85, "1", "")),
    ],
)
def test_prefix_and_unit_are_told_apart(line: str, expected: tuple[str, float, str, str]) -> None:
    name, value, unit, how = parse(line)
    assert (name, unit, how) == (expected[0], *expected[2:]) and value == pytest.approx(expected[1])


@given(st.floats(-1e6, 1e6), st.sampled_from(sorted(PREFIXES)), st.sampled_from([*QUANTITIES][:-1]))
def test_what_is_written_is_what_is_read(number: float, prefix: str, unit: str) -> None:
    assert parse(f"P1: {number!r} {prefix}{unit} DC")[1:3] == (number * PREFIXES[prefix], unit)


def test_over_range_and_no_value_are_flagged_and_back_feed_is_kept() -> None:
    assert one("P1: inf mV DC").flags == "invalid overload"
    assert one("P1: nan mV DC").flags == "invalid sentinel"
    assert (one("P1: -200.0 mV DC").value, one("P1: -200.0 mV DC").flags) == (-2.0, "under_range")
    assert one("P1: 0.0 mV DC").value == 0.0


@pytest.mark.parametrize("line", ["P1: 1.80", "P1: 18.0 mA DC", "P1: 1.8 V AC RMS", "P1: 4.7 kΩ"])
def test_an_instrument_set_to_something_else_is_fatal(line: str) -> None:
    with pytest.raises(Fatal, match="P1 shows"):
        driver([line]).next(0)


def test_another_instrument_is_fatal() -> None:
    with pytest.raises(Fatal, match="34405A"):
        driver(who="Agilent 34405A 1.0 with 1 channel: P1")


def test_a_line_that_is_no_value_is_told_and_what_came_beside_it_is_kept() -> None:
    made = driver(["P1: 1.0 V DC", "\ufffd\x00?;", "P1: 1.1 V DC"], ["P1: 1.2 V DC"])
    assert [reading.value for reading in made.next(0)] == [10.0, 11.0]
    with pytest.raises(Retry, match="no value"):
        made.next(0)
    assert [reading.value for reading in made.next(0)] == [12.0]


def test_frames_comments_and_other_channels_are_no_readings() -> None:
    lines = ["FRAME-BEGIN", "; a comment", "", "P2: 4.0 V DC", "P1: 1.0 V DC", "FRAME-END"]
    assert [reading.value for reading in driver(lines).next(0)] == [10.0]


def test_values_that_came_together_follow_each_other_and_are_dated_less_surely() -> None:
    with clock.use(clock.SimClock()):
        readings = driver(["P1: 1.0 V DC", "P1: 2.0 V DC", "P1: 3.0 V DC"]).next(0)
    assert [reading.value for reading in readings] == [10.0, 20.0, 30.0]
    assert [b.start_ns - a.end_ns for a, b in pairwise(readings)] == [0, 0]
    assert {reading.u_time_ns for reading in readings} == {int((20e6 + 2 * 200e6) / math.sqrt(12))}


def test_a_value_that_comes_too_soon_to_be_new_is_stale_and_reaches_into_no_other_window() -> None:
    with clock.use(clock.SimClock()):
        made = driver(["P1: 1.0 V DC"], ["P1: 1.0 V DC"], ["P1: 1.5 V DC", "P1: 2.0 V DC"])
        (first,) = made.next(0)
        clock.sleep(0.002)
        (repeated,) = made.next(0)
        clock.sleep(0.3)
        late = made.next(0)
    assert repeated.flags == "stale" and repeated.start_ns == first.end_ns
    assert [each.end_ns - each.start_ns for each in late] == [150_000_000] * 2
    assert [each.flags for each in late] == [""] * 2 and late[0].start_ns == repeated.end_ns


def test_a_unit_that_is_not_told_is_the_one_that_is_shown() -> None:
    channels = [
        {"id": "bus", "shows": "P1", "boundary": "dc_rail"},
        {"id": "load", "shows": "P2", "boundary": "dc_rail"},
    ]
    made = driver(["P1: 12.0 V DC"], ["P2: 1.5 A DC"], ["P1: 12.0 V DC", "P2: 1500 mA DC"], channels=channels)
    assert [(each.quantity, each.unit) for each in made.describe().channels] == [("voltage", "V"), ("current", "A")]
    assert [reading.value for reading in made.next(0)] == [12.0, 1.5]


def test_silence_beyond_the_timeout_is_a_lost_line() -> None:
    with clock.use(clock.SimClock()):
        made = driver([], [])
        assert made.next(0) == []
        clock.sleep(10.1)
        with pytest.raises(Reconnect, match="silent for 10 s"):
            made.next(0)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"channels": [SECTION["channels"][0], SECTION["channels"][0]]}, "two channels have one name"),
        ({"channels": [{"id": "p", "shows": "P1", "boundary": "ac_wall", "scale": 10}]}, "give its unit"),
        ({"channels": [SECTION["channels"][0] | {"kind": "counter", "unit": "J"}]}, "window_mean or instant"),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        parse_meter(SECTION | keys)


def program(path: Path, body: str) -> str:
    path.write_text(f'#!/bin/sh\ncase "$*" in *--show*) echo "scpi-dmm - {WHO}"; exit;; esac\n{body}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def process(command: str) -> SigrokProcess:
    from iojoule.meters.base import NoRawLog

    return SigrokProcess(parse_meter(SECTION | {"command": command, "timeout": "5s"}), NoRawLog())  # type: ignore[arg-type]


def test_a_program_that_ends_is_a_lost_line_with_its_last_words(tmp_path: Path) -> None:
    link = process(program(tmp_path / "cli", 'echo "P1: 1.0 V DC"; printf "P1: 1."; echo "no more" >&2; exit 1'))
    assert link.found() == WHO
    assert link.lines(clock.now_ns() + 10**10)[1] == ["P1: 1.0 V DC"]
    with pytest.raises(Reconnect, match="ended with 1: no more"):
        link.lines(clock.now_ns() + 10**10)
    link.close()


def test_a_line_in_two_parts_is_one_line_and_silence_ends_the_wait(tmp_path: Path) -> None:
    link = process(program(tmp_path / "cli", 'printf "P1: 1."; sleep 0.1; echo "5 V DC"; exec sleep 60'))
    assert link.lines(clock.now_ns() + 10**10)[1] == ["P1: 1.5 V DC"]
    assert link.lines(clock.now_ns() + 10**7)[1] == []
    link.close()


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(Fatal, match="apt install sigrok-cli"):
        process("/nowhere/sigrok-cli").found()


def test_no_instrument_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "cli"
    path.write_text("#!/bin/sh\necho 'No devices found.'\n")
    path.chmod(0o755)
    with pytest.raises(Reconnect, match="No devices found"):
        process(str(path)).found()
