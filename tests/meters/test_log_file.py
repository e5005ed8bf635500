"""A log that grows is followed line by line; half a line waits, a log that was replaced is opened anew."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import pytest

from iojoule.meters import clock
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.log_file import LogFile, LogFileConfig


class Kept:
    """A raw log in memory."""

    def __init__(self) -> None:
        self.heard = b""

    def sent(self, data: bytes) -> None:
        raise AssertionError("a log is not spoken to")

    def received(self, data: bytes) -> None:
        self.heard += data


def add(log: Path, text: str) -> None:
    with log.open("ab") as file:
        file.write(text.encode())


def following(log: Path, raw: Kept | None = None, **keys: Any) -> LogFile:
    meter = LogFile(LogFileConfig(**({"path": log, "value_column": "Power"} | keys)), raw)
    meter.configure()
    meter.start()
    return meter


def now_utc_s() -> float:
    return time.time_ns() * 1e-9


def test_transcript_of_a_growing_log(tmp_path: Path) -> None:
    log, raw = tmp_path / "log.csv", Kept()
    add(log, "\ufeffTime,Power (mW)\n1000,9999\n")
    meter = following(log, raw, time_column="Time", interval=0.5)
    assert meter.next(0) == []  # what was there before is of another time
    at = math.floor(now_utc_s() * 1000) / 1000
    add(log, f"{at:.3f},18000\n{at + 0.5:.3f},-2")
    (first,) = meter.next(0)
    assert (first.value, first.unit, first.channel) == (18.0, "W", "power")
    assert first.end_ns - first.start_ns == 500_000_000
    assert abs(first.end_ns - clock.now_ns()) < 2 * 10**9
    assert first.u_time_ns == pytest.approx(1e6 / math.sqrt(12), abs=1)
    assert meter.next(0) == []
    add(log, "0\n")
    (second,) = meter.next(0)
    assert second.value == pytest.approx(-0.02)  # the sign is kept, and the two halves are one number
    assert second.end_ns - first.end_ns == pytest.approx(5e8, abs=2e6)
    assert raw.heard == f"{at:.3f},18000\n{at + 0.5:.3f},-20\n".encode()


def test_half_a_line_at_the_start_is_completed(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    add(log, "Power (W)\n17.0\n18")
    meter = following(log)
    add(log, ".5\n")
    assert [reading.value for reading in meter.next(0)] == [18.5]


def test_without_stamps_a_line_lies_between_two_looks(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    add(log, "Zeit;Power (W)\nx;1,0\n")
    with clock.use(clock.SimClock()) as sim:
        meter = following(log, latency=0.1)
        clock.sleep(0.2)
        add(log, "y;12,5\n")
        (reading,) = meter.next(0)
        assert reading.value == 12.5
        assert reading.end_ns == sim.now_ns() - 200_000_000
        assert reading.u_time_ns == pytest.approx(0.2e9 / math.sqrt(12), abs=1)


@pytest.mark.parametrize(("window", "before", "after"), [("before", 10**9, 0), ("after", 0, 10**9), ("instant", 0, 0)])
def test_a_value_holds_where_its_author_says(tmp_path: Path, window: str, before: int, after: int) -> None:
    log = tmp_path / "log.csv"
    add(log, "t,Power (W)\n")
    meter = following(log, window=window)
    with clock.use(clock.SimClock(clock.now_ns() + 10**9)):
        add(log, "1,5\n")
        (reading,) = meter.next(0)
    middle = reading.start_ns + before
    assert (reading.start_ns, reading.end_ns) == (middle - before, middle + after)
    assert meter.describe().channels[0].kind == ("instant" if window == "instant" else "window_mean")


def test_codes_and_words_are_no_values(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    add(log, "Power (W)\n")
    meter = following(log, sentinels=(-1.0, -2.0))
    add(log, "-2\nn/a\n0\n-3.5\n")
    readings: list[Reading] = meter.next(0)
    assert [reading.flags for reading in readings] == ["invalid sentinel", "invalid sentinel", "", ""]
    assert [reading.value for reading in readings[2:]] == [0.0, -3.5]


def test_a_log_that_is_replaced_or_cut_is_opened_anew(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    add(log, "Power (W)\n1\n")
    meter = following(log)
    log.rename(tmp_path / "log.csv.1")
    with pytest.raises(Reconnect, match="replaced or cut"):
        meter.next(0)
    meter.close()
    with pytest.raises(Reconnect, match="waited for"):
        meter.configure()
    add(log, "Power (W)\n")
    meter.configure()
    meter.start()
    add(log, "2\n")
    assert [reading.value for reading in meter.next(0)] == [2.0]


def test_a_log_that_takes_the_place_of_another_is_read_from_its_begin(tmp_path: Path) -> None:
    """Rotation: nobody opens the new log before there is something in it."""
    log = tmp_path / "log.csv"
    add(log, "Power (W)\n1\n")
    meter = following(log)
    log.rename(tmp_path / "log.csv.1")
    add(log, "Power (W)\n2\n3\n")
    with pytest.raises(Reconnect, match="replaced or cut"):
        meter.next(0)
    meter.close()
    meter.configure()
    meter.start()
    add(log, "4\n")
    assert [reading.value for reading in meter.next(0)] == [2.0, 3.0, 4.0]


def test_a_log_that_comes_while_it_is_waited_for_is_read_from_its_begin(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    meter = LogFile(LogFileConfig(path=log, value_column="1", unit="W"))
    with pytest.raises(Reconnect, match="waited for"):
        meter.configure()
    add(log, "Watts")
    with pytest.raises(Reconnect, match="no whole line"):
        meter.configure()
    meter.close()
    add(log, "\n5\n6\n")
    meter.configure()
    meter.start()
    assert [reading.value for reading in meter.next(0)] == [5.0, 6.0]


def test_a_log_that_was_out_of_sight_is_read_on_and_nothing_twice(tmp_path: Path) -> None:
    """A share on the network that did not answer for a while."""
    log = tmp_path / "log.csv"
    add(log, "Power (W)\n1\n")
    meter = following(log)
    add(log, "2\n3")
    assert [reading.value for reading in meter.next(0)] == [2.0]
    log.rename(tmp_path / "away")
    with pytest.raises(Reconnect):
        meter.next(0)
    meter.close()
    (tmp_path / "away").rename(log)
    add(log, "0\n4\n")
    meter.configure()
    meter.start()
    assert [reading.value for reading in meter.next(0)] == [30.0, 4.0]


@pytest.mark.parametrize(
    ("header", "keys", "said"),
    [
        ("t,Leistung\n", {}, "no column 'Power'"),
        ("t,Power\n", {}, "no unit"),
        ("t,Power (W)\n", {"time_column": "zeit"}, "no column 'zeit'"),
        ("a,b\nc;d\n", {}, "no separator in common"),
    ],
)
def test_what_only_a_person_can_tell_is_fatal(tmp_path: Path, header: str, keys: dict[str, Any], said: str) -> None:
    log = tmp_path / "log.csv"
    add(log, header)
    with pytest.raises(Fatal, match=said):
        following(log, **keys)


def test_an_energy_column_counts_from_line_to_line(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    add(log, "Energy (Wh)\n5\n")
    meter = following(log, value_column="Energy")
    assert meter.describe().channels[0].kind == "counter"
    add(log, "6\n8\n")
    (first,) = meter.next(0)
    assert first.value == 2 * 3600
