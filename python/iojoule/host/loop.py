"""Loop devices: a file made a block device by losetup(8); and which devices a file already stands behind."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from shutil import which

from iojoule.errors import DeviceError, HostError
from iojoule.host.kernel import text

_PATIENCE_S = 2.0  # for a detached device to let go of its file: the kernel does it when the last user has closed


def attach(file: Path, *, direct_io: bool, sector_size: int, read_only: bool) -> Path:
    """Make the file a block device and return its node. HostError without losetup or without the right to."""
    command = [_losetup(), "--find", "--show", f"--direct-io={'on' if direct_io else 'off'}"]
    command += ["--sector-size", str(sector_size)] + ["--read-only"] * read_only + [str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if done.returncode:
        said = done.stderr.strip()
        if os.geteuid():
            raise HostError(f"only root can make loop devices ({said})", missing="root", remedy="sudo iojoule run …")
        raise DeviceError(f"{file} cannot be made a loop device: {said}", device=str(file))
    return Path(done.stdout.strip())


def attached(file: os.stat_result, root: Path = Path("/")) -> list[Path]:
    """The devices that stand on the file with that device and inode number."""
    found = []
    for entry in sorted((root / "sys/block").glob("loop*/loop/backing_file")):
        name = text(entry)
        try:
            there = None if name is None else Path(name).stat()
        except OSError:
            continue  # a deleted file cannot be the one that is asked about
        if there and (there.st_dev, there.st_ino) == (file.st_dev, file.st_ino):
            found.append(Path("/dev") / entry.parent.parent.name)
    return found


def detach(device: Path) -> bool:
    """Detach; whether the device has let go of its file. One in use lets go when its last user closes it."""
    if not backing(device):
        return True
    done = subprocess.run([_losetup(), "--detach", str(device)], capture_output=True, text=True, timeout=30)
    if done.returncode and backing(device):
        raise DeviceError(f"{device} cannot be detached: {done.stderr.strip()}", device=str(device), retryable=True)
    deadline = time.monotonic() + _PATIENCE_S
    while backing(device):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def backing(device: Path) -> str | None:
    """The file behind a loop device; None where it is not attached or is no loop device."""
    return text(Path("/sys/block") / device.name / "loop/backing_file")


def _losetup() -> str:
    found = which("losetup", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if found is None:
        raise HostError("losetup is not installed", missing="losetup", remedy="apt-get install mount")
    return found
