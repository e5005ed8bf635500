"""Nothing that is not named in destroy, or that anybody uses, is written to: real mounts, swap, members and holders."""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.loops import MIB, Loops, run
from iojoule.errors import ConfigError, DeviceError
from iojoule.host.disk import node
from iojoule.host.usage import root_disks
from iojoule.targets.base import Opening
from iojoule.targets.device import DeviceTarget, open_device
from iojoule.targets.file import FileTarget, open_file
from iojoule.targets.guard import device_for_writing
from iojoule.targets.loop import LoopTarget, open_loop

pytestmark = pytest.mark.e2e
Require = Callable[[str, str], str]


def opening(folder: Path, *destroy: Path, writes: bool = True) -> Opening:
    return Opening(folder / "target", destroy=frozenset(destroy), writes=writes, journal=folder / "raw/settings.jsonl")


def refusal(device: Path, folder: Path) -> str:
    """Why a device that is named in destroy is not written to; nothing of it has changed then."""
    with (
        pytest.raises(DeviceError) as refused,
        open_device(DeviceTarget(name="d", path=device), opening(folder, device)),
    ):
        pass
    assert "remedy: " in str(refused.value)
    return str(refused.value)


def test_a_device_that_is_not_named_is_not_written_to(loops: Loops, tmp_path: Path) -> None:
    device, other = loops.device(), loops.device()
    with (
        pytest.raises(ConfigError, match="destroy"),
        open_device(DeviceTarget(name="d", path=device), opening(tmp_path, other)),
    ):
        pass


def test_a_device_may_be_named_by_any_name_it_has(loops: Loops, tmp_path: Path) -> None:
    device = loops.device()
    link, twin = tmp_path / "by-id", tmp_path / "twin"
    link.symlink_to(device)
    os.mknod(twin, 0o600 | 0o060000, device.stat().st_rdev)
    for path, named in [(device, link), (link, device), (device, twin), (twin, device)]:
        with open_device(DeviceTarget(name="d", path=path), opening(tmp_path, named)) as storage:
            assert storage.writable
            assert storage.size_bytes == 32 * MIB


@pytest.mark.parametrize(
    ("kind", "package", "size"), [("ext4", "e2fsprogs", 32), ("xfs", "xfsprogs", 320), ("btrfs", "btrfs-progs", 128)]
)
def test_a_mounted_device_is_refused(
    kind: str, package: str, size: int, loops: Loops, tmp_path: Path, require: Require
) -> None:
    device = loops.device(size * MIB)
    run(require(f"mkfs.{kind}", package), "-q", device)
    place = loops.mounted(device)
    (place / "kept").write_text("kept")
    why = refusal(device, tmp_path)
    assert "[mounted]" in why
    assert str(place) in why
    # Reading is allowed, and the others' load is told.
    with open_device(DeviceTarget(name="d", path=device), opening(tmp_path, writes=False)) as storage:
        assert not storage.writable
        assert any("in use" in warning for warning in storage.warnings)


