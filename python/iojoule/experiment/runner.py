"""Walks a plan: one campaign folder, one run folder a step; prepared logs and content trees are made once."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError, Exit, HostError, IojouleError
from iojoule.experiment.displays import Ask, nobody
from iojoule.experiment.plan import Plan
from iojoule.experiment.step import StepContext, run_step
from iojoule.experiment.watch import Brake, Figures
from iojoule.store.reader import CampaignFolder
from iojoule.store.writer import CampaignWriter
from iojoule.workloads.verification import forget_what_is_gone

Note = Callable[[str], None]


class Campaign:
    """One execution of one plan."""

    def __init__(
        self,
        plan: Plan,
        *,
        show: Callable[[Figures], None],
        note: Note,
        ask: Ask = nobody,
        allow_debug: bool = False,
    ) -> None:
        from iojoule import _native

        if _native.DEBUG_BUILD and not allow_debug:
            raise HostError(
                "this engine was built without optimisation and would measure itself",
                remedy="make build   (or --debug-build, to try things out)",
            )
        self.plan, self.show, self.note, self.ask = plan, show, note, ask
        self.brake = Brake()
        self.status = "complete"

    def run(self, *, resume: CampaignFolder | None = None, timeout_s: float | None = None) -> tuple[Path, int]:
        """Run every step that is still to be run; returns the campaign folder and the exit code."""
        plan = self.plan
        facts = {"argv": sys.argv, "seed": plan.header.seed, "experiment": plan.header.name, **_host()}
        if resume is None:
            source = {"path": str(plan.source.path.resolve()), "settings": list(plan.source.settings)}
            campaign = CampaignWriter.create(plan.header.output, plan.header.name, {**facts, "source": source})
            campaign.write_text("experiment.toml", plan.source.text)
            campaign.write_document("plan.json", plan.describe())
        else:
            campaign = CampaignWriter.reopen(resume.path, resume.manifest)
        self.note(f"campaign {campaign.path}")
        self._after_a_kill(campaign, resume)
        code = int(Exit.RUN_FAILED)
        self.status = "failed"
        try:
            with self._signals(), self._deadline(timeout_s):
                code = self._steps(campaign, _done(resume), facts)
        except IojouleError as error:
            code = int(error.exit_code)
            campaign.manifest["error"] = error.to_json()["error"]
            raise
        finally:
            self._remove_made(campaign.path / "targets")
            campaign.close(self.status, code)
        return campaign.path, code

    def _remove_made(self, shared: Path) -> None:
        """Remove the files that targets made for this campaign."""
        from iojoule.targets.made import remove_made

        for outcome in remove_made(shared):
            if outcome.result == "failed":
                self.note(f"warning: {outcome.what} could not be removed: {outcome.text}")

    def _after_a_kill(self, campaign: CampaignWriter, resume: CampaignFolder | None) -> None:
        """Put back what this campaign left when it was killed; say so where another one did not."""
        from iojoule.host.restore import pending, restore

        for outcome in restore([] if resume is None else [resume.path]):
            self.note(f"{outcome.result}: {outcome.what}: {outcome.text}")
        if resume is not None:
            forget_what_is_gone(resume.path)  # what was made was removed just now
        if changes := pending([self.plan.header.output]):
            remedy = f"iojoule host restore {self.plan.header.output}"
            text = f"{len(changes)} changes of killed runs were not put back: {remedy}"
            campaign.manifest.setdefault("warnings", []).append(text)
            self.note(f"warning: {text}")

    def _steps(self, campaign: CampaignWriter, done: set[int], facts: Mapping[str, Any]) -> int:
        prepared = self._prepare(campaign.path)
        content = self._content(campaign.path, prepared)
        context = StepContext(self.plan, self.brake, content, prepared, self.show, self.ask)
        failed = False
        for step in self.plan.steps:
            if step.index in done:
                continue
            if self.brake.after_step:
                break
            self.note(f"step {step.index + 1}/{len(self.plan.steps)}: {step.workload} on {step.target}, {step.which}")
            folder = _fresh(campaign.path / "runs" / step.folder)
            status = run_step(context, step, folder, facts)
            campaign.manifest["runs"].append({"folder": f"runs/{folder.name}", "status": status, "step": step.index})
            campaign.save()
            if status == "failed":
                failed = True
                self.note(f"step {step.index + 1} failed: {_reason(folder)}")
        if self.brake.after_step:
            self.status = "interrupted"
            return int(Exit.TIMED_OUT if self.brake.timed_out else Exit.INTERRUPTED)
        self.status = "failed" if failed else "complete"
        return int(Exit.RUN_FAILED if failed else Exit.FINE)

    def _prepare(self, campaign: Path) -> dict[str, dict[str, Any]]:
        folder = campaign / "prepared"
        folder.mkdir(exist_ok=True)
        prepared = {}
        for name, variant in self.plan.workloads.items():
            self.note(f"preparing {name}")
            prepared[name] = variant.model.prepare(folder, self.plan.header.seed)
        return prepared

    def _content(self, campaign: Path, prepared: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], Path]:
        """The content directory of every pair of target and workload; filled where we start the server."""
        from iojoule import _native

        places: dict[tuple[str, str], Path] = {}
        built: set[Path] = set()
        for target in self.plan.targets.values():
            for name, facts in prepared.items():
                if "objects" not in facts:
                    continue
                own = getattr(target.model, "content", None)
                place = (
                    campaign / "content" / Path(facts["objects"]).name.removesuffix(".objects.parquet")
                    if own is None
                    else own
                )
                places[target.name, name] = place
                if getattr(target.model, "url", None) is not None or place in built:
                    continue
                self._may_fill(place)
                made = json.loads(_native.build_content(facts["objects"], str(place), self.plan.header.seed))
                built.add(place)
                rate = made["bytes"] / max(made["seconds"], 1e-9)
                size = made["bytes"] / 1e6
                self.note(f"content of {name}: {made['files']:,} files, {size:,.1f} MB, {rate / 1e6:,.0f} MB/s")
                if lost := made["unplaceable"]:
                    self.note(f"warning: {lost} objects of {name} cannot be files; their requests will fail")
        return places

    def _may_fill(self, place: Path) -> None:
        marker = place / ".iojoule-content"
        foreign = place.is_dir() and any(place.iterdir()) and not marker.exists()
        if foreign and place.resolve() not in {p.resolve() for p in self.plan.header.destroy}:
            raise ConfigError(
                f"{place} is not empty and was not made by iojoule; name it under experiment.destroy to fill it",
                key="target.content",
            )
        try:
            place.mkdir(parents=True, exist_ok=True)
            marker.touch()
        except OSError as error:
            raise HostError(f"cannot write to {place}: {error.strerror}") from error

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and TERM pull the brake instead of raising somewhere in the middle."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def pulled(number: int, frame: object) -> None:
            self.brake.pull()
            self.note("stopping after this step; again to stop now" if self.brake.pulls == 1 else "stopping now")

        before = {number: signal.signal(number, pulled) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _deadline(self, timeout_s: float | None) -> Iterator[None]:
        timer = threading.Timer(timeout_s or 0.0, lambda: setattr(self.brake, "timed_out", True))
        timer.daemon = True
        if timeout_s is not None:
            timer.start()
        try:
            yield
        finally:
            timer.cancel()


def _host() -> dict[str, Any]:
    from iojoule.host.facts import facts

    return {"host": facts(), "recorded_ns": time.monotonic_ns()}


def _done(resume: CampaignFolder | None) -> set[int]:
    return set() if resume is None else {r.manifest["step"]["index"] for r in resume.runs if r.status == "complete"}


def _fresh(folder: Path) -> Path:
    """``folder``, or with a number behind it where an attempt was made before: attempts are never overwritten."""
    attempt, candidate = 1, folder
    while candidate.exists():
        attempt += 1
        candidate = folder.with_name(f"{folder.name}_attempt{attempt}")
    return candidate


def _reason(folder: Path) -> str:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    error = manifest.get("error")
    return str(error.get("message") if isinstance(error, dict) else error)
