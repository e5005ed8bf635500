"""Waits until a device is steady before anything is measured, and watches that it stays so (SNIA PTS, the rule is in
``metrics.steady_state``). The load runs in its phase ``warmup`` until the watcher tells it to measure.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.errors import RunFailed
from iojoule.metrics.steady_state import Rule, judge
from iojoule.quantities import Seconds

POLL_S = 0.02
UNITS = {"iops": "IOPS", "mb_s": "MB/s", "latency": "ms"}


class SteadyState(BaseModel):
    """``[workload.steady_state]``: what steady means, and what to do where it is not reached or is left."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: Literal["iops", "mb_s", "latency"] = Field(
        "iops", description="What must be steady; latency is the mean of a round by Little's law."
    )
    round: Seconds = Field(10.0, ge=0.1, description="Length of a round; SNIA PTS takes 1min.")
    window: int = Field(5, ge=2, le=1000, description="Rounds that are judged together.")
    slope: float = Field(10.0, gt=0, description="Most per cent of the average the best-fit line may change.")
    excursion: float = Field(20.0, gt=0, description="Most per cent of the average between the extremes of the window.")
    max_rounds: int = Field(25, ge=2, description="Rounds until it is given up.")
    otherwise: Literal["measure", "fail"] = Field(
        "measure", description="Given up: measure all the same and mark the run (iojoule check fails), or fail the run."
    )
    on_leaving: Literal["stop", "mark"] = Field(
        "stop", description="When the rule is broken while measuring: stop there, or go on and mark the run."
    )

    @model_validator(mode="after")
    def _can_be_reached(self) -> SteadyState:
        if self.max_rounds < self.window:
            raise ValueError("max_rounds is less than window: no window would ever be full")
        return self

    @property
    def rule(self) -> Rule:
        return Rule(self.window, self.slope / 100, self.excursion / 100)


class Load(Protocol):
    """What the watcher needs of a running load; ``_native.Progress`` is one."""

    def snapshot(self) -> dict[str, Any]: ...
    def measure(self, from_ns: int) -> None: ...
    def stop(self, now: bool = False) -> None: ...


@dataclass
class Rounds:
    """The rounds of one load, and what follows from each. Pure: it is told the counters and the time."""

    config: SteadyState
    outstanding: int | None
    """Requests in flight all the time; None in an open loop, where their mean over the round is told."""
    rounds: list[dict[str, Any]] = field(default_factory=list)
    reached: int | None = None
    given_up: bool = False
    left: int | None = None
    _from: tuple[int, int, int] | None = None

    @property
    def measuring(self) -> bool:
        return self.reached is not None or self.given_up

    def begin(self, ns: int, counters: Mapping[str, Any]) -> None:
        self._from = (ns, _answered(counters), int(counters["bytes"]))

    def end(self, ns: int, counters: Mapping[str, Any], mean_in_flight: float) -> Literal["wait", "measure", "left"]:
        """Ends a round and begins the next: what the load should be told."""
        assert self._from is not None
        then, answered, size = self._from
        self.begin(ns, counters)
        seconds = (ns - then) / 1e9
        requests = _answered(counters) - answered
        value = {
            "iops": requests / seconds,
            "mb_s": (int(counters["bytes"]) - size) / 1e6 / seconds,
            # Mean residence = mean number inside / rate (Little 1961); in a closed loop the number is constant.
            "latency": (self.outstanding or mean_in_flight) * seconds / requests * 1e3 if requests else math.inf,
        }[self.config.metric]
        number = len(self.rounds) + 1
        values = [math.inf if entry["value"] is None else entry["value"] for entry in self.rounds] + [value]
        verdict = judge(values, self.config.rule)
        steady = None if verdict is None else verdict.steady
        self.rounds.append(
            {
                "begin_ns": then,
                "end_ns": ns,
                "value": value if math.isfinite(value) else None,
                "phase": "measure" if self.measuring else "warmup",
                "slope": _finite(verdict.slope if verdict else None),
                "excursion": _finite(verdict.excursion if verdict else None),
                "steady": steady,
            }
        )
        if not self.measuring:
            if steady:
                self.reached = number
            elif number >= self.config.max_rounds:
                self.given_up = True
            return "measure" if self.measuring else "wait"
        if self.reached is not None and self.left is None and not steady:
            self.left = number
            return "left"
        return "wait"

    def describe(self) -> dict[str, Any]:
        """As the manifest keeps it."""
        marked = self.left is not None and self.config.on_leaving == "mark"
        return {
            "steady": self.reached is not None and not marked,
            "reason": self.reason(),
            "rule": self.config.model_dump(mode="json"),
            "unit": UNITS[self.config.metric],
            "reached_round": self.reached,
            "left_round": self.left,
            "rounds": self.rounds,
        }

    def reason(self) -> str:
        """The verdict in words; empty where it was steady to the end."""
        if self.reached is None:
            why = f"not steady within {len(self.rounds)} rounds of {self.config.round:g} s"
            return f"{why}: {self._last()}" if self.rounds else why
        if self.left is not None:
            what = "the load was stopped there" if self.config.on_leaving == "stop" else "it was measured on"
            return f"left the steady state in round {self.left} ({self._last(self.left)}); {what}"
        return ""

    def _last(self, number: int = 0) -> str:
        entry = self.rounds[number - 1]
        if entry["slope"] is None or entry["excursion"] is None:
            return "no window was full" if entry["steady"] is None else "nothing was answered"
        rule = self.config
        return (
            f"slope {100 * entry['slope']:+.1f} % of at most {rule.slope:g} %, "
            f"excursion {100 * entry['excursion']:.1f} % of at most {rule.excursion:g} %"
        )


