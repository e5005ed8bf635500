"""The laboratory's display and the person who reads it: the notes are what a display of the truth would show."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from iojoule.experiment.coverage import cover
from iojoule.meters import clock
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.manual import DIGIT_WH, LOOK_EVERY_S, U_LOOK_S, ManualFront


def test_the_notes_are_whole_digits_of_the_true_energy() -> None:
    with clock.use(clock.SimClock()) as sim:
        began_ns = sim.now_ns()
        front = ManualFront(Load([State(500.0, 1.0)], began_ns), seed=4)
        clock.sleep(100.0)
        looks = front.looks()
    assert len(looks) == 21
    for number, (at_ns, shown) in enumerate(looks):
        assert abs(at_ns - began_ns - number * LOOK_EVERY_S * 1e9) <= 2 * U_LOOK_S * 1e9
        true_wh = 500.0 * number * LOOK_EVERY_S * front.instrument.gain / 3600
        assert true_wh - DIGIT_WH - 0.015 <= shown <= true_wh + 1e-9
        assert shown == pytest.approx(round(shown / DIGIT_WH) * DIGIT_WH)


def test_notes_lie_in_a_file_that_anything_can_read() -> None:
    front = ManualFront(Load([State(500.0, 1.0)], time.monotonic_ns()), seed=4)
    with front.served() as path:
        by = time.monotonic() + 30
        while not (Path(path).exists() and "\n" in Path(path).read_text()) and time.monotonic() < by:
            time.sleep(0.05)
        at_ns, _, shown = Path(path).read_text().splitlines()[0].partition(" ")
    assert abs(int(at_ns) - time.monotonic_ns()) < 60 * 10**9
    assert float(shown) == 0.0


@pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.stress)])
def test_the_truth_lies_within_what_is_quoted(runs: int) -> None:
    covered, trials = cover("manual", range(runs))
    assert covered.share >= (0.9 if runs < 200 else 0.95), covered
    assert covered.quoted >= 0.9 * runs, [one.note for one in trials if one.joules is None]
