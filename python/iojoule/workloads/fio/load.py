"""Real fio as the load: the peer everybody knows, watched by our meters. Each request becomes a row where asked for."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.errors import ConfigError, RunFailed
from iojoule.quantities import Rate, Seconds, Size
from iojoule.workloads.base import NO_PLAN, STORAGE, Limits
from iojoule.workloads.fio import job as jobs
from iojoule.workloads.fio.process import Ended, find_fio, run_fio

if TYPE_CHECKING:
    from iojoule._native import Progress

GRACE_S = 30.0
"""What fio may take beyond its own times: laying out, writing logs."""

KEYS = (
    "pattern",
    "write",
    "block_size",
    "queue_depth",
    "jobs",
    "ioengine",
    "direct",
    "duration",
    "ramp",
    "rate",
    "options",
)
"""The keys that make a job, and stay away where a job file does."""


class Fio(BaseModel):
    """``[[workload]]`` with ``kind = "fio"``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    drives: ClassVar[frozenset[str]] = STORAGE - {"null"}
    limits: ClassVar[Limits] = NO_PLAN

    name: str
    kind: Literal["fio"]
    job: Path | None = Field(None, description="fio job file, run as it is on the target; the keys of a job stay away.")
    sections: list[str] = Field(default_factory=list, description="With job: only these jobs of the file.")
    pattern: Literal["random", "sequential"] = Field("random", description="Where the requests go.")
    write: int = Field(0, ge=0, le=100, description="Per cent of the requests that write; the others read.")
    block_size: Size = Field(4096, ge=512, description="Size of a request.")
    queue_depth: int = Field(1, ge=1, description="Outstanding requests of each job; fio's iodepth.")
    jobs: int = Field(1, ge=1, description="fio's numjobs.")
    ioengine: str = Field("io_uring", description="fio's engine: io_uring, libaio, psync, ...")
    direct: bool = Field(True, description="O_DIRECT: past the page cache.")
    duration: Seconds = Field(10.0, gt=0, description="Length of the measured phase.")
    ramp: Seconds = Field(0.0, description="Load before anything is measured.")
    rate: Rate | None = Field(None, gt=0, description="Limit of requests per second over all jobs.")
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Other options of fio, passed on as they are."
    )
    log: Literal["every", "interval", "none"] = Field(
        "every",
        description="What fio logs: every request (table requests; costs fio 15 to 63 % of its rate), means of each "
        "second, or nothing.",
    )
    timeout: Seconds | None = Field(
        None, gt=0, description="fio is killed after this long; its own times and 30 s if left out."
    )

    @model_validator(mode="after")
    def _job_or_keys(self) -> Fio:
        if self.job is not None and (both := sorted(self.model_fields_set.intersection(KEYS))):
            raise ValueError(f"{both[0]} is said by the job file; give either the job file or the keys of a job")
        return self

    @property
    def writes(self) -> bool:
        if self.job is not None:
            return jobs.writes_of(jobs.jobs_in(self.job, self.sections))
        return self.write > 0 or str(self.options.get("rw", "read")).split(":")[0] not in jobs.READS

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        path, version = find_fio()
        longest_s = self.longest_s()
        if longest_s is None and self.timeout is None:
            raise ConfigError(
                "a job of the file has no runtime, so nothing says when fio should have ended; give timeout",
                key="workload.timeout",
                file=self.job,
            )
        return {"fio": path, "version": version, "longest_s": longest_s}

    def longest_s(self) -> float | None:
        """Seconds fio should take at most, by what it is told."""
        return self.ramp + self.duration if self.job is None else jobs.longest_s(jobs.jobs_in(self.job, self.sections))

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        longest_s: float | None = prepared["longest_s"]
        return longest_s

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        folder = run / "raw" / "fio"
        folder.mkdir()
        text, warnings = self._job_text(target.paths, folder.resolve(), seed)
        (folder / "job.fio").write_text(text, encoding="utf-8")
        command = [
            str(prepared["fio"]),
            f"--output={folder.resolve() / 'fio.json'}",
            "--output-format=json+",
            "--eta=never",
            f"--aux-path={folder.resolve()}",
            *([] if self.writes else ["--readonly"]),
            *(f"--section={name}" for name in self.sections),
            str(folder.resolve() / "job.fio"),
        ]
        limit_s = self.timeout if self.timeout is not None else prepared["longest_s"] + GRACE_S
        ended = run_fio(command, folder, limit_s, lambda: progress.stopping)
        return self._outcome(folder, run, ended, limit_s, command, warnings)

    def _job_text(self, targets: list[Path], folder: Path, seed: int) -> tuple[str, list[str]]:
        if self.job is not None:
            return jobs.pointed(self.job, targets, self.log, folder)
        keys = {
            "rw": ("rand" if self.pattern == "random" else "") + {0: "read", 100: "write"}.get(self.write, "rw"),
            "rwmixwrite": self.write if 0 < self.write < 100 else None,
            "bs": self.block_size,
            "iodepth": self.queue_depth,
            "numjobs": self.jobs,
            "ioengine": self.ioengine,
            "direct": int(self.direct),
            "time_based": True,
            "runtime": f"{round(self.duration * 1e6)}us",
            "ramp_time": f"{round(self.ramp * 1e6)}us" if self.ramp else None,
            "rate_iops": self._rates(),
            "norandommap": True,
            "randseed": seed,
            **{key: int(value) if isinstance(value, bool) else value for key, value in self.options.items()},
        }
        return jobs.made(self.name, keys, targets, self.log, folder), []

    def _rates(self) -> str | None:
        """fio's limits of reads and of writes, for each of its jobs."""
        if self.rate is None:
            return None
        each = [self.rate / self.jobs * share / 100 for share in (100 - self.write, self.write)]
        return ",".join(str(max(1, round(rate))) if rate else "" for rate in each)

    def _outcome(
        self, folder: Path, run: Path, ended: Ended, limit_s: float, command: list[str], warnings: list[str]
    ) -> dict[str, Any]:
        from iojoule.workloads.fio.logs import TIME_BOUND_NS, latency_logs, write_requests
        from iojoule.workloads.fio.output import failures_of, read_output, summary_of

        if ended.timed_out:
            raise RunFailed(
                f"fio had not ended after {limit_s:g} s and was killed; raw/fio holds what it left", folder=run
            )
        json_file = folder / "fio.json"
        found = read_output(json_file.read_text(encoding="utf-8", errors="replace")) if json_file.exists() else None
        if found is None and ended.stopped:
            return {
                "engine": "fio",
                "phases": [],
                "requests": 0,
                "warnings": ["fio was stopped before its end"],
            }
        if found is None:
            raise RunFailed(f"fio ended without a result: {_last_words(folder)}", folder=run)
        recorded: dict[str, Any] = {"requests": None, "bytes": None, "begin_ns": None, "end_ns": None}
        if self.log == "every":
            recorded = write_requests(latency_logs(folder, jobs.LOG), run / "tables" / "requests.parquet")
        summary = summary_of(found.document)
        failures = failures_of(found.document)
        if failures or (ended.status != 0 and not ended.stopped):
            reason = "; ".join(failures) or f"exit status {ended.status}"
            raise RunFailed(f"fio failed: {reason}: {_last_words(folder, found.around)}", folder=run)
        spans, bound_ns = _phases(ended, recorded, summary)
        return {
            "engine": "fio",
            **summary,
            "command": shlex.join(command),
            "requests": recorded["requests"],
            "bytes": recorded["bytes"],
            "phases": spans,
            "u_time_ns": TIME_BOUND_NS if recorded["begin_ns"] is not None else bound_ns,
            "warnings": warnings + [f"fio: {line}" for line in found.around] + self._doubts(summary["fio_jobs"]),
        }

    def _doubts(self, fio_jobs: list[dict[str, Any]]) -> list[str]:
        found = []
        if failed := sum(job["failed"] for job in fio_jobs):
            found.append(f"{failed} requests failed; fio logs none of them, so they are in no table")
        if self.log != "every":
            found.append(
                'fio logged no single requests (log = "every" does): rates and latencies are those of its summary'
            )
        if self.rate is not None:
            found.append(
                "fio does not log when a request was due: planned is issued, and no latency holds the waiting before it"
            )
        if self.job is not None and len(fio_jobs) > 1:
            found.append(
                f"the job file has {len(fio_jobs)} jobs: figures are of all together, engine.fio_jobs has each"
            )
        return found


def _phases(ended: Ended, recorded: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Warm-up from the start of fio's process, then measure; and how far off they may be, in ns."""
    begin_ns, end_ns, bound_ns = recorded["begin_ns"], recorded["end_ns"], 0
    if begin_ns is None:
        # Without a log only the length is known; it ends before the process does.
        longest_ns = round(1e6 * max((job["runtime_ms"] for job in summary["fio_jobs"]), default=0))
        end_ns, begin_ns = ended.ended_ns, max(ended.started_ns, ended.ended_ns - longest_ns)
        bound_ns = begin_ns - ended.started_ns
    spans = [{"phase": "measure", "begin_ns": begin_ns, "end_ns": end_ns}]
    if ended.started_ns < begin_ns:
        spans.insert(0, {"phase": "warmup", "begin_ns": ended.started_ns, "end_ns": begin_ns})
    return spans, bound_ns


def _last_words(folder: Path, around: list[str] | None = None) -> str:
    files = [folder / "fio.json", folder / "fio.out"] if around is None else [folder / "fio.out"]
    said = [
        line.strip()
        for path in files
        if path.exists()
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.strip()
    ]
    return "; ".join([*(around or []), *said][-4:]) or "it said nothing"
