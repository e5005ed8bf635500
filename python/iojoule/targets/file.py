"""A file as a target: one that is there, or one that is made and filled for the campaign."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from iojoule.errors import ConfigError, HostError
from iojoule.host.devices import file_system
from iojoule.host.disk import under
from iojoule.host.settings import in_force
from iojoule.targets.base import Opening
from iojoule.targets.guard import file_for_writing
from iojoule.targets.keys import FileKeys
from iojoule.targets.made import is_ours, made_file, workshop
from iojoule.targets.storage import Storage

_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")
_OWN_BLOCK = 4096  # what O_DIRECT is aligned to where no device tells


class FileTarget(FileKeys):
    """``[[target]]`` with ``kind = "file"``."""

    kind: Literal["file"] = "file"


@contextmanager
def open_file(config: FileTarget, opening: Opening) -> Iterator[Storage]:
    """Open the file, made where it is not there. ConfigError, DeviceError or HostError where it may not be used."""
    writes = opening.writes or config.purge != "never"
    with workshop(opening) as folder:
        path = ready_file(config, opening, folder)
        if writes:
            file_for_writing(path, opening.destroy, ours=is_ours(path, folder))
        found = path.stat()
        facts, settings, block, warnings = surroundings(path)
        yield Storage(
            config.name,
            config.kind,
            [path],
            found.st_size,
            block,
            warnings + hole_warnings(path),
            facts,
            settings,
            writable=writes,
            purge=config.purge,
            drop_caches=config.drop_caches,
            shared=folder,
        )


def ready_file(config: FileKeys, opening: Opening, folder: Path) -> Path:
    """The file of a target: as it is there, or made."""
    # What is purged has holes afterwards: nobody else is to read them.
    purged = "" if config.purge == "never" else "-purged"
    path = config.path or folder / f"{config.size}-{config.fill}{purged}.img"
    if not path.exists():
        if config.size is None:
            raise ConfigError(f"there is no file {path}; give a 'size' to have it made", key="target.path")
        made_file(path, config.size, config.fill, folder, opening.note, keep=config.keep)
    path = path.resolve()
    found = path.stat()
    if stat.S_ISBLK(found.st_mode):
        raise ConfigError(f'{path} is a block device; use kind = "device"', key="target.kind", value=config.kind)
    if not stat.S_ISREG(found.st_mode):
        raise ConfigError(f"{path} is no file", key="target.path", value=str(path))
    if config.size not in (None, found.st_size):
        message = f"{path} is there with {found.st_size} bytes, not {config.size}; remove it, or leave 'size' out"
        raise ConfigError(message, key="target.size", value=config.size)
    if not found.st_size:
        raise ConfigError(f"{path} is empty: there is nothing to measure", key="target.path", value=str(path))
    if not os.access(path, os.R_OK | (os.W_OK if opening.writes else 0)):
        raise HostError(f"{path} may not be opened", missing=str(path), remedy=f"chmod u+rw {path}")
    return path


def surroundings(path: Path) -> tuple[dict[str, Any], dict[str, Any], int, list[str]]:
    """Facts of the file system and the disk below a path, the settings of that disk, its block, and warnings."""
    system, disk = file_system(path), under(path)
    facts: dict[str, Any] = {"file_system": system}
    warnings = []
    if disk is not None:
        facts["disk"] = disk.described()
    elif system["kind"] in _IN_MEMORY:
        warnings.append(f"{path} lies in memory ({system['kind']}): no storage is measured")
    settings = {} if disk is None else in_force(disk)
    block = facts.get("disk", {}).get("logical_block_bytes") or _OWN_BLOCK
    return facts, settings, block, warnings


def hole_warnings(path: Path) -> list[str]:
    """A file with fewer blocks than its size, of which reads are answered without the disk."""
    found = path.stat()
    missing = 1 - 512 * found.st_blocks / found.st_size
    return [f"{missing:.0%} of {path} are holes: reads of them do no I/O"] if missing > 0.01 else []
