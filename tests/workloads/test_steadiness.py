"""The load is told to measure when its rounds are steady, and is stopped or marked when they no longer are."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from iojoule.errors import RunFailed
from iojoule.workloads.steadiness import Rounds, SteadyState, drive

S = 1_000_000_000


def rounds_of(rates: list[float], outstanding: int | None = None, **keys: Any) -> tuple[Rounds, list[str]]:
    """Rounds of one second with these rates, 4 KiB a request; what the load was told after each."""
    rounds = Rounds(SteadyState.model_validate({"round": 1, **keys}), outstanding)
    done = 0.0
    rounds.begin(0, {"done": 0, "errors": 0, "bytes": 0})
    told = []
    for second, rate in enumerate(rates, start=1):
        done += rate
        told.append(rounds.end(second * S, {"done": done, "errors": 0, "bytes": 4096 * done}, 8.0))
    return rounds, told


def test_it_measures_after_the_first_steady_window_and_not_before() -> None:
    rounds, told = rounds_of([500, 400, 300, 200, 200, 200, 200, 200])
    assert told == ["wait"] * 7 + ["measure"]
    found = rounds.describe()
    assert (found["steady"], found["reached_round"], found["reason"]) == (True, 8, "")
    assert [entry["phase"] for entry in found["rounds"]] == ["warmup"] * 8


def test_five_level_rounds_are_enough() -> None:
    assert rounds_of([100] * 6)[1] == ["wait"] * 4 + ["measure", "wait"]


def test_what_never_settles_is_given_up_measured_and_marked() -> None:
    rounds, told = rounds_of([100, 200] * 4, max_rounds=7)
    assert told == ["wait"] * 6 + ["measure", "wait"]
    found = rounds.describe()
    assert not found["steady"]
    assert "not steady within 8 rounds" in found["reason"]


@pytest.mark.parametrize(("on_leaving", "steady"), [("stop", True), ("mark", False)])
def test_leaving_is_noticed_once_and_told(on_leaving: str, steady: bool) -> None:
    rounds, told = rounds_of([100] * 5 + [100, 50, 50], on_leaving=on_leaving)
    assert told == ["wait"] * 4 + ["measure", "wait", "left", "wait"]
    found = rounds.describe()
    assert (found["steady"], found["left_round"]) == (steady, 7)
    assert "left the steady state in round 7" in found["reason"]
    assert "excursion" in found["reason"]


def test_mean_latency_follows_from_littles_law() -> None:
    closed, _ = rounds_of([1000] * 5, outstanding=32, metric="latency")
    assert closed.rounds[-1]["value"] == pytest.approx(32)  # 32 in flight, 1000/s: 32 ms
    open_loop, _ = rounds_of([1000] * 5, metric="latency")
    assert open_loop.rounds[-1]["value"] == pytest.approx(8)


def test_megabytes_may_be_what_must_be_steady() -> None:
    rounds, _ = rounds_of([1000] * 5, metric="mb_s")
    assert rounds.rounds[-1]["value"] == pytest.approx(4.096)


def test_a_device_that_answers_nothing_is_not_steady() -> None:
    for metric in ("iops", "latency"):
        rounds, told = rounds_of([0] * 5, outstanding=1, metric=metric, max_rounds=5)
        assert told[-1] == "measure"
        assert not rounds.describe()["steady"]


class FakeLoad:
    """A load of level rate that ends half a second after it was told to measure, or when it is stopped."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.began = time.monotonic()
        self.measured = threading.Event()
        self.stopped = threading.Event()

    def snapshot(self) -> dict[str, Any]:
        age = time.monotonic() - self.began
        done = 1e6 * age**self.factor
        return {"issued": done, "done": done, "errors": 0, "bytes": 4096 * done, "in_flight": 1}

    def measure(self, from_ns: int) -> None:
        assert from_ns <= time.monotonic_ns()
        self.measured.set()

    def stop(self, now: bool = False) -> None:
        self.stopped.set()

    def run(self) -> dict[str, Any]:
        while not self.measured.wait(0.01) and not self.stopped.is_set():
            pass
        self.stopped.wait(0.5)
        return {}


# Windows as wide as a loaded machine may make them: what is tested is who tells whom, the rule has its own tests.
WIDE: dict[str, Any] = {"round": 0.1, "slope": 80, "excursion": 80}


def test_a_level_load_is_measured() -> None:
    load = FakeLoad()
    summary = drive(SteadyState(**WIDE), None, 0.0, load, load.run)
    assert load.measured.is_set()
    assert summary["steady_state"]["reached_round"] >= 5


def test_a_load_that_never_settles_fails_where_that_was_asked_for() -> None:
    load = FakeLoad(factor=4)  # its rate grows with the cube of its age
    config = SteadyState(round=0.1, slope=1, excursion=1, max_rounds=6, otherwise="fail")
    with pytest.raises(RunFailed, match="not steady within 6 rounds"):
        drive(config, None, 0.0, load, load.run)
    assert not load.measured.is_set()


def test_a_watcher_that_fails_ends_the_load_which_would_wait_for_it_for_ever() -> None:
    load = FakeLoad()
    whole = load.snapshot

    def broken() -> dict[str, Any]:
        if time.monotonic() - load.began > 0.3:
            raise OSError("the counters are gone")
        return whole()

    load.snapshot = broken  # type: ignore[method-assign]
    with pytest.raises(OSError, match="the counters are gone"):
        drive(SteadyState(**WIDE), None, 0.0, load, load.run)
    assert load.stopped.is_set()


def test_a_load_that_ends_by_itself_ends_the_watch() -> None:
    load = FakeLoad()
    summary = drive(SteadyState(round=60), None, 0.0, load, dict)
    assert summary["steady_state"]["rounds"] == []
    assert not summary["steady_state"]["steady"]
