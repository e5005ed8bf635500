"""The driver in its own process against an emulated WT310E on a socket, with the faults a bench has."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from wt310_emulator import Wt310Emulator, plugged_in

from iojoule.meters import parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.rawlog import records
from iojoule.meters.supervisor import MeterSet


class Watched:
    """A meter set on one emulator, and what came from it."""

    def __init__(self, emulator: Wt310Emulator, raw: Path | None = None, **keys: object) -> None:
        section: dict[str, object] = {"kind": "yokogawa_wt310", "name": "wall", "interval": "100ms", "timeout": "1s"}
        section |= {"resource": emulator.resource, "voltage_range": 300, "current_range": 0.5}
        self.power: list[Reading] = []
        self.all: list[Reading] = []
        self.events: list[tuple[str, str]] = []
        self.news = threading.Condition()
        self.meters = MeterSet([parse_meter(section | keys)], raw, self._take, self._event)

    def _take(self, meter: str, readings: list[Reading]) -> None:
        with self.news:
            self.all += readings
            self.power += [reading for reading in readings if reading.channel == "power"]
            self.news.notify_all()

    def _event(self, meter: str, kind: str, text: str) -> None:
        with self.news:
            self.events.append((kind, text))
            self.news.notify_all()

    def more(self, count: int = 3) -> list[Reading]:
        """The next readings of power."""
        with self.news:
            have = len(self.power)
            assert self.news.wait_for(lambda: len(self.power) >= have + count, 60), self.events
            return self.power[have:]

    def lost_and_back(self) -> str:
        """Why the meter was lost; returns when it is back."""
        with self.news:
            assert self.news.wait_for(lambda: [kind for kind, _ in self.events] == ["lost", "back"], 60), self.events
            return self.events[0][1]


@contextmanager
def watched(emulator: Wt310Emulator, raw: Path | None = None, **keys: object) -> Iterator[Watched]:
    seen = Watched(emulator, raw, **keys)
    with seen.meters:
        assert seen.meters.wait_first_good(60) == {}
        yield seen


def check_gap(seen: Watched) -> None:
    """Exactly one gap, the numbers go on, and nothing was invented: windows do not pile up."""
    assert [reading.seq for reading in seen.power] == list(range(len(seen.power)))
    assert next(reading for reading in seen.power if "gap_before" in reading.quality).seq > 0
    ends = [reading.end_ns for reading in seen.power]
    assert ends == sorted(ends) and all(b - a > 50_000_000 for a, b in pairwise(ends))


def test_watts_of_the_load_arrive_with_their_ranges(tmp_path: Path) -> None:
    with plugged_in(lambda t: 18.0) as emulator, watched(emulator, tmp_path) as seen:
        assert all(reading.value == pytest.approx(18.0) for reading in seen.more())
        assert seen.meters.latest()["wall", "power"] == pytest.approx(18.0)
        described = seen.meters.descriptions()[0]
        final = seen.meters.close()["wall"]
    assert described["driver"] == "yokogawa_wt310" and described["identity"]["serial"] == "C2UA12345E"
    assert final is not None and final["meter_w"] == pytest.approx(18.0, rel=0.1)
    said = records((tmp_path / "wall.log").read_bytes())
    assert said[0][1:] == (">", b"*IDN?\n") and said[1][1:] == ("<", b"YOKOGAWA,WT310E,C2UA12345E,F1.01\n")
    assert said[-1][1:] == (">", b":COMM:REM OFF\n")


def test_the_integral_of_the_meter_agrees_with_the_readings_of_a_varying_load() -> None:
    with plugged_in(lambda t: 12.0 + 6.0 * (int(t * 3) % 2)) as emulator, watched(emulator) as seen:
        seen.more(12)
        final = seen.meters.close()["wall"]
    assert final is not None and final["meter_w"] == pytest.approx(final["readings_w"], rel=0.15)


def test_a_meter_unplugged_and_plugged_in_again_leaves_a_gap() -> None:
    with plugged_in() as emulator, watched(emulator) as seen:
        emulator.unplug()
        time.sleep(0.5)
        emulator.plug()
        assert "hung up" in seen.lost_and_back() or "not sent" in seen.events[0][1]
        seen.more()
        check_gap(seen)


@pytest.mark.parametrize(
    ("said", "hang_up"),
    [
        (b"\x00\xff%&$!\r\n", False),
        (b"2.3010E+02,1.3", False),
        (b"2.3010E+02,1.3", True),
        (b"\n", False),
        (b"1,2,3,4,5,6\n1,2,3,4,5,6\n", False),
    ],
    ids=["garbage", "half a line", "half a line and gone", "empty line", "two answers"],
)
def test_what_is_not_one_answer_is_never_a_reading(said: bytes, hang_up: bool) -> None:
    with plugged_in() as emulator, watched(emulator) as seen:
        emulator.hang_up = hang_up
        emulator.instead = [said]
        seen.lost_and_back()
        seen.more()
        check_gap(seen)
        assert [reading.value for reading in seen.power] == pytest.approx([18.0] * len(seen.power))


def test_a_late_answer_is_not_taken_for_the_next() -> None:
    watts = [18.0]
    with plugged_in(lambda t: watts[0]) as emulator, watched(emulator) as seen:
        emulator.late_s = 3.0
        with seen.news:
            assert seen.news.wait_for(lambda: bool(seen.events), 60)
        before = len(seen.power)
        watts[0] = 9.0
        emulator.late_s = 0.0
        seen.lost_and_back()
        seen.more(5)
        check_gap(seen)
        fresh = [reading.value for reading in seen.power[before + 2 :]]
        assert fresh == pytest.approx([9.0] * len(fresh))


def test_no_data_and_over_range_are_flagged_and_keep_the_meter() -> None:
    with plugged_in() as emulator, watched(emulator) as seen:
        emulator.shown = {"P": "NAN", "I": "INF"}
        with seen.news:
            assert seen.news.wait_for(lambda: "sentinel" in seen.power[-1].quality, 60)
        assert ("wall", "power") not in seen.meters.latest()
        emulator.shown = {}
        with seen.news:
            assert seen.news.wait_for(lambda: seen.power[-1].good, 60)
        assert any(reading.flags == "invalid overload" for reading in seen.all if reading.channel == "current")
        assert seen.events == []


def test_a_range_the_meter_did_not_take_ends_it_with_the_reason() -> None:
    with plugged_in() as emulator:
        emulator.stubborn = {":INP:VOLT:RANG": "600.0E+00"}
        seen = Watched(emulator)
        with seen.meters:
            missing = seen.meters.wait_first_good(60)
    assert ":INP:VOLT:RANG 300V was not taken: the meter says 600.0E+00" in missing["wall"]
    assert [kind for kind, _ in seen.events] == ["fatal"]


def test_a_meter_that_is_not_there_is_waited_for() -> None:
    emulator = Wt310Emulator()
    emulator.plug()
    emulator.unplug()
    seen = Watched(emulator)
    with seen.meters:
        assert "wall" in seen.meters.wait_first_good(0.8)
        emulator.plug()
        assert seen.meters.wait_first_good(60) == {}
        emulator.unplug()
