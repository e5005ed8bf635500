"""The driver in its own process against a made WT310E on a socket, with the faults a bench has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from plugged import Held, Plugged, Watched, check_gap, plugged_in
from plugged import watched as watched_by

from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.meters.rawlog import records


class Exact(Wt310Front):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE = Make(update_s=0.1)


def meter(truth: object = None) -> Exact:
    front = Exact(truth or Held(18.0))  # type: ignore[arg-type]
    front.faults.only = ":NUM:NORM:VAL?"
    return front


KEYS: dict[str, object] = {"interval": "100ms", "timeout": "1s"}


@contextmanager
def watched(front: Exact, raw: Path | None = None) -> Iterator[Watched]:
    with watched_by(front, raw, **KEYS) as seen:
        yield seen


def test_watts_of_the_load_arrive_with_their_ranges(tmp_path: Path) -> None:
    front = meter()
    with plugged_in(front), watched(front, tmp_path) as seen:
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
    front = meter(Load([State(12.0, 1 / 3), State(18.0, 1 / 3)], 0, repeat=True))
    with plugged_in(front), watched(front) as seen:
        seen.more(12)
        final = seen.meters.close()["wall"]
    assert final is not None and final["meter_w"] == pytest.approx(final["readings_w"], rel=0.15)


def test_a_meter_unplugged_and_plugged_in_again_leaves_a_gap() -> None:
    front = meter()
    with plugged_in(front) as line, watched(front) as seen:
        line.unplug()
        time.sleep(0.5)
        line.plug()
        assert "hung up" in seen.lost_and_back() or "not sent" in seen.events[0][1]
        seen.more()
        check_gap(seen)


@pytest.mark.parametrize(
    "said",
    [
        b"\x00\xff%&$!\r\n",
        b"2.3010E+02,1.3",
        "hang_up",
        b"\n",
        b"1,2,3,4,5,6\n1,2,3,4,5,6\n",
    ],
    ids=["garbage", "half a line", "half a line and gone", "empty line", "two answers"],
)
def test_what_is_not_one_answer_is_never_a_reading(said: bytes) -> None:
    front = meter()
    with plugged_in(front), watched(front) as seen:
        front.faults.next.append(said)
        seen.lost_and_back()
        seen.more()
        check_gap(seen)
        assert [reading.value for reading in seen.power] == pytest.approx([18.0] * len(seen.power))


def test_an_answer_in_two_parts_is_one_answer() -> None:
    front = meter()
    with plugged_in(front), watched(front) as seen:
        front.faults.next += ["split", "split"]
        seen.more(4)
        assert seen.events == [] and not front.faults.next
        assert [reading.value for reading in seen.power] == pytest.approx([18.0] * len(seen.power))


def test_a_late_answer_is_not_taken_for_the_next() -> None:
    truth = Held(18.0)
    front = meter(truth)
    with plugged_in(front), watched(front) as seen:
        front.faults.next.append("late")
        seen.until(lambda: bool(seen.events))
        before = len(seen.power)
        truth.now_w = 9.0
        seen.lost_and_back()
        seen.more(5)
        check_gap(seen)
        fresh = [reading.value for reading in seen.power[before + 2 :]]
        assert fresh == pytest.approx([9.0] * len(fresh))


def test_no_data_and_over_range_are_flagged_and_keep_the_meter() -> None:
    front = meter()
    with plugged_in(front), watched(front) as seen:
        front.shown = {"P": "NAN", "I": "INF"}
        seen.until(lambda: "sentinel" in seen.power[-1].quality)
        assert ("wall", "power") not in seen.meters.latest()
        front.shown = {}
        seen.until(lambda: seen.power[-1].good)
        current = [reading.quality - {"gap_before"} for reading in seen.all if reading.channel == "current"]
        assert {"invalid", "overload"} in current
        assert seen.events == []


def test_a_range_the_meter_did_not_take_ends_it_with_the_reason() -> None:
    front = meter()
    with plugged_in(front):
        front.stubborn = {":INP:VOLT:RANG": "600.0E+00"}
        seen = Watched(front, None, **KEYS)  # type: ignore[arg-type]
        with seen.meters:
            missing = seen.meters.wait_first_good(60)
    assert ":INP:VOLT:RANG 300V was not taken: the meter says 600.0E+00" in missing["wall"]
    assert [kind for kind, _ in seen.events] == ["fatal"]


def test_a_meter_that_is_not_there_is_waited_for() -> None:
    front = meter()
    line = Plugged(front)
    line.plug()
    line.unplug()
    seen = Watched(front, None, **KEYS)  # type: ignore[arg-type]
    with seen.meters:
        assert "wall" in seen.meters.wait_first_good(0.8)
        line.plug()
        assert seen.meters.wait_first_good(60) == {}
        line.unplug()
