"""Laws of registers polled without an edge: every update once, in its window, and none that did not take place."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from iojoule.meters.polled import Polled, Window

S = 10**9
MS = 10**6
TOLERANCE = 0.01


class Device:
    """Updates every ``update_ns`` give or take ``wander``, first at ``phase_ns``; number n shows ``values[n]``."""

    def __init__(self, values: list[int], update_ns: int, phase_ns: int, wander: list[float]) -> None:
        self.values, self.edges_ns = values, [phase_ns]
        for i in range(1, len(values)):
            self.edges_ns.append(self.edges_ns[-1] + int(update_ns * (1 + wander[i % len(wander)])))

    def at(self, now_ns: int) -> int:
        """Number of the update that is shown."""
        return max(sum(edge <= now_ns for edge in self.edges_ns) - 1, 0)


VALUES = st.lists(st.integers(0, 3), min_size=12, max_size=12)
WANDER = st.lists(st.floats(-0.009, 0.009), min_size=1, max_size=5)
PHASE = st.integers(0, S)


def looks(
    device: Device, every_ms: int, way_ms: int, stamped: bool, until_ns: int, apart: bool = False
) -> list[tuple[int, Window | None]]:
    polled = Polled(1.0, tolerance=TOLERANCE, apart=apart)
    found = []
    for before in range(2 * S, until_ns, every_ms * MS):
        number = device.at(before + way_ms * MS // 3)
        stamp = number if stamped else None
        found.append((number, polled.look(before, before + way_ms * MS, device.values[number], stamp)))
    return found


@given(VALUES, PHASE, WANDER, st.integers(50, 400), st.integers(0, 30), st.booleans())
@example([1] * 12, 0, [0.0], 250, 0, False)
@example([0] * 12, 0, [0.0078125], 50, 0, False)
@example([0, 1, 1, *[0] * 9], 0, [0.0078125], 50, 0, False)
def test_every_update_is_fresh_once_and_its_end_within_what_is_not_known(
    values: list[int], phase: int, wander: list[float], every_ms: int, way_ms: int, stamped: bool
) -> None:
    device = Device(values, S, phase, wander)
    seen = looks(device, every_ms, way_ms, stamped, device.edges_ns[-1])
    fresh = [(number, window) for number, window in seen if window is not None and window.fresh]
    if stamped:
        assert [number for number, _ in fresh] == list(range(seen[0][0] + 1, seen[-1][0] + 1))
    for number, window in fresh:
        # Half the rectangle is √3 standard uncertainties. Of equal values a later one may be shown already.
        ends = [device.edges_ns[number], *device.edges_ns[max(0, number - 1) : number]]
        assert min(abs(window.end_ns - end) for end in ends) <= math.sqrt(3) * window.u_time_ns + 2


@given(VALUES, PHASE, WANDER, st.integers(50, 400), st.integers(0, 30), st.booleans())
@example([0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], 0, [0.0078125], 50, 0, False)
def test_windows_follow_each_other_without_holes_and_without_overlap(
    values: list[int], phase: int, wander: list[float], every_ms: int, way_ms: int, stamped: bool
) -> None:
    device = Device(values, S, phase, wander)
    seen = looks(device, every_ms, way_ms, stamped, device.edges_ns[-1])
    fresh = [window for _, window in seen if window is not None and window.fresh]
    assert all(a.end_ns == b.start_ns < b.end_ns for a, b in pairwise(fresh))
    # As long as no change was seen, each end is known to half an update.
    assert all(0.45 * S < b.end_ns - b.start_ns < 1.75 * S for b in fresh[1:])


@given(VALUES, PHASE, WANDER, st.integers(50, 400), st.integers(0, 30), st.booleans())
@example([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], 0, [0.009], 245, 0, False)
@example([*[0] * 11, 1], 120000001, [0.0], 152, 0, False)
def test_apart_every_instant_has_the_value_that_was_measured_there(
    values: list[int], phase: int, wander: list[float], every_ms: int, way_ms: int, stamped: bool
) -> None:
    device = Device(values, S, phase, wander)
    seen = looks(device, every_ms, way_ms, stamped, device.edges_ns[-1], apart=True)
    claimed: list[tuple[Window, int]] = []
    shown = device.values[seen[0][0]]
    for number, window in seen:
        if window is not None and window.fresh:
            claimed += [(window.rest, shown)] if window.rest else []
            claimed.append((window, device.values[number]))
        shown = device.values[number]
    assert all(a.end_ns == b.start_ns for (a, _), (b, _) in pairwise(claimed))
    for (last, _), (window, value) in pairwise(claimed):
        # Half the rectangle at either end, and what may have gone by since an instant was seen.
        begin_ns = window.start_ns + math.ceil(math.sqrt(3) * max(last.u_time_ns, window.u_time_ns)) + S // 50
        end_ns = window.end_ns - math.ceil(math.sqrt(3) * window.u_time_ns) - S // 50
        for at in (begin_ns, (begin_ns + end_ns) // 2, end_ns):
            if begin_ns <= at <= end_ns:
                # The value an update shows was measured until then.
                number = sum(edge < at for edge in device.edges_ns)
                assert number == 0 or device.values[number] == value


@given(VALUES, PHASE, WANDER, st.integers(50, 400))
def test_the_time_that_passed_gives_a_steady_value_as_many_windows_as_a_stamp_does(
    values: list[int], phase: int, wander: list[float], every_ms: int
) -> None:
    device = Device(values, S, phase, wander)
    blind, told = (
        sum(window is not None and window.fresh for _, window in looks(device, every_ms, 0, stamped, 11 * S))
        for stamped in (False, True)
    )
    assert 0 <= told - blind <= 1  # the last may still be doubtful


@given(st.integers(1, 20), st.integers(100, 900))
def test_a_stamp_that_stands_still_is_no_new_sample_however_long(looks_after: int, every_ms: int) -> None:
    polled = Polled(1.0)
    polled.look(0, 0, 5, "a")
    first = polled.look(S, S, 5, "b")
    assert first is not None and first.fresh
    for i in range(1, looks_after):
        again = polled.look(S + i * every_ms * MS, S + i * every_ms * MS, 5, "b")
        assert again is not None and not again.fresh and again.end_ns == first.end_ns


@given(VALUES, PHASE, st.integers(1100, 3500))
def test_looks_rarer_than_updates_leave_holes_and_never_stretch_a_window(
    values: list[int], phase: int, every_ms: int
) -> None:
    device = Device(values, S, phase, [0.0])
    seen = looks(device, every_ms, 0, True, 11 * S)
    fresh = [window for _, window in seen if window is not None and window.fresh]
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(fresh))
    assert all(b.end_ns - b.start_ns <= 1.5 * S for b in fresh)
    if every_ms > 2100 and len(fresh) > 1:
        assert any(a.end_ns < b.start_ns for a, b in pairwise(fresh))


@given(PHASE)
def test_an_edge_is_known_to_a_poll_and_better_when_polls_and_updates_beat(phase: int) -> None:
    device = Device(list(range(40)), S, phase, [0.0])
    for every_ms, polls in ((250, 1.0), (230, 0.5)):
        window = [window for _, window in looks(device, every_ms, 0, False, 39 * S) if window is not None][-1]
        assert window.u_time_ns <= polls * every_ms * MS / math.sqrt(12) + 1


def test_before_the_first_update_there_is_no_window_and_a_loss_forgets_the_phase() -> None:
    polled = Polled(1.0, latency_s=0.2, u_latency_s=0.05)
    assert polled.look(0, 10 * MS, 5) is None
    assert polled.look(500 * MS, 510 * MS, 5) is None
    window = polled.look(700 * MS, 710 * MS, 6)
    assert window is not None
    assert window.end_ns == (500 + 710) * MS // 2 - 200 * MS and window.end_ns - window.start_ns == S
    assert abs(window.u_time_ns - math.hypot(210 / math.sqrt(12), 50) * MS) < 10
    polled.lost()
    assert polled.look(720 * MS, 730 * MS, 9) is None
    after = polled.look(800 * MS, 810 * MS, 10)
    assert after is not None and after.start_ns >= window.end_ns  # no instant counts twice


def test_a_device_that_updates_faster_than_it_says_is_seen_where_it_changed() -> None:
    polled = Polled(1.0)
    for i in range(8):
        window = polled.look(i * 250 * MS, i * 250 * MS, i)
        if window is not None:
            assert abs(window.end_ns - (i * 250 - 125) * MS) <= 125 * MS
