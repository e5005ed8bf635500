"""The loop of a meter's process: absolute deadlines, and a lost meter is won back as its error says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from iojoule.meters import sampler as room
from iojoule.meters.base import Channel, ClockProbe, Description, Fatal, MeterError, Reading, Reconnect, Retry, read
from iojoule.meters.continuity import Continuity
from iojoule.meters.sampler import Commands, Sampler

P = Channel("p", "power", "W", "device", "window_mean")
POLL_S = 0.25
S = 10**9


class Bench:
    """A driver that does what a script says: a window ``(start, end)`` in seconds, or an error."""

    Config: ClassVar[Any] = None
    poll_s = POLL_S

    def __init__(self, *script: tuple[float, float] | MeterError) -> None:
        self.script = list(script)
        self.calls: list[str] = []
        self.clocks: list[ClockProbe] = []

    def configure(self) -> None:
        self.calls.append("configure")

    def describe(self) -> Description:
        return Description({}, (P,))

    def start(self) -> None:
        self.calls.append("start")

    def next(self, deadline_ns: int) -> list[Reading]:
        self.calls.append("next")
        step = self.script.pop(0)
        if isinstance(step, MeterError):
            raise step
        return [read(P, int(step[0] * S), int(step[1] * S), 0, 12.0)]

    def sync(self) -> ClockProbe | None:
        return self.clocks.pop(0) if self.clocks else None

    def stop(self) -> dict[str, Any] | None:
        return {"meter_j": 1.0}

    def close(self) -> None:
        self.calls.append("close")


class Clockwork:
    """Commands that never wait, and stop when the script of the bench is through."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.untils = bench, []  # type: Bench, list[int]

    def stopped(self, until_ns: int) -> bool:
        self.untils.append(until_ns)
        return not self.bench.script


def run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[dict[str, Any]], Clockwork]:
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(room, "_say", lambda **document: said.append(document))
    commands: Any = Clockwork(bench)
    code = Sampler(bench, "m", "bench", POLL_S, Continuity(POLL_S)).run(commands, None)
    return code, said, commands


def events(said: list[dict[str, Any]]) -> list[str]:
    return [document["event"] for document in said if "event" in document]


def test_deadlines_stay_on_one_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, commands = run(Bench(*[(n * POLL_S, (n + 1) * POLL_S) for n in range(20)]), monkeypatch)
    steps = {(until - commands.untils[0]) % int(POLL_S * S) for until in commands.untils}
    assert steps == {0}


def test_description_comes_first_and_the_final_last(monkeypatch: pytest.MonkeyPatch) -> None:
    code, said, _ = run(Bench((0, 1)), monkeypatch)
    assert [next(iter(document)) for document in said] == ["describe", "readings", "final"]
    assert code == 0 and said[-1]["final"] == {"meter_j": 1.0}


def test_a_retry_keeps_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench((0, 1), Retry("busy"), (3, 4))
    _, said, _ = run(bench, monkeypatch)
    assert bench.calls == ["configure", "start", "next", "next", "next", "close"]
    assert events(said) == ["lost", "back"]
    flags = [row[-1] for document in said if "readings" in document for row in document["readings"]]
    assert flags == ["", "gap_before"]


def test_a_broken_connection_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench((0, 1), Reconnect("hung up"), (1.1, 2.1))
    run(bench, monkeypatch)
    assert bench.calls == ["configure", "start", "next", "next", "close", "configure", "start", "next", "close"]


def test_three_retries_in_vain_become_a_reconnect(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(Retry("busy"), Retry("busy"), Retry("busy"), (0, 1))
    _, said, _ = run(bench, monkeypatch)
    assert bench.calls.count("configure") == 2
    assert events(said) == ["lost", "retry", "retry", "back"]


def test_a_fatal_error_ends_it_and_lets_the_meter_go(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench((0, 1), Fatal("wrong range"), (1, 2))
    code, said, _ = run(bench, monkeypatch)
    assert (code, bench.calls[-1], events(said)) == (3, "close", ["fatal"])


def test_the_meters_clock_is_read_before_during_and_after_but_never_before_a_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(room, "SYNC_S", 0.0)
    bench = Bench((0, 1), (1, 2))
    bench.clocks = [ClockProbe(n, 1000 + n, n + 2) for n in range(100)]
    _, said, _ = run(bench, monkeypatch)
    kinds = "".join({"describe": "d", "readings": "r", "probe": "p", "final": "f"}[next(iter(one))] for one in said)
    assert kinds == "ppppdrprpppppf"
    assert said[0]["probe"] == [0, 1000, 2]


def test_a_look_at_the_clock_is_told_once_and_a_meter_that_had_none_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PTDaemon's and Keithley's clocks are seen by their readings: at first not at all, then the last look again."""
    monkeypatch.setattr(room, "SYNC_S", 0.0)
    bench = Bench((0, 1), Reconnect("gone"), (2, 3), (3, 4))
    seen = [None, *[ClockProbe(5, 1005, 7)] * 20]
    monkeypatch.setattr(bench, "sync", lambda: seen.pop(0))
    _, said, _ = run(bench, monkeypatch)
    assert [document["probe"] for document in said if "probe" in document] == [[5, 1005, 7]]


def test_a_clock_that_cannot_be_read_now_costs_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    def busy() -> ClockProbe | None:
        raise Retry("busy")

    bench = Bench((0, 1), (1, 2))
    monkeypatch.setattr(bench, "sync", busy)
    _, said, _ = run(bench, monkeypatch)
    assert sum("readings" in document for document in said) == 2
    assert "its clock was not read: busy" in [document.get("text") for document in said]


def test_readings_of_a_fast_meter_leave_together_and_none_stays_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bench, "poll_s", 0.001)
    _, said, _ = run(Bench(*[(n * 1e-3, (n + 1) * 1e-3) for n in range(30)]), monkeypatch)
    sent = [row[3] for document in said if "readings" in document for row in document["readings"]]
    assert sent == list(range(30))
    assert sum("readings" in document for document in said) < 10


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_stop_that_came_with_the_job_is_heard(pipe: tuple[int, int]) -> None:
    commands = Commands(pipe[0])
    os.write(pipe[1], json.dumps({"meter": {}}).encode() + b"\nstop\n")
    assert json.loads(commands.line()) == {"meter": {}}
    assert commands.stopped(2**62)


def test_a_deadline_in_the_past_is_not_waited_for(pipe: tuple[int, int]) -> None:
    assert Commands(pipe[0]).stopped(0) is False