def test_a_device_that_another_namespace_has_mounted_is_refused(loops: Loops, tmp_path: Path) -> None:
    device, place = loops.device(), tmp_path / "hidden"
    run("mkfs.ext4", "-q", device)
    place.mkdir()
    script = f"mount {device} {place} && echo mounted && exec sleep 60"
    command = ["unshare", "--mount", "sh", "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == "mounted\n"
            assert not place.is_mount()
            why = refusal(device, tmp_path)
        finally:
            other.kill()
    assert "[mounted]" in why
    assert f"{place} of another process" in why


def test_a_disk_with_a_mounted_partition_and_a_partition_of_a_used_disk_are_refused(
    loops: Loops, tmp_path: Path, require: Require
) -> None:
    whole = loops.device(64 * MIB, "--partscan")
    table = tmp_path / "table"
    table.write_text("label: dos\nsize=20MiB\nsize=20MiB\n")
    with table.open() as script:
        subprocess.run([require("sfdisk", "fdisk"), "-q", str(whole)], stdin=script, check=True, capture_output=True)
    first, second = Path(f"{whole}p1"), Path(f"{whole}p2")
    if not first.exists():
        run("partx", "--add", whole)
    if not first.exists():
        pytest.skip("this kernel makes no partitions of loop devices")
    run("mkfs.ext4", "-q", first)
    loops.mounted(first)
    assert f"{first} is mounted" in refusal(whole, tmp_path)
    assert "[mounted]" in refusal(first, tmp_path)
    with open_device(DeviceTarget(name="d", path=second), opening(tmp_path, second)) as storage:
        assert storage.size_bytes == 20 * MIB


def test_swap_is_refused(loops: Loops, tmp_path: Path) -> None:
    device = loops.device()
    loops.swapped(device)
    assert "[swap]" in refusal(device, tmp_path)


def test_a_device_that_another_program_holds_is_refused(loops: Loops, tmp_path: Path) -> None:
    device = loops.device()
    holder = os.open(device, os.O_RDONLY | os.O_EXCL)
    try:
        assert "[exclusive]" in refusal(device, tmp_path)
    finally:
        os.close(holder)


def test_a_device_below_a_loop_device_is_refused(loops: Loops, tmp_path: Path) -> None:
    device = loops.device()
    upper = loops.device(backing=device)
    assert f"{upper} stands on {device}" in refusal(device, tmp_path)


def test_each_member_of_a_btrfs_is_refused_mounted_or_not(loops: Loops, tmp_path: Path, require: Require) -> None:
    first, second = loops.device(128 * MIB), loops.device(128 * MIB)
    run(require("mkfs.btrfs", "btrfs-progs"), "-q", first, second)
    assert "[member]" in refusal(first, tmp_path)
    assert "one of 2 devices" in refusal(second, tmp_path)
    run("btrfs", "device", "scan", first, second)
    loops.mounted(first)
    why = refusal(second, tmp_path)
    assert "[btrfs]" in why


def test_a_member_of_an_md_array_that_does_not_run_is_refused(loops: Loops, tmp_path: Path) -> None:
    file = loops.file()
    # Superblock 1.2, 4 KiB from the start: magic, version, and where it says that it is (md(4)).
    block = bytearray(4096)
    struct.pack_into("<II", block, 0, 0xA92B4EFC, 1)
    struct.pack_into("<Q", block, 144, 8)
    with file.open("r+b") as image:
        image.seek(4096)
        image.write(block)
    assert "[member]" in refusal(loops.device(backing=file), tmp_path)


def test_the_disk_that_holds_the_root_is_refused() -> None:
    disks = [path for number in root_disks() if (path := node(number)).is_block_device()]
    if not disks:
        pytest.skip("the root file system is on no block device")
    for disk in disks:
        with pytest.raises(DeviceError, match=r"\[root\]"), device_for_writing(disk, [disk]):
            pass


def test_nobody_can_mount_what_is_being_measured(loops: Loops, tmp_path: Path) -> None:
    device = loops.device()
    run("mkfs.ext4", "-q", device)
    with (
        open_device(DeviceTarget(name="d", path=device), opening(tmp_path, device)),
        pytest.raises(AssertionError, match=r"(?i)already mounted|busy"),
    ):
        loops.mounted(device)
    (tmp_path / f"mnt-{device.name}").rmdir()
    loops.mounted(device)


def test_a_file_that_is_swap_or_below_a_device_or_open_is_refused(loops: Loops, tmp_path: Path) -> None:
    def why(file: Path) -> str:
        with (
            pytest.raises(DeviceError) as refused,
            open_file(FileTarget(name="f", path=file), opening(tmp_path, file)),
        ):
            pass
        return str(refused.value)

    data = os.urandom(MIB)
    opened = tmp_path / "opened"
    opened.write_bytes(data)
    with opened.open("rb"):
        assert "[open]" in why(opened)
    below = tmp_path / "below"
    below.write_bytes(data * 32)
    device = loops.device(backing=below)
    assert "[loop]" in why(below)
    run("mkfs.ext4", "-q", device)
    place = loops.mounted(device)
    assert str(place) in why(below)
    swap = tmp_path / "swap"
    swap.write_bytes(bytes(4 * MIB))
    swap.chmod(0o600)
    loops.swapped(swap)
    assert "[swap]" in why(swap)


def test_a_file_with_data_is_written_to_only_if_it_is_named(tmp_path: Path, loops: Loops) -> None:
    file = tmp_path / "data"
    file.write_bytes(os.urandom(MIB))
    before = hashlib.sha256(file.read_bytes()).digest()
    for writes, purge in [(True, "never"), (False, "step")]:
        with (
            pytest.raises(ConfigError, match="destroy"),
            open_file(FileTarget(name="f", path=file, purge=purge), opening(tmp_path, writes=writes)),
        ):
            pass
    with pytest.raises(ConfigError, match="destroy"), open_loop(LoopTarget(name="l", path=file), opening(tmp_path)):
        pass
    # To read it needs no name, and the loop device takes no write.
    with open_loop(LoopTarget(name="l", path=file), opening(tmp_path, writes=False)) as storage:
        written = subprocess.run(["dd", "if=/dev/zero", f"of={storage.paths[0]}", "bs=4096", "count=1"])
        assert written.returncode
    with open_file(FileTarget(name="f", path=file), opening(tmp_path, file)) as storage:
        assert storage.writable
    assert hashlib.sha256(file.read_bytes()).digest() == before
