"""Loop devices: a file made a block device by losetup(8); and which devices a file already stands behind."""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import time
from pathlib import Path
from shutil import which

from iojoule.errors import DeviceError, HostError
from iojoule.host.kernel import text

_LOOP_GET_STATUS64, _STATUS_BYTES = 0x4C05, 232  # linux/loop.h: struct loop_info64 begins with device and inode
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


def attached(device: int, inode: int) -> list[Path]:
    """The loop devices on the file with that device and inode number, also after the file has lost its name."""
    entries = sorted(Path("/sys/block").glob("loop*/loop/backing_file"))
    return [path for entry in entries if _file_of(path := Path("/dev") / entry.parent.parent.name) == (device, inode)]


def _file_of(path: Path) -> tuple[int, int] | None:
    """Device and inode number of the file below a loop device; None where it was detached, or may not be asked."""
    status = bytearray(_STATUS_BYTES)
    try:
        with path.open("rb") as opened:
            fcntl.ioctl(opened, _LOOP_GET_STATUS64, status)
    except OSError:
        return None
    device, inode = struct.unpack_from("=QQ", status)
    return device, inode


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
