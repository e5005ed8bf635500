"""One step: target up, meters on, idle, workload, meters off, target down; what it recorded lies in its run folder.

Whatever happens in between, servers are stopped, meters closed and the stop document written.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iojoule.errors import HostError, IojouleError, RunFailed
from iojoule.experiment.plan import Plan, Step
from iojoule.experiment.processor import ProcessorTime
from iojoule.meters.base import Reading
from iojoule.meters.supervisor import MeterSet
from iojoule.store.schema import READINGS
from iojoule.store.writer import RunWriter
from iojoule.targets import open_target
from iojoule.targets.base import Opening, Running

TICK_S = 0.1
METER_START_S = 20.0
"""How long the first good reading of every meter is awaited."""


@dataclass
class Figures:
    """What the live view shows, ten times a second."""

    step: Step
    total_steps: int
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


def run_step(context: StepContext, step: Step, folder: Path, facts: Mapping[str, Any]) -> str:
    """Run ``step`` into ``folder``; returns its status: complete, interrupted or failed."""
    plan = context.plan
    target = plan.targets[step.target].model
    workload = plan.workloads[step.workload].model
    expected_s = workload.expected_s(context.prepared[step.workload])
    figures = Figures(step, len(plan.steps), expected_s=None if expected_s is None else plan.header.idle + expected_s)
    all_facts = {
        **facts,
        "seed": plan.header.seed,
        "step": step.describe(),
        "target": target.model_dump(mode="json"),
        "workload": {**workload.model_dump(mode="json", by_alias=True), **_plain(context.prepared[step.workload])},
        "limits": workload.limits.describe(),
        "interval_s": plan.header.interval,
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


def _attempt(context: StepContext, step: Step, run: RunWriter, stack: ExitStack, figures: Figures) -> None:
    plan = context.plan
    began = time.monotonic_ns()
    folder = run.path / "raw" / "target"
    folder.mkdir()
    opening = Opening(
        folder,
        context.content.get((step.target, step.workload)),
        frozenset(path.resolve() for path in plan.header.destroy),
        plan.workloads[step.workload].model.writes,
        run.path / "raw" / "settings.jsonl",
    )
    target = stack.enter_context(open_target(plan.targets[step.target].model, opening))
    run.manifest["target"] |= target.describe()
    for text in target.warnings:
        run.event("warning", text=text)
    lock = threading.Lock()

    def keep(meter: str, readings: Sequence[Reading]) -> None:
        with lock:
            run.readings([_row(meter, reading) for reading in readings])

    def note(meter: str, kind: str, text: str) -> None:
        figures.note = f"{meter}: {text}"
        with lock:
            run.event(f"meter_{kind}", meter=meter, text=text)

    meters = MeterSet(plan.experiment.meter, run.path / "raw", keep, note)
    stack.callback(lambda: _close(meters, run))
    meters.start()
    missing = meters.wait_first_good(METER_START_S)
    run.manifest["meters"] = meters.descriptions()
    run.save()
    if missing:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
        raise HostError(
            f"no good reading to begin with: {reasons}",
            missing=next(iter(missing)),
            remedy="look at raw/<meter>.log in the run folder, or take the meter out of the experiment",
        )
    watch = _Watch(context, run, meters, target, figures, lock)
    run.phase("prepare", began, time.monotonic_ns())
    watch.idle("idle", plan.header.idle)
    _drive(context, step, run, target, watch)
    watch.rest(max((2 * meter.interval for meter in plan.experiment.meter), default=0.0))


def _drive(context: StepContext, step: Step, run: RunWriter, target: Running, watch: _Watch) -> None:
    """Run the workload on a thread of its own, so that this one can watch and answer Ctrl-C."""
    from iojoule._native import Progress

    workload = context.plan.workloads[step.workload].model
    progress = Progress()
    outcome: list[dict[str, Any] | BaseException] = []

    def work() -> None:
        try:
            prepared = context.prepared[step.workload]
            seed = context.plan.header.seed
            outcome.append(workload.run(target, run.path, prepared, progress, seed))
        except BaseException as error:
            outcome.append(error)

    run.event("workload", edge="begin", kind=workload.kind)
    thread = threading.Thread(target=work, name="workload")
    thread.start()
    stopped = False
    processor = ProcessorTime()
    try:
        while thread.is_alive():
            snapshot = progress.snapshot()
            processor.see(snapshot["phase"])
            watch.tick(snapshot)
            if context.brake.now and not stopped:
                progress.stop(True)
                stopped = True
            thread.join(TICK_S)
    finally:
        # Whatever broke the watch, the load must not outlive it.
        progress.stop(True)
        thread.join()
    run.event("workload", edge="end")
    run.manifest["processor"] = processor.describe()
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result if isinstance(result, IojouleError) else RunFailed(str(result), folder=run.path) from result
    run.manifest["engine"] = result
    for span in result["phases"]:
        run.phase(span["phase"], span["begin_ns"], span["end_ns"])
    for text in result.get("warnings", []):
        run.event("warning", text=text)
    if stopped:
        raise Interrupted


class _Watch:
    """Looks after a running step: figures for the live view, clock pairs, a server that died."""

    def __init__(
        self,
        context: StepContext,
        run: RunWriter,
        meters: MeterSet,
        target: Running,
        figures: Figures,
        lock: threading.Lock,
    ) -> None:
        self.context, self.run, self.meters, self.target = context, run, meters, target
        self.figures, self.lock = figures, lock
        self.began = time.monotonic()
        self.server_up = True

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
        alive = self.target.pid is None or self.target.alive()
        with self.lock:
            if alive != self.server_up:
                self.run.event("server_up" if alive else "server_down")
            self.run.tick()
        self.server_up = alive
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

    def rest(self, seconds: float) -> None:
        """Let ``seconds`` pass, so that windows still open in a meter are delivered."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.context.brake.now:
                raise Interrupted
            self.tick()
            time.sleep(min(TICK_S, left))


def _row(meter: str, reading: Reading) -> dict[str, Any]:
    columns = {name: getattr(reading, name) for name in READINGS.names if name not in ("meter", "quality")}
    return {"meter": meter, **columns, "quality": reading.flags}


def _close(meters: MeterSet, run: RunWriter) -> None:
    finals = meters.close()
    if finals:
        run.manifest["meter_finals"] = finals


def _plain(prepared: Mapping[str, Any]) -> dict[str, Any]:
    return {f"prepared_{key}": value for key, value in prepared.items() if key != "weblog"}
