"""One step: target up, meters on, storage brought into its state, idle, workload, idle, meters off, target down.

What it recorded lies in its run folder.

Whatever happens in between, servers are stopped, meters closed and the stop document written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from iojoule.errors import DeviceError, IojouleError, RunFailed
from iojoule.experiment import displays, ranging, sync_pulses
from iojoule.experiment.metering import Metering
from iojoule.experiment.plan import Plan, Step
from iojoule.experiment.processor import ProcessorTime
from iojoule.store.writer import RunWriter
from iojoule.targets import open_target
from iojoule.targets.base import Opening, Running
from iojoule.targets.storage import Storage
from iojoule.workloads.base import STORAGE

if TYPE_CHECKING:
    from iojoule._native import Progress

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


@dataclass
class StepContext:
    """What every step of a campaign shares."""

    plan: Plan
    brake: Brake
    content: Mapping[tuple[str, str], Path]
    prepared: Mapping[str, Mapping[str, Any]]
    show: Callable[[Figures], None]
    ask: displays.Ask = displays.nobody


def run_step(context: StepContext, step: Step, folder: Path, facts: Mapping[str, Any]) -> str:
    """Run ``step`` into ``folder``; returns its status: complete, interrupted or failed."""
    plan = context.plan
    target = plan.targets[step.target].model
    workload = plan.workloads[step.workload].model
    expected_s = workload.expected_s(context.prepared[step.workload])
    idle_s = plan.header.idle + plan.header.idle_after + sync_pulses.both_s(plan.header.sync_pulse)
    figures = Figures(
        step, len(plan.steps), target.kind in STORAGE, expected_s=None if expected_s is None else idle_s + expected_s
    )
    all_facts = {
        **facts,
        "seed": plan.header.seed,
        "step_seed": step_seed(plan.header.seed, step),
        "step": step.describe(),
        "target": target.model_dump(mode="json"),
        "workload": {**workload.model_dump(mode="json", by_alias=True), **_plain(context.prepared[step.workload])},
        "limits": workload.limits.describe(),
        "interval_s": plan.header.interval,
        "alignment": plan.header.alignment,
        "profiles": plan.header.model_dump(mode="json", include={"profiles"})["profiles"],
    }
    with RunWriter(folder, all_facts) as run:
        try:
            with ExitStack() as stack:
                _attempt(context, step, run, stack, figures)
            run.status, run.exit_code = "complete", 0
        except Interrupted:
            run.status, run.exit_code = "interrupted", 124 if context.brake.timed_out else 130
            run.event("interrupt", count=context.brake.pulls)
        except (IojouleError, OSError) as failure:
            error = failure if isinstance(failure, IojouleError) else RunFailed(str(failure), folder=folder)
            run.status, run.exit_code = "failed", int(error.exit_code)
            run.manifest["error"] = error.to_json()["error"]
            run.event("error", text=str(error))
    return run.status


def step_seed(seed: int, step: Step) -> int:
    """The seed of what a step draws: repeats differ, so that none meets what the one before left in a cache; targets
    meet the same."""
    return int.from_bytes(sha256(f"{seed}/{step.workload}/{step.repeat}".encode()).digest()[:7])


def _attempt(context: StepContext, step: Step, run: RunWriter, stack: ExitStack, figures: Figures) -> None:
    plan = context.plan
    began = time.monotonic_ns()
    target = stack.enter_context(_opened(context, step, run, figures))
    run.manifest["target"] |= target.describe()
    for text in target.warnings:
        run.event("warning", text=text)
    meters = _meters(context, step, run, figures)
    stack.callback(meters.close)
    meters.begin()
    watch = _Watch(context, run, meters, target, figures)
    if isinstance(target, Storage) and target.paths:
        _bring_into_state(context, step, run, target, watch)
    run.phase("prepare", began, time.monotonic_ns())
    synced = plan.header.sync_pulse and step.role != ranging.ROLE
    if synced:
        watch.pulse("begin")
    watch.idle("idle", plan.header.idle)
    _drive(context, step, run, target, watch)
    watch.idle("idle", plan.header.idle_after)
    if synced:
        watch.pulse("end")
    displays.after(meters.configs, run.path, context.ask)
    watch.rest(meters.longest_s)
    if step.role == ranging.ROLE:
        run.manifest["ranging"] = ranging.found(meters.configs, meters.peaks)


def _meters(context: StepContext, step: Step, run: RunWriter, figures: Figures) -> Metering:
    configs, found_by = ranging.ranged(context.plan.experiment.meter, step, run.path.parent)
    configs = displays.before(configs, context.ask, first=step.index == 0)
    advice = ranging.REPEAT if found_by else ranging.OVERLOADED
    if found_by:
        run.manifest["ranges_found_by"] = found_by
    show = partial(setattr, figures, "note")
    return Metering(configs, run, show, None if step.role == ranging.ROLE else advice)


def _opened(context: StepContext, step: Step, run: RunWriter, figures: Figures) -> AbstractContextManager[Running]:
    config, workload = context.plan.targets[step.target].model, context.plan.workloads[step.workload].model
    folder = run.path / "raw" / "target"
    folder.mkdir()
    opening = Opening(
        folder,
        content=context.content.get((step.target, step.workload)),
        destroy=frozenset(path.resolve() for path in context.plan.header.destroy),
        writes=workload.writes or getattr(config, "precondition", None) is not None,
        journal=run.path / "raw" / "settings.jsonl",
        shared=run.path.parent.parent / "targets",
        note=_teller(context, figures),
    )
    return open_target(config, opening)


def _teller(context: StepContext, figures: Figures) -> Callable[[str], None]:
    """Shows how far long work has come, and stops it when the brake is pulled."""

    def tell(text: str) -> None:
        if context.brake.now:
            raise Interrupted
        figures.note = text
        context.show(figures)

    return tell


def _bring_into_state(context: StepContext, step: Step, run: RunWriter, target: Storage, watch: _Watch) -> None:
    from iojoule.experiment.procedure import bring_into_state, shares_disk
    from iojoule.workloads.verification import forget

    def attend(work: Callable[[Progress], Any]) -> Any:
        result, stopped = watch.attend(work)
        if stopped:
            raise Interrupted
        return result

    config, workload = context.plan.targets[step.target].model, context.plan.workloads[step.workload].model
    seed = run.manifest["step_seed"]
    tell = _teller(context, watch.figures)
    done = bring_into_state(config, target, run.path, seed, attend, tell)
    run.manifest["procedure"] = done
    if workload.writes and not getattr(workload, "verify", False):
        forget(target, run.path.parent.parent)  # it overwrites what others stamped
    for text in done["caches"]["warnings"]:
        run.event("warning", text=text)
    if shares_disk(target, run.path):
        run.event(
            "warning", text=f"{target.name} and the run folder share a disk: what is recorded is written there too"
        )


def _drive(context: StepContext, step: Step, run: RunWriter, target: Running, watch: _Watch) -> None:
    workload, prepared = context.plan.workloads[step.workload].model, context.prepared[step.workload]
    seed = run.manifest["step_seed"]
    run.event("workload", edge="begin", kind=workload.kind)
    processor = ProcessorTime()
    try:
        result, stopped = watch.attend(
            lambda progress: workload.run(target, run.path, prepared, progress, seed), processor.see
        )
    finally:
        run.event("workload", edge="end")
        run.manifest["processor"] = processor.describe()
    run.manifest["engine"] = result
    for span in result["phases"]:
        run.phase(span["phase"], span["begin_ns"], span["end_ns"])
    for text in result.get("warnings", []):
        run.event("warning", text=text)
    if stopped:
        raise Interrupted
    if watch.vanished:
        raise DeviceError(f"{step.target} vanished while it was measured", device=step.target)


class _Watch:
    """Looks after a running step: figures for the live view, clock pairs, a target that went away."""

    def __init__(
        self,
        context: StepContext,
        run: RunWriter,
        meters: Metering,
        target: Running,
        figures: Figures,
    ) -> None:
        self.context, self.run, self.meters, self.target = context, run, meters, target
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
                if (self.context.brake.now and not stopped) or self.vanished:
                    progress.stop(True)
                    stopped = self.context.brake.now
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
        self.context.show(figures)

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
            if self.context.brake.now:
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
            if self.context.brake.now:
                raise Interrupted
            self.tick()
            time.sleep(min(TICK_S, left))


def _plain(prepared: Mapping[str, Any]) -> dict[str, Any]:
    return {f"prepared_{key}": value for key, value in prepared.items() if key != "weblog"}
