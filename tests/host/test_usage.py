"""Who uses a device is found in the kernel's own files: here those of machines with arrays, LVM and several disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.kernel_tree import Machine
from iojoule.host.disk import disk
from iojoule.host.usage import device_uses, root_disks


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.disk("sda", "8:0", parts={"sda1": "8:1", "sda2": "8:2"})
    made.disk("sdb", "8:16", parts={"sdb1": "8:17"})
    made.disk("sdc", "8:32")
    made.mounts("8:1 / /", source="/dev/sda1")
    return made


def rules(machine: Machine, number: str) -> list[str]:
    found = disk(number, machine.root)
    assert found is not None
    return [use.rule for use in device_uses(found, machine.root)]


def test_a_disk_that_nobody_uses_has_no_users(machine: Machine) -> None:
    assert rules(machine, "8:16") == rules(machine, "8:17") == rules(machine, "8:32") == []


def test_a_partition_beside_that_of_the_root_is_on_the_root_disk(machine: Machine) -> None:
    assert rules(machine, "8:2") == ["root"]
    assert rules(machine, "8:0") == ["root", "mounted"]


def test_a_volume_beside_that_of_the_root_is_on_the_root_disk(machine: Machine) -> None:
    machine.disk("dm-0", "253:0", below=["sdb1"], files={"dm/name": "vg-root"})
    machine.disk("dm-1", "253:1", below=["sdb1"], files={"dm/name": "vg-scratch"})
    machine.disk("dm-2", "253:2", below=["sdc"], files={"dm/name": "other"})
    machine.mounts("253:0 / /")
    assert rules(machine, "253:1") == ["root"]
    assert rules(machine, "253:2") == []


def test_a_mount_of_a_partition_uses_the_disk_and_one_of_the_disk_its_partitions(machine: Machine) -> None:
    machine.mounts("8:1 / /", "8:17 / /data")
    assert rules(machine, "8:16") == rules(machine, "8:17") == ["mounted"]
    machine.mounts("8:1 / /", "8:16 / /data")
    assert rules(machine, "8:17") == ["mounted"]


def test_a_mount_in_another_namespace_counts(machine: Machine) -> None:
    machine.mounts("8:32 / /in\\040container", process="4711")
    found = disk("8:32", machine.root)
    assert found is not None
    uses = device_uses(found, machine.root)
    assert [use.rule for use in uses] == ["mounted"]
    assert "/in container of another process" in uses[0].what


def test_members_of_md_and_dm_are_held(machine: Machine) -> None:
    machine.disk("md0", "9:0", below=["sdb1"], files={"md/level": "raid5"})
    machine.disk("dm-0", "253:0", below=["sdc"], files={"dm/name": "vg-home"})
    assert rules(machine, "8:17") == rules(machine, "8:16") == ["md"]
    assert rules(machine, "8:32") == ["dm"]
    assert rules(machine, "9:0") == rules(machine, "253:0") == []


def test_swap_on_a_partition_is_found(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write("proc/swaps", "Filename Type Size Used Priority\n/dev/sdb1 partition 1 0 -2\n")
    monkeypatch.setattr("iojoule.host.usage.number_of", lambda path: {"/dev/sdb1": "8:17"}.get(str(path)))
    assert rules(machine, "8:16") == ["swap"]


def test_every_device_of_a_mounted_btrfs_is_in_use(machine: Machine) -> None:
    for name, number in [("sdb1", "8:17"), ("sdc", "8:32")]:
        machine.write(f"sys/fs/btrfs/0f-0e/devices/{name}/dev", number)
    assert rules(machine, "8:32") == rules(machine, "8:17") == ["btrfs"]


def test_the_root_disks_of_an_encrypted_mirror_are_both_disks(machine: Machine) -> None:
    machine.disk("md0", "9:0", below=["sdb1", "sdc"])
    machine.disk("dm-0", "253:0", below=["md0"])
    machine.mounts("253:0 / /")
    assert root_disks(machine.root) >= {"253:0", "9:0", "8:16", "8:32"}
    assert "root" in rules(machine, "8:32")
    assert "root" in rules(machine, "9:0")
    assert rules(machine, "8:2") == []


def test_all_devices_of_a_btrfs_that_is_the_root_are_root_disks(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.mounts("0:31 / /", source="/dev/sdb1", kind="btrfs")
    monkeypatch.setattr("iojoule.host.usage.number_of", lambda path: {"/dev/sdb1": "8:17"}.get(str(path)))
    for name, number in [("sdb1", "8:17"), ("sdc", "8:32")]:
        machine.write(f"sys/fs/btrfs/0f-0e/devices/{name}/dev", number)
    assert root_disks(machine.root) == {"8:17", "8:16", "8:32"}
