"""What lies on a block device, by what stands in its first blocks (blkid(8), libblkid's probers)."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path
from shutil import which

from iojoule.host.disk import node
from iojoule.host.usage import Use

_MEMBERS = {
    "LVM2_member": ("an LVM physical volume", "vgreduce or pvremove it"),
    "LVM1_member": ("an LVM physical volume", "vgreduce or pvremove it"),
    "linux_raid_member": ("a member of an md array", "mdadm --zero-superblock {}"),
    "ddf_raid_member": ("a member of a RAID of the firmware", "wipefs --all {}"),
    "isw_raid_member": ("a member of a RAID of the firmware", "wipefs --all {}"),
    "zfs_member": ("a member of a ZFS pool", "zpool labelclear {}"),
    "bcache": ("a member of a bcache", "wipefs --all {}"),
    "drbd": ("a DRBD device", "wipefs --all {}"),
}

_BTRFS_SUPER = 0x10000
_BTRFS_MAGIC = b"_BHRfS_M"


def on_device(path: Path) -> dict[str, str]:
    """What blkid says of the device: TYPE, LABEL, UUID, PTTYPE; empty where it knows nothing or is not installed."""
    blkid = which("blkid", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"]))
    if blkid is None:
        return {}
    # --probe: look at the device, not at what was remembered of it.
    done = subprocess.run([blkid, "--probe", "-o", "export", str(path)], capture_output=True, text=True, timeout=30)
    pairs = (line.partition("=") for line in done.stdout.splitlines())
    return {key: value for key, equals, value in pairs if equals}


def member_of(number: str) -> Use | None:
    """Whether a device that nobody uses now is a part of something larger, whose other parts it would spoil."""
    path = node(number)
    kind = on_device(path).get("TYPE", "")
    if kind in _MEMBERS:
        what, remedy = _MEMBERS[kind]
        return Use("member", f"{path} is {what}", remedy.format(path))
    if kind == "btrfs" and (devices := _btrfs_devices(path)) > 1:
        return Use("member", f"{path} is one of {devices} devices of a btrfs", f"wipefs --all {path}")
    return None


def _btrfs_devices(path: Path) -> int:
    """``num_devices`` of the superblock (fs/btrfs: struct btrfs_super_block)."""
    with path.open("rb") as file:
        file.seek(_BTRFS_SUPER)
        block = file.read(4096)
    return int(struct.unpack_from("<Q", block, 0x88)[0]) if block[0x40:0x48] == _BTRFS_MAGIC else 0
