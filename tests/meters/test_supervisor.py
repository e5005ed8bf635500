"""Meters in processes of their own: one that dies leaves a gap and comes back; nobody else notices."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from iojoule.meters import parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.config import MeterConfig
from iojoule.meters.supervisor import MeterSet


def model(name: str, interval: str = "50ms", **keys: object) -> MeterConfig:
    return parse_meter({"kind": "utilisation", "name": name, "interval": interval, "idle_w": 30, "u_rel": 0.2} | keys)


class Notes:
    """What a meter set handed on."""

    def __init__(self) -> None:
        self.readings: list[tuple[str, Reading]] = []
        self.events: list[tuple[str, str, str]] = []
        self.news = threading.Condition()

    def take(self, meter: str, readings: list[Reading]) -> None:
        with self.news:
            self.readings += [(meter, reading) for reading in readings if reading.channel == "cpu"]
            self.news.notify_all()

    def event(self, meter: str, kind: str, text: str) -> None:
        with self.news:
            self.events.append((meter, kind, text))
            self.news.notify_all()

    def until(self, true: Callable[[], bool]) -> None:
        with self.news:
            assert self.news.wait_for(true, 60), self.events

    def of(self, meter: str) -> list[Reading]:
        return [reading for name, reading in self.readings if name == meter]


SAMPLER = "iojoule.meters.sampler"


def children() -> list[int]:
    """Sampler processes of this test's own making."""
    found = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    ).stdout
    return [int(line.split()[0]) for line in found.splitlines() if SAMPLER in line]


def test_a_meter_killed_in_mid_run_is_lost_comes_back_and_leaves_a_gap() -> None:
    notes = Notes()
    with MeterSet([model("a"), model("b")], sink=notes.take, on_event=notes.event) as meters:
        assert meters.wait_first_good(60) == {}
        notes.until(lambda: len(notes.of("a")) > 3)
        victim, *_ = children()
        os.kill(victim, signal.SIGKILL)
        notes.until(lambda: [kind for _, kind, _ in notes.events] == ["lost", "back"])
        name = notes.events[0][0]
        have = len(notes.of(name))
        notes.until(lambda: len(notes.of(name)) >= have + 3)
    other = {"a": "b", "b": "a"}[name]
    assert notes.events[0][2] == "its process ended with -9"
    assert [reading.seq for reading in notes.of(name)] == list(range(len(notes.of(name))))
    assert sum("gap_before" in reading.quality for reading in notes.of(name)) == 1
    assert [n for n, *_ in notes.events if n == other] == []
    assert all(a.end_ns == b.start_ns for a, b in pairwise(notes.of(other)))
    assert meters.failure is None


def test_a_lost_meter_shows_no_watts() -> None:
    shown: list[dict[tuple[str, str], float]] = []
    notes = Notes()

    def event(meter: str, kind: str, text: str) -> None:
        shown.append(meters.latest())
        notes.event(meter, kind, text)

    meters = MeterSet([model("a")], on_event=event)
    with meters:
        assert meters.wait_first_good(60) == {}
        assert meters.latest()["a", "system"] >= 30
        os.kill(children()[0], signal.SIGKILL)
        notes.until(lambda: bool(notes.events))
    assert shown[0] == {}


def test_a_meter_that_hangs_is_ended_and_started_again() -> None:
    notes = Notes()
    with MeterSet([model("a")], sink=notes.take, on_event=notes.event) as meters:
        assert meters.wait_first_good(60) == {}
        meters._meters[0].patience_s = 1.0
        have = len(notes.of("a"))
        notes.until(lambda: len(notes.of("a")) > have)
        os.kill(children()[0], signal.SIGSTOP)
        notes.until(lambda: [kind for _, kind, _ in notes.events][:2] == ["lost", "back"])
        assert notes.events[0][2] == "silent for 1 s"


def test_a_process_that_cannot_be_started_now_is_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes()
    refusals = [OSError(11, "Resource temporarily unavailable")]
    popen = subprocess.Popen

    def start(*args: Any, **keys: Any) -> Any:
        if refusals:
            raise refusals.pop()
        return popen(*args, **keys)

    monkeypatch.setattr("iojoule.meters.process.subprocess.Popen", start)
    with MeterSet([model("a")], sink=notes.take, on_event=notes.event) as meters:
        assert meters.wait_first_good(60) == {}
    assert [event[1] for event in notes.events] == ["lost", "back"]
    assert "did not start" in notes.events[0][2]


def test_a_sink_that_fails_is_reported_and_stops_nothing() -> None:
    calls = []

    def full(meter: str, readings: list[Reading]) -> None:
        calls.append(meter)
        raise OSError(28, "No space left on device")

    with MeterSet([model("a")], sink=full) as meters:
        assert meters.wait_first_good(60) == {}
        by = time.monotonic() + 60
        while len(calls) < 3 and time.monotonic() < by:
            time.sleep(0.02)
    assert len(calls) >= 3
    assert isinstance(meters.failure, OSError)


def test_a_meter_that_cannot_work_says_why_and_the_others_go_on(tmp_path: Path) -> None:
    notes = Notes()
    bad = parse_meter({"kind": "powercap", "root": str(tmp_path)})
    with MeterSet([bad, model("a")], sink=notes.take, on_event=notes.event) as meters:
        missing = meters.wait_first_good(60)
        assert "no energy counters" in missing["powercap"]
        notes.until(lambda: len(notes.of("a")) > 2)
        assert [described["name"] for described in meters.descriptions()] == ["powercap", "a"]
    assert [event[:2] for event in notes.events] == [("powercap", "fatal")]


def test_two_meters_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two meters are named a"):
        MeterSet([model("a"), model("a")])


def test_closing_ends_every_process_and_may_be_done_twice() -> None:
    meters = MeterSet([model("a"), model("b")])
    meters.start()
    assert meters.wait_first_good(60) == {}
    assert meters.close() == {"a": None, "b": None} == meters.close()
    assert children() == []


def test_closing_at_once_leaves_no_process_behind() -> None:
    meters = MeterSet([model("a", interval="1h")])
    meters.start()
    meters.close()
    assert children() == []


RUNNER = """
import time
from iojoule.meters import parse_meter
from iojoule.meters.supervisor import MeterSet
meters = MeterSet([parse_meter({"kind": "utilisation", "idle_w": 30, "u_rel": 0.2, "interval": "50ms"})])
meters.start()
assert meters.wait_first_good(60) == {}
print(meters._meters[0].process.pid, flush=True)
time.sleep(600)
"""


def test_a_meter_does_not_outlive_a_killed_runner() -> None:
    import iojoule

    env = os.environ | {"PYTHONPATH": str(Path(iojoule.__file__).parent.parent)}
    runner = subprocess.Popen([sys.executable, "-c", RUNNER], stdout=subprocess.PIPE, text=True, env=env)
    assert runner.stdout
    sampler = int(runner.stdout.readline())
    runner.kill()
    runner.wait()
    runner.stdout.close()
    by = time.monotonic() + 60
    while _runs(sampler) and time.monotonic() < by:
        time.sleep(0.02)
    assert not _runs(sampler)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_ctrl_c_on_the_terminal_does_not_reach_a_meter() -> None:
    notes = Notes()
    with MeterSet([model("a")], sink=notes.take, on_event=notes.event) as meters:
        assert meters.wait_first_good(60) == {}
        sampler = children()[0]
        assert os.getpgid(sampler) != os.getpgid(0)
        os.kill(sampler, signal.SIGINT)
        have = len(notes.of("a"))
        notes.until(lambda: len(notes.of("a")) > have + 2)
    assert notes.events == []
