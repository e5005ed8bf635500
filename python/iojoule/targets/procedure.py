"""What is done to storage before a step: purged, its caches dropped. Between the two it may be preconditioned.

The order is that of Issa and Kassem (section 3) and of the SNIA PTS: purge, precondition, caches.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from iojoule.errors import DeviceError
from iojoule.host import caches
from iojoule.host.disk import disk, number_of
from iojoule.host.kernel import number
from iojoule.targets.made import write_all
from iojoule.targets.storage import Storage, purge_marker

_BLKDISCARD = 0x1277  # linux/fs.h; start and length in bytes
_PIECE = 4 << 20
_TELL_EVERY = 64 << 20
_DISCARD_PIECE = 1 << 30  # so that a slow device can be told of, and stopped, between
Note = Callable[[str], None]


def purge(storage: Storage, note: Note = lambda text: None) -> dict[str, Any] | None:
    """Purge the target where its section asks for it now: what was done, or None where nothing was to be done.

    A device discards everything, or is overwritten with zeros where it cannot; files are overwritten with zeros, so
    that they keep their blocks. DeviceError where that fails.
    """
    marker = _marker(storage)
    if storage.purge == "never" or (storage.purge == "campaign" and marker is not None and marker.exists()):
        return None
    if not storage.writable:
        raise DeviceError(f"{storage.name} was not opened for writing and cannot be purged")
    methods = {}
    for path in storage.paths:
        note(f"purging {path}")
        methods[str(path)] = _purge(path, note)
    if marker is not None:
        marker.touch()
    return {"method": " and ".join(sorted(set(methods.values()))), "bytes": storage.size_bytes, "paths": methods}


def drop_caches(storage: Storage) -> dict[str, Any]:
    """Drop the caches where its section asks for it: what was ``dropped``, and ``warnings`` of what could not be."""
    if not storage.drop_caches or not storage.paths:
        return {"dropped": [], "warnings": []}
    return caches.drop_caches([*storage.paths, *storage.backing])


def _marker(storage: Storage) -> Path | None:
    if storage.shared is None or not storage.paths:
        return None
    return purge_marker(storage.shared, (storage.backing or storage.paths)[0])


def _purge(path: Path, note: Note) -> str:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        size = os.lseek(descriptor, 0, os.SEEK_END)
        told = number_of(path)
        device = disk(told) if told else None
        if device is not None and number(device.whole / "queue/discard_max_bytes") and _discard(descriptor, size, note):
            return "discard"
        _overwrite(descriptor, size, note)
        return "zeros"
    except OSError as error:
        raise DeviceError(f"{path} cannot be purged: {error.strerror}", device=str(path)) from error
    finally:
        os.close(descriptor)


def _discard(descriptor: int, size: int, note: Note) -> bool:
    """Whether the device took it."""
    for start in range(0, size, _DISCARD_PIECE):
        try:
            fcntl.ioctl(descriptor, _BLKDISCARD, struct.pack("=QQ", start, min(_DISCARD_PIECE, size - start)))
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                return False
            raise
        note(f"discarded {min(start + _DISCARD_PIECE, size) / size:.0%}")
    return True


def _overwrite(descriptor: int, size: int, note: Note) -> None:
    zeros = memoryview(bytes(_PIECE))
    for start in range(0, size, _PIECE):
        if start % _TELL_EVERY == 0:
            note(f"overwritten with zeros, {start / size:.0%}")
        write_all(descriptor, zeros[: size - start], start)
    os.fsync(descriptor)
