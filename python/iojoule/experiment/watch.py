"""Looking after a step while it runs: figures for the live view, the brake of Ctrl-C, a target that goes away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from iojoule.errors import IojouleError, RunFailed
from iojoule.experiment import sync_pulses
from iojoule.experiment.metering import Metering
from iojoule.store.writer import RunWriter
from iojoule.targets.base import Running

if TYPE_CHECKING:
    from iojoule._native import Progress
    from iojoule.experiment.plan import Step

TICK_S = 0.1


@dataclass
class Figures:
    """What the live view shows, ten times a second."""

    step: Step
    total_steps: int
    storage: bool = False
    phase: str = "prepare"
    elapsed_s: float = 0.0
    expected_s: float | None = None
    planned: int = 0
    issued: int = 0
    done: int = 0
    errors: int = 0
    bytes: int = 0
    in_flight: int = 0
    p50_ns: int = 0
    p99_ns: int = 0
    watts: dict[tuple[str, str], float] = field(default_factory=dict)
    note: str = ""


class Brake:
    """What Ctrl-C and a deadline pull: the first pull ends the campaign after this step, the second ends the step."""

    def __init__(self) -> None:
        self.pulls = 0
        self.timed_out = False

    def pull(self) -> None:
        self.pulls += 1

    @property
    def after_step(self) -> bool:
        return self.pulls >= 1 or self.timed_out

    @property
    def now(self) -> bool:
        return self.pulls >= 2 or self.timed_out


class Interrupted(Exception):  # noqa: N818 - being stopped is no error
    """The step was stopped before its end; what it recorded is kept."""


class Watch:
    """Looks after a running step: figures for the live view, clock pairs, a target that went away."""

    def __init__(
        self,
        brake: Brake,
        show: Callable[[Figures], None],
        run: RunWriter,
        meters: Metering,
        target: Running,
        figures: Figures,
    ) -> None:
        self.brake, self.show = brake, show
        self.run, self.meters, self.target = run, meters, target
        self.figures, self.lock = figures, meters.lock
        self.began = time.monotonic()
        self.up = True
        self.vanished = False
        """Storage was away, and the load was stopped; a server may come back."""

    def attend(
        self, work: Callable[[Progress], Any], see: Callable[[str | None], None] = lambda phase: None
    ) -> tuple[Any, bool]:
        """Run ``work`` on a thread of its own while this one watches and answers Ctrl-C; its result, and whether it was
        stopped. ``see`` is told the phase ten times a second."""
        from iojoule._native import Progress

        progress = Progress()
        outcome: list[Any] = []

        def act() -> None:
            try:
                outcome.append(work(progress))
            except BaseException as error:
                outcome.append(error)

        thread = threading.Thread(target=act, name="workload")
        thread.start()
        stopped = False
        try:
            while thread.is_alive():
                snapshot = progress.snapshot()
                see(snapshot["phase"])
                self.tick(snapshot)
                if (self.brake.now and not stopped) or self.vanished:
                    progress.stop(True)
                    stopped = self.brake.now
                thread.join(TICK_S)
        finally:
            # Whatever broke the watch, the load must not outlive it.
            progress.stop(True)
            thread.join()
        result = outcome[0]
        if isinstance(result, BaseException):
            known = isinstance(result, IojouleError | Interrupted)
            raise result if known else RunFailed(str(result), folder=self.run.path) from result
        return result, stopped

    def tick(self, snapshot: Mapping[str, Any] | None = None) -> None:
        figures = self.figures
        figures.elapsed_s = time.monotonic() - self.began
        figures.watts = self.meters.latest()
        for key, value in (snapshot or {}).items():
            if key != "phase":
                setattr(figures, key, value)
        if snapshot:
            figures.phase = str(snapshot["phase"] or figures.phase)
        # A foreign server is not asked: the question would be load.
        asked = figures.storage or self.target.pid is not None
        up = not asked or self.target.alive()
        with self.lock:
            if up != self.up:
                self.run.event(f"{'target' if figures.storage else 'server'}_{'up' if up else 'down'}")
            self.run.tick()
        self.up = up
        self.vanished |= figures.storage and not up
        if self.meters.failure is not None:
            raise self.meters.failure
        self.show(figures)

    def idle(self, phase: str, seconds: float) -> None:
        """A phase in which the target is left alone and only the meters run."""
        if seconds:
            begin = time.monotonic_ns()
            self.figures.phase = phase
            self.rest(seconds)
            with self.lock:
                self.run.phase(phase, begin, time.monotonic_ns())

    def pulse(self, edge: Literal["begin", "end"]) -> None:
        """A load of known times, outside of all phases that count."""
        self.figures.phase = f"sync pulse at the {edge}"

        def tick() -> None:
            if self.brake.now:
                raise Interrupted
            self.tick()

        load = sync_pulses.pulse(self.target, tick)
        with self.lock:
            self.run.event("sync_pulse", **sync_pulses.document(load, edge))
        self.rest(self.meters.longest_s)

    def rest(self, seconds: float) -> None:
        """Let ``seconds`` pass, so that windows still open in a meter are delivered."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.brake.now:
                raise Interrupted
            self.tick()
            time.sleep(min(TICK_S, left))
