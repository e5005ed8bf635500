"""Loop devices, mounts and swap for tests of storage, all taken away again."""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

from conftest import lacking

SBIN = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
MIB = 1 << 20
SETTINGS = ("scheduler", "read_ahead_kb", "write_cache", "nr_requests", "wbt_lat_usec")


def run(*command: str | Path) -> str:
    """Run an outside tool; what it printed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=os.environ | {"PATH": SBIN})
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


def queue(device: Path) -> dict[str, str]:
    """The settings of a device that a step may change, as they are now."""
    folder = Path("/sys/block", device.name, "queue")
    return {name: (folder / name).read_text() for name in SETTINGS if (folder / name).exists()}


class Loops:
    """Makes block devices under ``folder``. Use as a context."""

    def __init__(self, folder: Path) -> None:
        if os.geteuid():
            lacking("root", "loop devices are made by root")
        self.folder = folder
        self._stack = ExitStack()
        self._count = 0

    def __enter__(self) -> Loops:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def file(self, size: int = 32 * MIB) -> Path:
        self._count += 1
        path = self.folder / f"disk{self._count}.img"
        with path.open("wb") as file:
            file.truncate(size)
        return path

    def device(self, size: int = 32 * MIB, *options: str, backing: Path | None = None) -> Path:
        """A loop device, on a new sparse file unless one is given."""
        file = backing or self.file(size)
        device = Path(run("losetup", "--find", "--show", *options, file))
        self._stack.callback(subprocess.run, ["/usr/sbin/losetup", "-d", str(device)], capture_output=True)
        return device

    def mounted(self, device: Path) -> Path:
        """A mount of ``device``."""
        place = self.folder / f"mnt-{device.name}"
        place.mkdir()
        run("mount", device, place)
        self._stack.callback(run, "umount", place)
        return place

    def swapped(self, path: Path) -> None:
        run("mkswap", path)
        run("swapon", path)
        self._stack.callback(run, "swapoff", path)
