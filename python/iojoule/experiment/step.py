"""One step: target up, meters on, storage brought into its state, idle, workload, idle, meters off, target down.

What it recorded lies in its run folder.

Whatever happens in between, servers are stopped, meters closed and the stop document written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iojoule.errors import DeviceError, IojouleError, RunFailed
from iojoule.experiment import displays, ranging, sync_pulses
from iojoule.experiment.metering import Metering
from iojoule.experiment.plan import Plan, Step
from iojoule.experiment.processor import ProcessorTime
from iojoule.experiment.watch import Brake, Figures, Interrupted, Watch
from iojoule.store.writer import RunWriter
from iojoule.targets import open_target
from iojoule.targets.base import Opening, Running
from iojoule.targets.storage import Storage
from iojoule.workloads.base import STORAGE

if TYPE_CHECKING:
    from iojoule._native import Progress


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
    watch = Watch(context.brake, context.show, run, meters, target, figures)
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


def _bring_into_state(context: StepContext, step: Step, run: RunWriter, target: Storage, watch: Watch) -> None:
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


def _drive(context: StepContext, step: Step, run: RunWriter, target: Running, watch: Watch) -> None:
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


def _plain(prepared: Mapping[str, Any]) -> dict[str, Any]:
    return {f"prepared_{key}": value for key, value in prepared.items() if key != "weblog"}
