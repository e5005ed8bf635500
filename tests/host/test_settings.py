"""Settings of a disk are changed where they act, in the order in which they hold, and all put back together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from host.kernel_tree import Machine
from iojoule.errors import ConfigError
from iojoule.host.disk import Disk, disk
from iojoule.host.journal import NAME, Journal, unrestored
from iojoule.host.restore import undo
from iojoule.host.settings import change_settings, in_force

QUEUE = {"scheduler": "none", "nr_requests": "64", "read_ahead_kb": "128", "write_cache": "write back"}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def made(machine: Machine, number: str = "8:0", **files: str) -> Disk:
    queue = {f"queue/{name}": value for name, value in QUEUE.items()}
    machine.disk("sda", "8:0", parts={"sda1": "8:1"}, files=queue | files)
    found = disk(number, machine.root)
    assert found is not None
    return found


def test_what_is_set_on_a_partition_is_set_on_its_disk(machine: Machine, tmp_path: Path) -> None:
    partition = made(machine, "8:1")
    with Journal(tmp_path / NAME) as journal:
        change = change_settings(partition, {"read_ahead_kb": "0"}, journal)
        assert in_force(partition)["read_ahead_kib"] == 0
        assert undo(change, journal=journal).result == "restored"
    assert in_force(partition)["read_ahead_kib"] == 128
    assert unrestored(tmp_path / NAME) == []


def test_the_write_cache_of_a_scsi_drive_is_asked_of_the_drive(machine: Machine, tmp_path: Path) -> None:
    cache = "device/scsi_disk/0:0:0:0/cache_type"
    drive = made(machine, **{cache: "write back"})
    with Journal(tmp_path / NAME) as journal:
        change = change_settings(drive, {"write_cache": "write through"}, journal)
        assert (drive.folder / cache).read_text() == "write through"
        assert in_force(drive)["write_cache"] == "write through"
        assert (drive.folder / "queue/write_cache").read_text() == "write back\n"
        undo(change, journal=journal)
    assert (drive.folder / cache).read_text() == "write back"


def test_read_ahead_is_set_and_put_back_last(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that raises a small read-ahead when another limit of the queue is set (blk_apply_bdi_limits)."""
    drive = made(machine)
    read_ahead = drive.folder / "queue/read_ahead_kb"
    plain = Path.write_text

    def kernel(path: Path, text: str, *more: Any, **named: Any) -> int:
        if path.parent.name == "queue" and path != read_ahead:
            plain(read_ahead, str(max(256, int(read_ahead.read_text()))))
        return plain(path, text, *more, **named)

    monkeypatch.setattr(Path, "write_text", kernel)
    with Journal(tmp_path / NAME) as journal:
        wanted = {"read_ahead_kb": "16", "scheduler": "bfq", "write_cache": "write through"}
        change = change_settings(drive, wanted, journal)
        assert read_ahead.read_text() == "16"
        assert undo(change, journal=journal).result == "restored"
        assert read_ahead.read_text() == "128"
        # Not asked for, it stays as it was through the others.
        change = change_settings(drive, {"scheduler": "bfq"}, journal)
        assert read_ahead.read_text() == "128"
        undo(change, journal=journal)
    assert read_ahead.read_text() == "128"
    assert (drive.folder / "queue/scheduler").read_text() == "none"


def test_what_a_disk_does_not_have_cannot_be_set(machine: Machine, tmp_path: Path) -> None:
    drive = made(machine)
    (drive.folder / "queue/scheduler").unlink()
    with Journal(tmp_path / NAME) as journal, pytest.raises(ConfigError, match="has no scheduler"):
        change_settings(drive, {"scheduler": "none"}, journal)
    assert unrestored(tmp_path / NAME) == []


@pytest.mark.parametrize("gone", ["folder", "entry"])
def test_a_disk_that_is_gone_or_replaced_is_not_touched(gone: str, machine: Machine, tmp_path: Path) -> None:
    drive = made(machine)
    with Journal(tmp_path / NAME) as journal:
        change = change_settings(drive, {"read_ahead_kb": "0"}, journal)
        change.facts[gone] = str(tmp_path / "nowhere") if gone == "folder" else -1
        assert undo(change, journal=journal).result == "gone"
    assert (drive.folder / "queue/read_ahead_kb").read_text() == "0"
