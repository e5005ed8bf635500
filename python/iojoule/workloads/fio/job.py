"""The job file real fio is given: made from our keys, or the user's own with the target and our logs put in.

What would reach beyond the target (another file, a command, a setting of the host that nobody restores) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError
from iojoule.workloads.fio import values
from iojoule.workloads.fio.jobfile import Job, Line, expanded, jobs_of, read_job_file

LOG = "log"
"""Prefix of the logs."""

ENGINES = frozenset(
    {"io_uring", "libaio", "mmap", "null", "posixaio", "psync", "pvsync", "pvsync2", "sg", "sync", "vsync"}
)
"""Engines of fio that drive the files they are given and nothing else."""

READS = frozenset({"read", "randread"})

BEYOND = {
    "allow_mounted_write": "a mounted device is never written",
    "exec_prerun": "commands are run before iojoule, not by it",
    "exec_postrun": "commands are run after iojoule, not by it",
    "fill_device": "it writes on until the file system is full",
    "fill_fs": "it writes on until the file system is full",
    "ioscheduler": "set it on the target, where it is restored",
    "merge_blktrace_file": "it writes a file of its own",
    "opendir": "the target names the files",
    "profile": "it brings its own jobs",
    "read_iolog": "a log names files of its own; a workload block_replay plays it on the target",
    "replay_redirect": "the target is what is driven",
    "unlink": "what becomes of the files is the target's business",
    "unlink_each_loop": "what becomes of the files is the target's business",
    "write_iolog": "it writes a file of its own",
}
"""Keys no job may have, and why."""

OURS = frozenset(
    {
        "disable_lat", "filename_format", "gtod_reduce", "log_alternate_epoch", "log_alternate_epoch_clock_id",
        "log_avg_msec", "log_compression", "log_hist_msec", "log_max_value", "log_offset", "log_prio",
        "log_store_compressed", "log_unix_epoch", "nrfiles", "nr_files", "per_job_logs", "write_bw_log",
        "write_hist_log", "write_iops_log", "write_lat_log",
    }
)  # fmt: skip
"""Keys of a job file that are left out: the logs and the files are ours to name."""


NAMES = frozenset({"directory", "filename", "include"})
"""Keys that say what is driven: the target does."""


def rw_of(options: Mapping[str, Line]) -> str:
    line = options.get("rw") or options.get("readwrite")
    return "read" if line is None else (expanded(line) or "read").split(":")[0]


def writes_of(jobs: Sequence[Job]) -> bool:
    """Whether some job may change the target; a replayed log may hold writes."""
    return any(rw_of(job.options) not in READS or "read_iolog" in job.options for job in jobs)


def longest_s(jobs: Sequence[Job]) -> float | None:
    """Seconds after which every job must have ended; None where a job has no ``runtime``. Jobs run at the same time but
    for those behind a ``stonewall``."""
    groups: list[list[float]] = [[]]
    for job in jobs:
        options = job.options
        if "stonewall" in options or "wait_for_previous" in options:
            groups.append([])
        runtime = options.get("runtime") or options.get("timeout")
        if runtime is None:
            return None
        groups[-1].append(sum(_seconds(options.get(key)) for key in ("startdelay", "ramp_time")) + _seconds(runtime))
    return sum(max(group, default=0.0) for group in groups)


def _seconds(line: Line | None) -> float:
    if line is None:
        return 0.0
    try:
        return values.seconds(expanded(line) or "0")
    except ValueError as error:
        raise ConfigError(str(error), key=line.key, file=line.file, line=line.number) from error


def made(name: str, keys: Mapping[str, Any], targets: Sequence[Path], log: str, folder: Path) -> str:
    """A job file of one job from ``key=value`` pairs; None leaves a key out, True writes it without a value."""
    for key, value in keys.items():
        if key in OURS | NAMES or not re.fullmatch(r"\w[\w-]*", key) or re.search(r"[\n\r]", str(value)):
            raise ConfigError(f"{key!r} may not stand in options: target and logs are iojoule's", key=key)
        _may_have(key, str(value), None)
    lines = [key if value is True else f"{key}={value}" for key, value in keys.items() if value not in (None, False)]
    return "\n".join([*_head(targets, log, folder), f"[{name}]", *lines]) + "\n"


def pointed(path: Path, targets: Sequence[Path], log: str, folder: Path) -> tuple[str, list[str]]:
    """The job file at ``path`` with the target and our logs put in, and what was left out, in words."""
    left_out: list[str] = []
    lines = list(_head(targets, log, folder))
    place = Path()
    for section in read_job_file(path):
        lines.append(f"[{section.name}]")
        own = next((Path(expanded(line) or "") for line in reversed(section.lines) if line.key == "directory"), place)
        place = own if section.is_global else place
        for line in section.lines:
            _may_have(line.key, expanded(line) or "", line)
            if line.key in ("filename", "directory"):
                _must_be_target(line, targets, own)
            elif line.key in OURS:
                left_out.append(f"{line.place}: {line.text} is left out: the logs and the files are iojoule's")
            else:
                lines.append(line.text)
    return "\n".join(lines) + "\n", left_out


def _head(targets: Sequence[Path], log: str, folder: Path) -> Iterator[str]:
    yield "; what iojoule puts in"
    yield "[global]"
    yield f"filename={values.joined([str(path) for path in targets])}"
    yield "lat_percentiles=1"
    if log == "none":
        return
    # Clock 1 is CLOCK_MONOTONIC, that of every table.
    yield from ("log_alternate_epoch=1", "log_alternate_epoch_clock_id=1", "per_job_logs=1")
    if log == "every":
        yield from (f"write_lat_log={folder / LOG}", "log_avg_msec=0", "log_offset=1")
    else:
        yield from (f"write_{kind}_log={folder / LOG}" for kind in ("lat", "bw", "iops"))
        yield "log_avg_msec=1000"


def _may_have(key: str, value: str, line: Line | None) -> None:
    file, number = (None, None) if line is None else (line.file, line.number)
    if key in BEYOND:
        raise ConfigError(f"{key} may not be used with a target: {BEYOND[key]}", key=key, file=file, line=number)
    if key in ("mem", "iomem") and ":" in value:
        raise ConfigError(f"{key}={value} writes to a file of its own", key=key, file=file, line=number)
    if key == "ioengine" and value not in ENGINES:
        raise ConfigError(
            f"ioengine={value} drives something else than the target",
            key=key,
            value=value,
            allowed=sorted(ENGINES),
            file=file,
            line=number,
        )


def _must_be_target(line: Line, targets: Sequence[Path], directory: Path) -> None:
    allowed = {path.resolve() for path in targets}
    if line.key == "directory":
        allowed, directory = {folder for path in allowed for folder in path.parents}, Path()
    foreign = [name for name in values.paths(expanded(line) or "") if (directory / name).resolve() not in allowed]
    if foreign:
        raise ConfigError(
            f"{line.key}={foreign[0]} is not the target; leave the line out, the target is put in",
            key=line.key,
            file=line.file,
            line=line.number,
        )


def jobs_in(path: Path, sections: Sequence[str] = ()) -> list[Job]:
    """The jobs of a file with their options, or those of these names."""
    return [job for job in jobs_of(read_job_file(path)) if not sections or job.name in sections]
