"""What a block run was asked for: one cell of a sweep over pattern, reading or writing, block size and queue depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STORAGE = frozenset({"device", "file", "directory", "loop", "null"})
"""The kinds of target that block load drives."""
AXES = ("pattern", "write", "trim", "block_size", "queue_depth", "jobs")
"""Keys of a workload that place its run in a sweep; any other swept key makes a sweep of its own."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Cell:
    """``block_bytes`` and ``outstanding`` are None where the run has no single one: sizes drawn, an open loop."""

    kind: str
    pattern: str
    op: str
    """read, write, trim, or the mix in words."""
    block_bytes: int | None
    queue_depth: int
    jobs: int
    closed: bool
    direct: bool | None
    full: bool = True
    """A closed loop whose queue is kept full; not where fio was limited to a rate, or ran a job file."""

    @property
    def outstanding(self) -> int | None:
        """Requests in flight all the time of a closed loop: what Little's law must give."""
        return self.queue_depth * self.jobs if self.closed and self.full else None

    @property
    def mixed(self) -> bool:
        return self.op not in ("read", "write", "trim")

    @property
    def label(self) -> str:
        """Pattern and operation: ``random read``."""
        return f"{self.pattern.replace('_', ' ')} {self.op}"

    @property
    def size_label(self) -> str:
        return "mixed sizes" if self.block_bytes is None else size_text(self.block_bytes)

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> Cell | None:
        """From the manifest of a run; None where storage was not what was driven."""
        if (manifest.get("target") or {}).get("kind") not in STORAGE:
            return None
        load, engine = manifest.get("workload") or {}, manifest.get("engine") or {}
        kind = str(load.get("kind", "block"))
        if kind == "fio" and load.get("job"):
            return cls(kind, "job file", "as it says", None, 1, 1, closed=True, direct=None, full=False)
        depth = load.get("queue_depth") or engine.get("queue_depth") or 1
        jobs = load.get("jobs") or engine.get("jobs") or 1
        replay = "replay" in kind
        rated = load.get("rate") is not None
        # fio holds back to a rate, but logs no plan.
        timed = replay and not load.get("as_fast_as_possible")
        opened = timed or (rated and kind != "fio") or load.get("arrival_trace") is not None
        pattern = load.get("pattern", "trace" if replay else "random")
        # Access times are of one sector, which only the target knows.
        sector = manifest["target"].get("logical_block_bytes") or 512
        return cls(
            kind,
            str(pattern.get("kind", "")) if isinstance(pattern, Mapping) else str(pattern),
            _op(float(load.get("write") or 0), float(load.get("trim") or 0), replay),
            None if load.get("sizes") or replay else int(load.get("block_size") or sector),
            int(depth),
            int(jobs),
            not opened,
            engine.get("direct", load.get("direct")),
            not rated,
        )


def _op(write: float, trim: float, replay: bool) -> str:
    if replay:
        return "as traced"
    if not write and not trim:
        return "read"
    if write == 100 or trim == 100:
        return "write" if write else "trim"
    parts = ((100 - write - trim, "read"), (write, "write"), (trim, "trim"))
    return ", ".join(f"{share:g} % {name}" for share, name in parts if share)


def size_text(size: int) -> str:
    """``4 KiB``, ``1 MiB``; bytes where it is no whole number of either."""
    for unit, name in ((MIB, "MiB"), (1024, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"
