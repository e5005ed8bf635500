"""All points of a design over all cores. A finished point is one line of ``points.jsonl`` at once, so a sweep that was
interrupted or killed goes on where it was; ``results.parquet`` and ``report.html`` are made of these lines."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iojoule.errors import ConfigError, Exit, RunFailed
from iojoule.sim.design import Point, Sweep
from iojoule.sim.request import request
from iojoule.sim.results import write_results
from iojoule.store.writer import CampaignWriter

if TYPE_CHECKING:
    from iojoule._native import SimControl

POINTS = "points.jsonl"


@dataclass(frozen=True)
class Outcome:
    """How a sweep ended."""

    folder: Path
    status: str
    points: int
    finished: int
    errors: list[str]
    exit_code: int
    files: dict[str, Path] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "status": self.status,
            "points": self.points,
            "finished": self.finished,
            "failed": len(self.errors),
            "errors": self.errors,
            "exit": self.exit_code,
            **{name: str(path) for name, path in self.files.items()},
        }


class SweepFolder:
    """The folder of a sweep: its design, its finished points, its results."""

    def __init__(self, sweep: Sweep, writer: CampaignWriter, asked: list[dict[str, Any]]) -> None:
        self.sweep, self.writer, self.asked = sweep, writer, asked
        self.path = writer.path
        self.keys = [_key(one) for one in asked]

    @classmethod
    def open(cls, sweep: Sweep, output: Path | None, *, resume: bool = False) -> SweepFolder:
        """The folder ``output`` (``sweeps/NAME`` if None), fresh; with ``resume`` it may be there already."""
        # Every point is checked before anything is written.
        asked = [request(point.design) for point in sweep.points]
        path = output or Path("sweeps") / sweep.name
        facts = {"kind": "sweep", "argv": sys.argv, "experiment": sweep.name, "simulated": True, "boundary": "modelled"}
        if not path.exists():
            writer = CampaignWriter(path, facts)
        elif resume:
            writer = CampaignWriter.reopen(path, _manifest(path))
        else:
            raise ConfigError(f"{path} exists; go on with it (--resume), or name another folder (-o)", key="--output")
        writer.write_text("design.toml", sweep.source.text)
        writer.write_document("plan.json", {"points": [{"index": p.index, **p.parameters} for p in sweep.points]})
        return cls(sweep, writer, asked)

    @property
    def points(self) -> list[Point]:
        return self.sweep.points

    @property
    def finished(self) -> dict[str, dict[str, Any]]:
        """The lines of finished points of this design, by key; a line cut by a kill is none, the last of two counts."""
        wanted = set(self.keys)
        return {line["key"]: line for line in _lines(self.path / POINTS) if line["key"] in wanted}

    def run(self, *, threads: int | None = None, control: SimControl | None = None) -> Outcome:
        """Simulate what is not finished yet; the results are written however it ends."""
        from iojoule import _native

        done = {key for key, line in self.finished.items() if "summary" in line}
        left: dict[str, dict[str, Any]] = {}
        for index, (key, job) in enumerate(zip(self.keys, self.asked, strict=True)):
            if key not in done:
                left.setdefault(key, {"index": index, "key": key, "job": job})
        status, code = "failed", int(Exit.RUN_FAILED)
        try:
            if left:
                _native.sim_sweep(
                    json.dumps(list(left.values())),
                    str(self.path / POINTS),
                    threads or len(os.sched_getaffinity(0)),
                    control or _native.SimControl(),
                )
            status, code = "complete", int(Exit.FINE)
        except KeyboardInterrupt:
            status, code = "interrupted", int(Exit.INTERRUPTED)
        finally:
            self.writer.close(status, code)
        return self._outcome(status, code)

    def _outcome(self, status: str, code: int) -> Outcome:
        lines = self.finished
        rows = [lines.get(key) for key in self.keys]
        errors = [
            f"point {point.index} ({_shown(point.parameters)}): {line['error']}"
            for point, line in zip(self.points, rows, strict=True)
            if line is not None and "error" in line
        ]
        results = self.path / "results.parquet"
        try:
            write_results(results, self.sweep, rows)
            files = {"results": results}
            if any(line is not None and "summary" in line for line in rows):
                from iojoule.sim.page import build_page

                page = self.path / "report.html"
                page.write_text(build_page(self.sweep, rows, status), encoding="utf-8")
                files["report"] = page
        except OSError as error:
            raise RunFailed(f"cannot write the results: {error.strerror}", folder=self.path) from error
        if errors and code == Exit.FINE:
            code = int(Exit.RUN_FAILED)
        self.writer.close("failed" if errors and status == "complete" else status, code)
        finished = sum(line is not None for line in rows)
        return Outcome(self.path, status, len(rows), finished, errors, code, files)


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        raise ConfigError(f"{path} is not the folder of a sweep", key="--output") from None
    if manifest.get("kind") != "sweep":
        raise ConfigError(f"{path} is not the folder of a sweep", key="--output")
    return manifest


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for text in file:
            try:
                yield json.loads(text)
            except json.JSONDecodeError:
                continue


def _key(asked: Mapping[str, Any]) -> str:
    """Names all that the result depends on: the job, and size and time of every file it reads."""
    stamps = []
    for path in sorted(_paths(asked)):
        try:
            found = Path(path).stat()
            stamps.append([path, found.st_size, found.st_mtime_ns])
        except OSError:
            stamps.append([path])
    text = json.dumps([asked, stamps], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _paths(one)
    elif isinstance(value, list):
        for one in value:
            yield from _paths(one)
    elif isinstance(value, str) and value.startswith("/"):
        yield value


def _shown(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in parameters.items())
