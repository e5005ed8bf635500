"""One fio job on its way to an experiment: the values it gives, and the target they name."""

from __future__ import annotations

import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iojoule.workloads.fio import values
from iojoule.workloads.fio.jobfile import Job, Line


@dataclass
class Draft:
    """One job on its way: the values it gives, where they stand, and what is to be said of it."""

    job: Job
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[str, Line] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    not_understood: list[str] = field(default_factory=list)

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def refuse(self, key: str, reason: str) -> None:
        line = self.lines.get(key)
        place = f"{self.job.section.file}:{self.job.section.number}: [{self.job.name}]"
        where = place if line is None else f"{line.place}: {line.text}"
        said = f"{where} is not understood: {reason}"
        if said not in self.not_understood:
            self.not_understood.append(said)

    def differ(self, text: str) -> None:
        self.differences.append(f"differs: {text}")

    def size(self, key: str) -> int | None:
        """Bytes of a size; None where it is not given or is a share of the device."""
        text = self.get(key)
        if text is None or text.strip() == "100%":
            return None
        if text.strip().endswith("%"):
            self.refuse(key, "write the size in bytes")
            return None
        return self.number(key, text)

    def number(self, key: str, text: str) -> int | None:
        try:
            return values.size(text, self.get("kb_base", 1024))
        except ValueError as error:
            self.refuse(key, str(error))
            return None


def target_of(draft: Draft, job_file: Path) -> dict[str, Any]:
    """The ``[[target]]`` the job drives; a file that fio would make is made here."""
    size = draft.size("filesize") or draft.size("size")
    offset = draft.size("offset") or 0
    caches = {} if draft.get("invalidate", True) else {"drop_caches": False}
    names: list[str] = draft.get("filename") or []
    if "read_iolog" in draft.values:
        names = [draft.get("replay_redirect")] if "replay_redirect" in draft.values else names
    folder = Path(draft.get("directory") or ".")
    if len(names) > 1:
        draft.refuse("filename", "several files are a directory target")
    if not names and draft.get("nrfiles", 1) > 1:
        files = draft.get("nrfiles")
        each = draft.size("filesize") or (size // files if size else None)
        if each is None:
            draft.refuse("nrfiles", "the files need a size or filesize")
        return {
            "name": "fio",
            "kind": "directory",
            "path": str(folder.resolve()),
            "files": files,
            "file_size": each,
            **caches,
        }
    path = (folder / names[0] if names else folder / f"{draft.job.name}.0.0").resolve()
    if not names and draft.get("numjobs", 1) > 1:
        draft.differ("fio makes a file for each of numjobs; here all jobs share one")
    if is_device(path):
        scheduler = {"scheduler": draft.get("ioscheduler")} if "ioscheduler" in draft.values else {}
        return {"name": path.name, "kind": "device", "path": str(path), **caches, **scheduler}
    if "ioscheduler" in draft.values:
        draft.refuse("ioscheduler", "only a device has one; a file's device is not set")
    if size is None and "size" not in draft.values and not path.exists():
        draft.refuse("size", f"{path} is not there, and no size says how large to make it")
    made = {} if size is None else {"size": size + offset}
    return {"name": path.name, "kind": "file", "path": str(path), **made, **caches}


def is_device(path: Path) -> bool:
    """Whether a job's file is a block device; what lies under /dev is taken for one even where it is absent."""
    try:
        return stat.S_ISBLK(path.stat().st_mode)
    except OSError:
        return path.is_relative_to("/dev") and not path.is_relative_to("/dev/shm")