def drive(
    config: SteadyState, outstanding: int | None, ramp_s: float, progress: Load, load: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Run ``load`` to its end with the watcher beside it; its summary with ``steady_state`` added."""
    rounds = Rounds(config, outstanding)
    ended = threading.Event()
    failed: list[BaseException] = []

    def watch() -> None:
        try:
            _watch(rounds, ramp_s, progress, ended)
        except BaseException as error:
            failed.append(error)
            progress.stop(True)  # nobody else would ever tell the load to measure, and so to end

    watcher = threading.Thread(target=watch, name="steadiness")
    watcher.start()
    try:
        summary = load()
    finally:
        ended.set()
        watcher.join()
    if failed:
        raise failed[0]
    if rounds.given_up and config.otherwise == "fail":
        raise RunFailed(f"{rounds.reason()}; nothing was measured")
    summary["steady_state"] = rounds.describe()
    if reason := rounds.reason():
        summary.setdefault("warnings", []).append(reason)
    return summary


def _watch(rounds: Rounds, ramp_s: float, progress: Load, ended: threading.Event) -> None:
    while not progress.snapshot()["issued"]:
        if ended.wait(POLL_S):
            return
    if ended.wait(ramp_s):
        return
    rounds.begin(time.monotonic_ns(), progress.snapshot())
    due = time.monotonic()
    while True:
        due += rounds.config.round
        in_flight = []
        while (left := due - time.monotonic()) > 0:
            if ended.wait(min(left, POLL_S)):
                return  # a round that is not whole says nothing
            in_flight.append(int(progress.snapshot()["in_flight"]))
        now = time.monotonic_ns()
        mean_in_flight = math.fsum(in_flight) / len(in_flight) if in_flight else 0.0
        match rounds.end(now, progress.snapshot(), mean_in_flight):
            case "measure" if rounds.given_up and rounds.config.otherwise == "fail":
                progress.stop(True)
            case "measure":
                progress.measure(now)
            case "left" if rounds.config.on_leaving == "stop":
                progress.stop()


def _answered(counters: Mapping[str, Any]) -> int:
    return int(counters["done"]) - int(counters["errors"])


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def expected_s(config: SteadyState) -> float:
    """The least time until it is steady."""
    return config.window * config.round
