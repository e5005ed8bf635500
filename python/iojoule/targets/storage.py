"""Storage while it is measured: block devices and files, as block load drives them."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iojoule.errors import DeviceError

_LOOKED_AT = 16
"""Files of a directory whose being there is looked at ten times a second: all of a million would be a load."""


@dataclass(frozen=True)
class Place:
    """What requests must fit: ``size_bytes`` is None where only the open target knows; direct ones are of whole
    ``block_bytes``, at the least."""

    name: str
    size_bytes: int | None
    block_bytes: int


@dataclass
class Storage:
    """Open storage. ``paths`` are what is driven, in order; none on the null target. ``settings`` are what was found in
    force on the device (scheduler, read-ahead, write cache). ``backing`` are files below what is driven.

    ``writable`` says that the guard let it be written to. ``purge`` is when to purge it and ``drop_caches``
    whether to drop caches before each step; see ``procedure``. ``shared`` is a folder that all steps share."""

    name: str
    kind: str
    paths: list[Path]
    size_bytes: int
    logical_block_bytes: int
    warnings: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    backing: list[Path] = field(default_factory=list)
    writable: bool = False
    purge: str = "never"
    drop_caches: bool = False
    shared: Path | None = None
    pid: int | None = None

    @property
    def place(self) -> Place:
        return Place(self.name, self.size_bytes, self.logical_block_bytes if self.paths else 1)

    def alive(self) -> bool:
        return all(_there(path) for path in self.paths[:_LOOKED_AT])

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kind": self.kind,
            "paths": [str(path) for path in self.paths],
            "size_bytes": self.size_bytes,
            "logical_block_bytes": self.logical_block_bytes,
            "settings": self.settings,
            **self.facts,
        }

    def native(self, *, direct: bool, writable: bool) -> dict[str, Any]:
        """The ``target`` of the native block load. DeviceError where the guard did not let it be written to."""
        if writable and not self.writable:
            raise DeviceError(f"{self.name} was not opened for writing")
        if self.kind == "null":
            return {"kind": "null", "bytes": self.size_bytes}
        files: list[dict[str, Any]] = [{"path": str(path)} for path in self.paths]
        for file, path in zip(files, self.paths, strict=True):
            if self.writable and path.is_block_device():
                file["held"] = True  # by the guard, which let it be written to
        return {"kind": "files", "files": files, "direct": direct, "writable": writable}


def purge_marker(shared: Path, place: Path) -> Path:
    """Stands in ``shared`` where ``place`` was purged in this campaign; all variants of a target share it."""
    return shared / f"{str(place).strip('/').replace('/', '_')}.purged"


def _there(path: Path) -> bool:
    """The node of a loop device stays when its file is detached; its size is 0 then."""
    try:
        found = path.stat()
        if not stat.S_ISBLK(found.st_mode):
            return True
        number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
        return Path(f"/sys/dev/block/{number}/size").read_text().strip() != "0"
    except OSError:
        return False
