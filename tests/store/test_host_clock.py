"""A host whose civil clock is set while a run lasts is seen, and nothing of the run moves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from iojoule.store.host_clock import Pair, step_s
from iojoule.store.reader import open_run
from iojoule.store.writer import RunWriter

MS = 1_000_000
S = 1000 * MS


@pytest.mark.parametrize("step", [600.0, -600.0, 0.5, -0.002])
def test_a_step_is_told_from_running_on(step: float) -> None:
    before = Pair(100 * S, 5000 * S, 0)
    after = Pair(100 * S + 100 * MS, 5000 * S + 100 * MS + int(step * S), 0)
    assert step_s(before, after) == pytest.approx(step)


def test_a_disciplined_clock_runs_fast_or_slow_and_is_not_set() -> None:
    before = Pair(0, 0, 0)
    for ppm in (-500, 500):
        assert step_s(before, Pair(60 * S, 60 * S + 60 * ppm * 1000, 0)) is None


def test_a_look_that_was_held_up_is_no_step() -> None:
    assert step_s(Pair(0, 0, 0), Pair(100 * MS, 108 * MS, 8 * MS)) is None


def test_a_clock_set_by_ten_minutes_is_an_event_and_leaves_the_times_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true_utc = time.time_ns
    with RunWriter(tmp_path / "run", {}) as run:
        run.tick()
        run.event("before")
        for minutes in (10, -10):
            monkeypatch.setattr(time, "time_ns", lambda by=minutes: true_utc() + by * 60 * S)
            run.tick()
            run.tick()
        run.event("after")
        run.status, run.exit_code = "complete", 0
    found = open_run(tmp_path / "run")
    events = found.events()
    steps = [event["host_clock_step_s"] for event in events if "host_clock_step_s" in event]
    assert steps == pytest.approx([600, -1200], abs=0.1)
    assert events[1]["text"].startswith("host clock stepped by +600.0") or "+599.9" in events[1]["text"]
    assert [event["ns"] for event in events] == sorted(event["ns"] for event in events)
    assert events[-1]["ns"] - events[0]["ns"] < 60 * S
    # The pairs on both sides of the step tell which UTC belongs to which part of the run.
    utc = [pair[1] - pair[0] for pair in found.manifest["clock_pairs"]]
    assert [round((b - utc[0]) / S) for b in utc] == [0, 0, 600, 600, -600, -600]
