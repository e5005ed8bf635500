"""Which disk holds a path: the whole disk's kernel name, found from the device number of the file system."""

from __future__ import annotations

import os
from pathlib import Path

from iojoule.meters.sysfs import look


def device_of(path: Path, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> tuple[str | None, str]:
    """Name of the whole disk under ``path`` and how it was found. None when it is on no disk of this host."""
    path = path.resolve()
    while not path.exists():  # what is to be written there will be on the disk of the folder above
        path = path.parent
    device = path.stat().st_dev
    number, source = f"{os.major(device)}:{os.minor(device)}", ""
    if os.major(device) == 0:
        # File systems with an anonymous number (btrfs, overlay, tmpfs) say in mountinfo what they stand on.
        number, source = _source(path, proc, sys)
        if not number:
            return None, f"no disk: {path} is on {source}"
    node = (sys / "dev/block" / number).resolve()
    if (node / "partition").exists():
        node = node.parent
    name = node.name if node.exists() else _named(number, proc)
    return name, f"{name or 'no disk'} holds {path}"


def _source(path: Path, proc: Path, sys: Path) -> tuple[str, str]:
    """``("8:1", "/dev/sda1")`` of the mount that holds ``path``; ``("", "tmpfs")`` when it has no block device."""
    best: tuple[int, str, str] = (-1, "", "an unknown file system")
    for line in look(proc / "self/mountinfo").text.splitlines():
        left, _, right = line.partition(" - ")
        point = Path(left.split()[4].replace("\\040", " "))
        if path.is_relative_to(point) and len(point.parts) >= best[0]:
            best = (len(point.parts), right.split()[1], right.split()[0])
    source = Path(best[1])
    if source.is_absolute() and source.exists() and (device := source.stat().st_rdev):
        return f"{os.major(device)}:{os.minor(device)}", str(source)
    return "", best[2]


def _named(number: str, proc: Path) -> str | None:
    major, minor = number.split(":")
    for line in look(proc / "diskstats").text.splitlines():
        if line.split()[:2] == [major, minor]:
            return line.split()[2]
    return None
