"""One block device as sysfs knows it: which disk it is part of, what it is, and what is set on it.

Documentation/ABI/stable/sysfs-block; block/blk-sysfs.c. Every reader takes the root, so that a test hands it a folder.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iojoule.host.devices import describe_disk
from iojoule.host.kernel import number, text


@dataclass(frozen=True)
class Disk:
    """A block device, whole disk or partition. ``folder`` is its own in sysfs, ``whole`` that of its disk."""

    number: str
    name: str
    folder: Path
    whole: Path

    @property
    def is_partition(self) -> bool:
        return self.folder != self.whole

    def parts(self) -> list[str]:
        """The numbers of the disk's partitions; of a partition none."""
        if self.is_partition:
            return []
        return sorted(found for entry in self.folder.glob("*/partition") if (found := text(entry.parent / "dev")))

    def family(self) -> list[str]:
        """Itself, its partitions, and the whole disk it is a part of: all that share bytes with it."""
        whole = text(self.whole / "dev")
        return [self.number, *self.parts(), *([whole] if self.is_partition and whole else [])]

    @property
    def size_bytes(self) -> int:
        return 512 * (number(self.folder / "size") or 0)

    def described(self) -> dict[str, Any]:
        """Model, firmware, size, blocks, scheduler, caches of the whole disk."""
        return describe_disk(self.whole)


def disk(device: str, root: Path = Path("/")) -> Disk | None:
    """The block device with that ``major:minor``; None where this kernel has none."""
    link = root / "sys/dev/block" / device
    if not link.exists():
        return None
    folder = link.resolve()
    whole = folder.parent if (folder / "partition").exists() else folder
    return Disk(device, folder.name, folder, whole)


def number_of(path: Path) -> str | None:
    """``major:minor`` of a device node; None where the path is none or not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}" if stat.S_ISBLK(found.st_mode) else None


def node(device: str, root: Path = Path("/")) -> Path:
    """The node under /dev of a number, as the kernel names it."""
    found = disk(device, root)
    return Path("/dev", device if found is None else found.name.replace("!", "/"))


def under(path: Path, root: Path = Path("/")) -> Disk | None:
    """The block device below the file system of a path; None where it has none (memory, network) or does not tell."""
    try:
        found = path.stat()
    except OSError:
        return None
    below = disk(f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}", root)
    if below is None:
        from iojoule.host.devices import file_system

        # btrfs and overlay number their files by themselves; the mount table may tell the device.
        source = file_system(path, root)["device"]
        told = number_of(Path(source)) if source and str(source).startswith("/dev/") else None
        below = None if told is None else disk(told, root)
    return below
