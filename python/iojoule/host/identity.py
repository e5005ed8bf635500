"""Which file a path names: device and inode, and the generation that tells it from a later file with the same number.

ext4, xfs and btrfs give the numbers of removed files to new ones; the generation is another then (ioctl_iflags(2)).
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FS_IOC_GETVERSION = 0x8008_7601  # linux/fs.h: _IOR('v', 1, long); file systems write 32 bits


def identity_of(descriptor: int) -> dict[str, int | None]:
    """``device``, ``inode`` and ``generation`` of an open file or directory, the last None where it has none."""
    found = os.fstat(descriptor)
    return {"device": found.st_dev, "inode": found.st_ino, "generation": _generation(descriptor)}


def is_still(path: Path, facts: Mapping[str, Any]) -> bool:
    """Whether what is at ``path`` now is what ``facts`` were taken of. Journals of before may lack a generation."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        now = identity_of(descriptor)
    finally:
        os.close(descriptor)
    same = (now["device"], now["inode"]) == (facts["device"], facts["inode"])
    return same and facts.get("generation") in (None, now["generation"])


def _generation(descriptor: int) -> int | None:
    answer = bytearray(8)
    try:
        fcntl.ioctl(descriptor, _FS_IOC_GETVERSION, answer)
    except OSError:
        return None
    return int(struct.unpack_from("=I", answer)[0])
