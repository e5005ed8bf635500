"""What a verifying load keeps over restarts, and the pass that reads everything back that was written.

The state of a target lies in the campaign's ``prepared`` folder, so that a later step, or the campaign resumed after a
crash, checks what an earlier one wrote.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Size
from iojoule.workloads.native import block_load, folder_beside

if TYPE_CHECKING:
    from iojoule._native import Progress
    from iojoule.targets.storage import Storage

STAMP_BYTES = 4096
_OF = ".written"
"""Ending of the file that says whose state stands beside it."""
READ_BACK_BYTES = 1 << 20
READ_BACK_DEPTH = 8


class Verify(BaseModel):
    """``[workload.verify]``; ``verify = true`` is the table with nothing in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    block_size: Size | None = Field(
        None, ge=512, description="Bytes that carry one stamp; 4 KiB, or less where requests are smaller, if left out."
    )
    read_back: bool = Field(False, description="When all is done, read the region once and check everything in it.")

    def stamp_bytes(self, sizes: list[int]) -> int:
        """Bytes of one stamp: every request is a multiple of it."""
        return self.block_size or math.gcd(STAMP_BYTES, *sizes)


def state_of(target: Storage, campaign: Path) -> Path:
    """Where the state of a target lies: one for each set of files or devices, whatever the target is called in a sweep.
    What a loop device is made of counts, not its number, which may be another one in the next step."""
    names = _names(target)
    return campaign / "prepared" / f"{sha256(names.encode()).hexdigest()[:12]}.verify"


def begin(target: Storage, campaign: Path) -> Path:
    """The state of a target, and beside it of what it is the state."""
    state = state_of(target, campaign)
    state.parent.mkdir(parents=True, exist_ok=True)
    state.with_suffix(_OF).write_text(_names(target), encoding="utf-8")
    return state


def forget(target: Storage, campaign: Path) -> None:
    """What was written is no longer there (purge, precondition): nothing of it is to be expected."""
    _remove(state_of(target, campaign))


def forget_what_is_gone(campaign: Path) -> None:
    """Forget what was written to files that are not there any more, such as those made for a campaign that was
    interrupted: they are made anew when it is resumed."""
    for record in campaign.glob(f"prepared/*{_OF}"):
        if not all(Path(name).exists() for name in record.read_text(encoding="utf-8").split("\n")):
            _remove(record.with_suffix(".verify"))


def file_bytes(target: Storage) -> list[int]:
    """Sizes of the files of a target, which are one address space, one behind the other."""
    return [target.size_bytes] if len(target.paths) < 2 else [path.stat().st_size for path in target.paths]


def stamps_in(files: Sequence[int], offset: int, length: int | None, stamp: int) -> list[int]:
    """Whole stamps of each file inside the region; files without any are left out."""
    end = sum(files) if length is None else offset + length
    found, start = [], 0
    for size in files:
        found.append(max(min(end, start + size) - max(offset, start), 0) // stamp)
        start += size
    return [stamps for stamps in found if stamps]


def first_place(files: Sequence[int], offset: int) -> int:
    """Where the region begins inside the file in which it begins."""
    for size in files:
        if offset < size:
            return offset
        offset -= size
    return offset


def _names(target: Storage) -> str:
    return "\n".join(str(path) for path in target.backing or target.paths) or target.name


def _remove(state: Path) -> None:
    for path in state.parent.glob(state.stem + ".*"):
        path.unlink()


def read_back(config: dict[str, Any], stamp_bytes: int, stamps: Sequence[int], progress: Progress) -> dict[str, Any]:
    """Read the whole region once, in order, and check it; ``config`` is that of the load that wrote it, ``stamps`` are
    those of each file in the region.

    What it reads is counted, not recorded: it is no part of what was measured.
    """
    from iojoule import _native

    work = config["work"]
    block = largest_block(stamps, stamp_bytes)
    again = config | {
        "run": str(folder_beside(Path(config["run"]), "read_back")),
        "target": config["target"] | ({"writable": False} if config["target"]["kind"] == "files" else {}),
        "work": {
            "kind": "synthetic",
            "pattern": {"kind": "sequential"},
            "sizes": [{"bytes": block}],
            "queue_depth": READ_BACK_DEPTH,
            "region": work["region"],
        },
        "warmup_ns": 0,
        "measure_when_told": False,
        "duration_ns": None,
        "requests": sum(stamps) * stamp_bytes // block,
        "record": False,
    }
    began = time.monotonic()
    inner = _native.Progress()
    ended = threading.Event()
    reins = threading.Thread(target=_pass_on_stop, args=(progress, inner, ended), name="read-back")
    reins.start()
    try:
        summary = block_load(again, inner)
    finally:
        ended.set()
        reins.join()
    kept = {key: summary.get(key) for key in ("requests", "bytes", "errors", "verified", "corrupt", "corruptions")}
    return {**kept, "complete": not inner.stopping, "seconds": time.monotonic() - began}


def largest_block(stamps: Sequence[int], stamp_bytes: int) -> int:
    """The largest request up to 1 MiB that divides every file's part of the region into whole requests of whole
    stamps: no request crosses from one file to the next, and none is left over."""
    shared = math.gcd(*stamps)
    most = max(READ_BACK_BYTES // stamp_bytes, 1)
    return stamp_bytes * next(count for count in range(most, 0, -1) if shared % count == 0)


def _pass_on_stop(outer: Progress, inner: Progress, ended: threading.Event) -> None:
    was_stopping = outer.stopping  # by the watcher of the steady state: that ended the load, not the checking of it
    while not ended.wait(0.1):
        if outer.stopping and not was_stopping:
            inner.stop(True)
