"""Block devices as sysfs describes them (Documentation/ABI/stable/sysfs-block), and the file system of a path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from iojoule.host.kernel import chosen, number, text

_SECTOR = 512  # /sys/block/*/size counts these, whatever the device's own sector
_NOT_A_DRIVE = ("ram", "loop", "zram", "fd", "sr")


def block_devices(root: Path = Path("/")) -> list[dict[str, Any]]:
    """Every drive of the machine with what decides its speed; an unknown value is None."""
    folder = root / "sys/block"
    if not folder.is_dir():
        return []
    return [describe_disk(entry) for entry in sorted(folder.iterdir()) if not entry.name.startswith(_NOT_A_DRIVE)]


def describe_disk(entry: Path) -> dict[str, Any]:
    """The disk whose folder in sysfs this is."""
    queue = entry / "queue"
    sectors = number(entry / "size")
    rotational = number(queue / "rotational")
    return {
        "name": entry.name,
        "model": text(entry / "device/model"),
        "firmware": text(entry / "device/firmware_rev") or text(entry / "device/rev"),
        "size_bytes": None if sectors is None else sectors * _SECTOR,
        "rotational": None if rotational is None else bool(rotational),
        "scheduler": chosen(queue / "scheduler"),
        "write_cache": text(queue / "write_cache"),
        "logical_block_bytes": number(queue / "logical_block_size"),
        "physical_block_bytes": number(queue / "physical_block_size"),
        "queue_requests": number(queue / "nr_requests"),
        "read_ahead_kib": number(queue / "read_ahead_kb"),
    }


def file_system(path: Path, root: Path = Path("/")) -> dict[str, Any]:
    """Kind, device, options and free space of the file system that holds the path (proc_pid_mountinfo(5))."""
    there = path.resolve()
    best: tuple[int, dict[str, Any]] = (-1, {"mount": None, "kind": None, "device": None, "options": None})
    for line in (text(root / "proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        where, options = before.split()[4:6]
        kind, device = after.split()[:2]
        mount = Path(where.encode().decode("unicode_escape"))  # blanks are written \040
        # A later mount over the same point hides the earlier one.
        if there.is_relative_to(mount) and len(mount.parts) >= best[0]:
            best = (len(mount.parts), {"mount": str(mount), "kind": kind, "device": device, "options": options})
    return best[1] | {"free_bytes": free_bytes(there)}


def free_bytes(path: Path) -> int | None:
    """Bytes that an ordinary user may still write near the path, which need not exist yet."""
    existing = next((folder for folder in (path, *path.parents) if folder.exists()), None)
    if existing is None:
        return None
    found = os.statvfs(existing)
    return found.f_bavail * found.f_frsize
