"""fio's JSON: found among what else it prints there, and brought into one summary.

Warnings of fio land in the output file before and behind the document, and ``--status-interval`` writes several
documents; the last whole one counts.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DIRECTIONS = ("read", "write", "trim")


@dataclass(frozen=True)
class Output:
    """The last document of fio's, and the lines around the documents."""

    document: dict[str, Any]
    around: list[str]


def read_output(text: str) -> Output | None:
    """The last whole document in ``text``; None where there is none."""
    decoder = json.JSONDecoder()
    document: dict[str, Any] | None = None
    around: list[str] = []
    at = 0
    while at < len(text):
        brace = 0 if text.startswith("{") and at == 0 else text.find("\n{", at) + 1
        if brace == 0 and not (at == 0 and text.startswith("{")):
            around += text[at:].splitlines()
            break
        around += text[at:brace].splitlines()
        try:
            found, end = decoder.raw_decode(text, brace)
        except json.JSONDecodeError:
            around.append(text[brace:].splitlines()[0])
            at = brace + 1
            continue
        if "jobs" in found:
            document = found
        at = end
    lines = [line.strip() for line in around if line.strip()]
    return None if document is None else Output(document, lines)


def summary_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """What fio says it did: each job's figures, and failures by job. Latencies are in ns, as fio gives them."""
    jobs = [_job(job) for job in document["jobs"]]
    return {
        "fio": document.get("fio version"),
        "fio_jobs": jobs,
        "iops": sum(part["iops"] for job in jobs for part in job["directions"].values()),
        "bytes_per_s": sum(part["bytes_per_s"] for job in jobs for part in job["directions"].values()),
        "disk_util": document.get("disk_util", []),
    }


def failures_of(document: Mapping[str, Any]) -> list[str]:
    """``job NAME: EIO (Input/output error)`` for each job that ended in an error."""
    return [
        f"job {job['jobname']}: {errno.errorcode.get(job['error'], job['error'])}"
        for job in document["jobs"]
        if job["error"]
    ]


def _job(job: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": job["jobname"],
        "error": job["error"],
        # Only where the job asked to go on after errors.
        "failed": job.get("total_err", 0),
        "runtime_ms": job["job_runtime"],
        "cpu_user_percent": job["usr_cpu"],
        "cpu_system_percent": job["sys_cpu"],
        "context_switches": job["ctx"],
        "options": job.get("job options", {}),
        "directions": {name: _direction(job[name]) for name in DIRECTIONS if job.get(name, {}).get("total_ios")},
    }


def _direction(part: Mapping[str, Any]) -> dict[str, Any]:
    kinds = {kind: part[kind] for kind in ("slat_ns", "clat_ns", "lat_ns") if part.get(kind, {}).get("N")}
    return {
        "requests": part["total_ios"],
        "bytes": part["io_bytes"],
        "iops": part["iops"],
        "bytes_per_s": part["bw_bytes"],
        "runtime_ms": part["runtime"],
        "short": part["short_ios"],
        "dropped": part["drop_ios"],
        **{kind: {key: value for key, value in found.items() if key != "bins"} for kind, found in kinds.items()},
    }
