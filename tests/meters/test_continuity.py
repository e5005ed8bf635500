"""Readings are numbered without a hole, and time no window covers is flagged on the reading after it."""

from __future__ import annotations

from iojoule.meters.base import Channel, Reading, read
from iojoule.meters.continuity import Continuity

P = Channel("p", "power", "W", "device", "window_mean")
S = 10**9


def window(start_s: float, end_s: float) -> Reading:
    return read(P, int(start_s * S), int(end_s * S), 0, 1.0)


def flags(continuity: Continuity, *windows: Reading) -> list[str]:
    return [reading.flags for reading in continuity.stamp(windows)]


def test_windows_that_touch_or_jitter_leave_no_gap() -> None:
    assert flags(Continuity(1.0), window(0, 1), window(1, 2), window(2.01, 3.01), window(2.99, 3.99)) == [
        "",
        "",
        "",
        "",
    ]


def test_a_missing_window_is_a_gap() -> None:
    assert flags(Continuity(1.0), window(0, 1), window(2, 3), window(3, 4)) == ["", "gap_before", ""]


def test_a_long_counter_step_is_no_gap() -> None:
    assert flags(Continuity(1.0), window(0, 1), window(1, 9)) == ["", ""]


def test_instants_one_interval_apart_leave_no_gap() -> None:
    assert flags(Continuity(1.0), window(0, 0), window(1, 1), window(3, 3)) == ["", "", "gap_before"]


def test_after_a_loss_even_a_short_hole_is_a_gap() -> None:
    continuity = Continuity(1.0)
    assert flags(continuity, window(0, 1)) == [""]
    continuity.interrupted()
    assert flags(continuity, window(1.1, 2.1), window(2.1, 3.1)) == ["gap_before", ""]


def test_instants_that_a_meter_kept_during_the_loss_leave_no_gap() -> None:
    continuity = Continuity(1.0)
    continuity.stamp([window(0, 0)])
    continuity.interrupted()
    assert flags(continuity, window(1, 1), window(2, 2)) == ["", ""]
    continuity.interrupted()
    assert flags(continuity, window(4, 4)) == ["gap_before"]


def test_a_counter_that_reaches_back_over_the_loss_has_no_gap() -> None:
    continuity = Continuity(1.0)
    continuity.stamp([window(0, 1)])
    continuity.interrupted()
    assert flags(continuity, window(1, 7)) == [""]


def test_a_new_process_goes_on_where_the_dead_one_left_off() -> None:
    stamped = Continuity(1.0, after={"p": (41, 1 * S)}).stamp([window(1.2, 2.2)])
    assert [(reading.seq, reading.flags) for reading in stamped] == [(42, "gap_before")]
