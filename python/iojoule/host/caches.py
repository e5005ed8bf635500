"""The kernel's caches of storage: written back and dropped, so that a step starts from the medium."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_BLKFLSBUF = 0x1261  # linux/fs.h
_DROP_ALL = "3"  # page cache, and dentries and inodes; Documentation/admin-guide/sysctl/vm.rst


def drop_caches(paths: Iterable[Path], root: Path = Path("/")) -> dict[str, Any]:
    """Write back and drop what the kernel holds of ``paths``, and all else where it may be.

    Returns ``dropped``, what was done, and ``warnings``, what could not be.
    """
    dropped: list[str] = []
    warnings: list[str] = []
    os.sync()
    for path in paths:
        try:
            _invalidate(path)
        except OSError as error:
            warnings.append(f"the cache of {path} cannot be dropped: {error.strerror}")
    if not warnings:
        dropped.append("target")
    try:
        (root / "proc/sys/vm/drop_caches").write_text(_DROP_ALL)
        dropped.append("all")
    except OSError as error:
        warnings.append(
            f"the kernel's caches cannot be dropped ({error.strerror}): directories and inodes stay cached; run as root"
        )
    return {"dropped": dropped, "warnings": warnings}


def _invalidate(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if path.is_block_device():
            fcntl.ioctl(descriptor, _BLKFLSBUF, 0)
        else:
            os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
