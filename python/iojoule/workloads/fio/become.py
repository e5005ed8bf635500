"""A fio job file becomes an experiment: one ``block`` workload a job, on the one target all jobs name.

Nothing is passed over silently. Each key is taken over, or listed as without effect, or listed as not understood; where
the load that comes out differs from fio's, the difference is listed too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError
from iojoule.workloads.fio import values
from iojoule.workloads.fio.draft import Draft, target_of
from iojoule.workloads.fio.jobfile import Job, Line, expanded, jobs_of, read_job_file
from iojoule.workloads.fio.keys import NO_EFFECT, REFUSED, TAKEN, canonical
from iojoule.workloads.fio.workload import workload_of


@dataclass
class Imported:
    """The sections of an experiment, and what is to be known of how they came about, one line each."""

    experiment: dict[str, Any]
    target: dict[str, Any]
    workloads: list[dict[str, Any]]
    differences: list[str] = field(default_factory=list)
    no_effect: list[str] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)

    def toml(self, title: str) -> str:
        """The experiment as a file to keep, what is to be known of it on top."""
        notes = [f"# {line}" for line in (title, *self.differences, *self.no_effect, *self.not_understood)]
        sections = [_section("[experiment]", self.experiment), _section("[[target]]", self.target)]
        sections += [_section("[[workload]]", workload) for workload in self.workloads]
        return "\n\n".join(["\n".join(notes), *sections]) + "\n"


def become(path: Path, sections: Sequence[str] = ()) -> Imported:
    """What the job file at ``path`` is as an experiment; ``sections`` are the jobs to take, all if none are named.
    ConfigError where it is no job file, or its jobs cannot be one experiment."""
    jobs = _chosen(jobs_of(read_job_file(path), canonical), sections, path)
    found = Imported({"name": _name(path.stem)}, {}, [])
    drafts = [_draft(job, found) for job in jobs]
    targets = []
    for draft in drafts:
        targets.append(target_of(draft, path))
        found.workloads.append(workload_of(draft, _name(draft.job.name)))
        found.differences += [line for line in draft.differences if line not in found.differences]
    # A line of [global] stands in every job, and is said once.
    found.not_understood += dict.fromkeys(line for draft in drafts for line in draft.not_understood)
    found.target = _one_target(targets, drafts, path)
    _number_names(found.workloads)
    for key in ("description", "seed"):
        said = {draft.values[key] for draft in drafts if key in draft.values}
        if said:
            found.experiment[key] = said.pop()
    if len(jobs) > 1 and _together(jobs):
        found.differences.append(
            "differs: fio runs jobs at the same time unless a stonewall is between them; here each is a step of its own"
        )
    return found


def real_fio(path: Path, sections: Sequence[str] = ()) -> Imported:
    """The experiment that has real fio run the job file, or these jobs of it, on the target it names."""
    jobs = _chosen(jobs_of(read_job_file(path), canonical), sections, path)
    silent = Imported({}, {}, [])
    drafts = [_draft(job, silent) for job in jobs]
    target = _one_target([target_of(draft, path) for draft in drafts], drafts, path)
    workload: dict[str, Any] = {"name": "fio", "kind": "fio", "job": str(path.resolve())}
    if sections:
        workload["sections"] = list(sections)
    return Imported({"name": _name(path.stem)}, target, [workload])


def _draft(job: Job, found: Imported) -> Draft:
    """The values of the keys that are taken over; what becomes of the others is noted in ``found``."""
    draft = Draft(job)
    lines = sorted(job.options.items(), key=lambda item: (item[0] != "kb_base", item[1].number))
    for key, line in lines:
        value = expanded(line)
        note = f"{line.place}: {line.text}"
        if key in TAKEN:
            _take(draft, key, line, value)
        elif key in NO_EFFECT:
            text = f"{note} has no effect here: {NO_EFFECT[key]}"
            if text not in found.no_effect:
                found.no_effect.append(text)
        elif key in REFUSED:
            refused = REFUSED[key]
            if (value or "1").strip() not in refused.harmless:
                draft.not_understood.append(f"{note} is not understood: {refused.reason}")
        else:
            draft.not_understood.append(f"{note} is not understood: no such key is known")
    return draft


def _take(draft: Draft, key: str, line: Line, value: str | None) -> None:
    draft.lines[key] = line
    try:
        if value is None and TAKEN[key].read is not values.flag:
            raise ValueError(f"{key} needs a value")
        draft.values[key] = TAKEN[key].read(value)  # type: ignore[arg-type]
    except ValueError as error:
        raise ConfigError(str(error), key=key, value=value, file=line.file, line=line.number) from error


def _chosen(jobs: list[Job], sections: Sequence[str], path: Path) -> list[Job]:
    for name in sections:
        if name not in {job.name for job in jobs}:
            raise ConfigError(
                f"the job file has no [{name}]", value=name, allowed=[job.name for job in jobs], file=path
            )
    return [job for job in jobs if not sections or job.name in sections]


def _one_target(targets: Sequence[dict[str, Any]], drafts: Sequence[Draft], path: Path) -> dict[str, Any]:
    """The target of all jobs; files of different sizes at one path are one file of the largest size."""
    first = targets[0]
    for target, draft in zip(targets, drafts, strict=True):
        if any(target.get(key) != first.get(key) for key in {*target, *first} - {"size"}):
            raise ConfigError(
                f"[{draft.job.name}] drives {target.get('path')}, [{drafts[0].job.name}] {first.get('path')}: "
                "an experiment runs every workload on every target; take the jobs of one target with --section",
                file=path,
                line=draft.job.section.number,
            )
    sizes = [target["size"] for target in targets if target.get("size")]
    return {**first, "size": max(sizes)} if sizes else first


def _together(jobs: Sequence[Job]) -> bool:
    return any("stonewall" not in job.options for job in jobs[1:])


def _name(text: str) -> str:
    """``text`` as a name of ours."""
    return re.sub(r"^[^A-Za-z0-9]+|[^A-Za-z0-9_.-]+", "-", text).strip("-") or "job"


def _number_names(workloads: Sequence[dict[str, Any]]) -> None:
    seen: dict[str, int] = {}
    for workload in workloads:
        name = workload["name"]
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            workload["name"] = f"{name}-{seen[name]}"


def _section(header: str, keys: Mapping[str, Any]) -> str:
    return "\n".join([header, *(f"{key} = {_toml(value)}" for key, value in keys.items())])


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return f"{value:.10g}" if isinstance(value, float) else str(value)
