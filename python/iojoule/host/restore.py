"""Puts back what a journal says was changed: at the end of each step, and after a kill by ``iojoule host restore``."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from iojoule.errors import IojouleError
from iojoule.host import loop
from iojoule.host.identity import is_still
from iojoule.host.journal import Change, Journal, journals, unrestored
from iojoule.host.settings import put_back

MARKER = ".iojoule-target"
"""In a directory that was made, or may be filled, by iojoule; written last."""
MADE_NAME = re.compile(r"iojoule-\d{6}\.dat")
"""Names of the files a directory target makes."""


@dataclass(frozen=True)
class Outcome:
    """What became of one change: ``restored``, ``gone`` (nothing was left to do), ``running`` (its process lives and
    will see to it), ``left`` (somebody changed it since, or uses it) or ``failed``."""

    journal: str
    kind: str
    what: str
    result: str
    text: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def restore(folders: Iterable[Path], *, force: bool = False) -> list[Outcome]:
    """Undo all that is not undone in the journals of these folders, newest change first."""
    changes = [change for journal in journals(folders) for change in unrestored(journal) if change.kind != "kept"]
    return [undo(change, force=force) for change in sorted(changes, key=lambda c: c.id, reverse=True)]


def pending(folders: Iterable[Path]) -> list[Change]:
    """The changes nobody will undo by himself: their process is gone."""
    found = [change for journal in journals(folders) for change in unrestored(journal)]
    return [change for change in found if change.kind != "kept" and not change.owner_lives]


def undo(change: Change, *, force: bool = False, journal: Journal | None = None) -> Outcome:
    """Undo one change and mark it in its journal."""
    what = _WHAT[change.kind](change.facts) if change.kind in _WHAT else change.kind

    def outcome(result: str, text: str) -> Outcome:
        return Outcome(str(change.journal), change.kind, what, result, text)

    if change.kind not in _UNDO:
        return outcome("left", "written by a later version of iojoule")
    if change.owner_lives:
        return outcome("running", f"process {str(change.process).split('@')[0]} still runs and will put it back")
    if journal is None:
        with Journal(change.journal) as opened:
            return undo(change, force=force, journal=opened)
    try:
        result, text = _UNDO[change.kind](change, journal, force)
    except (OSError, IojouleError) as error:
        return outcome("failed", str(error))
    if result in ("restored", "gone"):
        journal.mark(change, "restored", text)
    return outcome(result, text)


def _settings(change: Change, journal: Journal, force: bool) -> tuple[str, str]:
    if change.before_restart:
        return "gone", "the machine was restarted since; a kernel keeps no settings"
    return put_back(change, journal, force)


def _loop(change: Change, journal: Journal, force: bool) -> tuple[str, str]:
    if change.before_restart:
        return "gone", "the machine was restarted since"
    devices = loop.attached(change.facts["device"], change.facts["inode"])
    if not devices:
        return "gone", "not attached"
    held = [device for device in devices if not loop.detach(device)]
    if held:
        return "left", f"{', '.join(map(str, held))} is still open; it is detached when its last user closes it"
    return "restored", f"detached {', '.join(map(str, devices))}"


def _made(change: Change, journal: Journal, force: bool) -> tuple[str, str]:
    path = Path(change.facts["path"])
    file = _same(change.facts)
    if file is None:
        return "gone", "not there any more, or another one"
    if loop.attached(file.st_dev, file.st_ino):
        return "left", "a loop device stands on it"
    path.unlink()
    return "restored", f"removed, {file.st_size:,} bytes"


def _folder(change: Change, journal: Journal, force: bool) -> tuple[str, str]:
    path = Path(change.facts["path"])
    if _same(change.facts) is None:
        return "gone", "not there any more, or another one"
    ours = [file for file in path.iterdir() if MADE_NAME.fullmatch(file.name) or file.name == MARKER]
    for file in ours:
        file.unlink()
    if change.facts["made"] and not any(path.iterdir()):
        shutil.rmtree(path)
    return "restored", f"removed {sum(file.name != MARKER for file in ours):,} files"


def _same(facts: dict[str, Any]) -> os.stat_result | None:
    """The file a change speaks of, if it is still that one."""
    path = Path(facts["path"])
    return path.stat() if is_still(path, facts) else None


_UNDO: dict[str, Callable[[Change, Journal, bool], tuple[str, str]]] = {
    "settings": _settings,
    "loop": _loop,
    "made": _made,
    "folder": _folder,
}

_WHAT: dict[str, Callable[[dict[str, Any]], str]] = {
    "settings": lambda facts: f"settings of {facts['disk']}",
    "loop": lambda facts: f"loop device on {facts['path']}",
    "made": lambda facts: str(facts["path"]),
    "folder": lambda facts: f"files in {facts['path']}",
}
