"""What was changed on the host and has to be put back, written down before it is done.

A line is appended and synced before each change, and another after it was undone: a process that is killed at any
instant leaves a journal from which ``iojoule host restore`` can undo what it had begun. It is a write-ahead log.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from iojoule.host.kernel import text
from iojoule.store.writer import process_stamp

NAME = "settings.jsonl"
"""Name of every journal: in ``raw/`` of a run, and in ``targets/`` of a campaign for what its runs share."""

_PLACES = (f"raw/{NAME}", f"targets/{NAME}", f"runs/*/raw/{NAME}", f"*/targets/{NAME}", f"*/runs/*/raw/{NAME}")


@dataclass(frozen=True)
class Change:
    """One change that is not known to be undone. ``states`` are the marks it got since it was written down."""

    journal: Path
    id: int
    kind: str
    facts: dict[str, Any]
    boot: str | None
    process: str | None
    utc: str
    states: tuple[str, ...] = field(default=())

    @property
    def owner_lives(self) -> bool:
        """Whether the process that made the change still runs, and is another one: it will undo it by itself."""
        if self.process is None or self.boot != boot_id():
            return False
        pid = int(self.process.split("@")[0])
        return pid != os.getpid() and process_stamp(pid) == self.process

    @property
    def before_restart(self) -> bool:
        """Whether the machine was restarted since: nothing that lives in the kernel is left of the change."""
        return self.boot != boot_id()


def boot_id() -> str | None:
    """Names this start of the machine; random(4)."""
    return text(Path("/proc/sys/kernel/random/boot_id"))


class Journal:
    """A journal that is written to. Every call returns when its line is on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not path.exists()
        self._file = path.open("ab", buffering=0)
        # A line torn by a kill must not swallow the next one.
        if not fresh and path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            self._file.write(b"\n")
        if fresh:
            _sync_folder(path.parent)
        self._last = 0

    def begin(self, kind: str, **facts: Any) -> Change:
        """Write down a change that is about to be made."""
        self._last = max(time.time_ns(), self._last + 1)
        utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        boot, process = boot_id(), process_stamp(os.getpid())
        line = {"id": self._last, "kind": kind, "utc": utc, "boot": boot, "process": process, **facts}
        self._append(line)
        return Change(self.path, self._last, kind, facts, boot, process, utc)

    def mark(self, change: Change, state: str, note: str = "") -> None:
        """Add a state: ``settled`` (the change is fully made), ``restoring``, ``restored`` (nothing is left to do)."""
        self._append({"id": change.id, "state": state, **({"note": note} if note else {})})

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, line: dict[str, Any]) -> None:
        self._file.write((json.dumps(line) + "\n").encode())
        os.fsync(self._file.fileno())


def unrestored(path: Path) -> list[Change]:
    """The changes of a journal that are not undone, in the order they were made."""
    found: dict[int, Change] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
            number = entry["id"]
        except (ValueError, TypeError, KeyError):
            continue  # torn by a kill: what it speaks of was not begun
        state = entry.get("state")
        if state is None:
            facts = {k: v for k, v in entry.items() if k not in ("id", "kind", "utc", "boot", "process")}
            found[number] = Change(
                path, number, entry["kind"], facts, entry.get("boot"), entry.get("process"), entry.get("utc", "")
            )
        elif state == "restored":
            found.pop(number, None)
        elif number in found:
            before = found[number]
            found[number] = Change(**{**before.__dict__, "states": (*before.states, state)})
    return list(found.values())


def journals(folders: Iterable[Path]) -> list[Path]:
    """The journals in run folders, campaign folders and folders of campaigns."""
    found = {journal for folder in folders for place in _PLACES for journal in folder.glob(place)}
    return sorted(found)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
