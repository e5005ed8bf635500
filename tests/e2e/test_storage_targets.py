"""Storage comes up as its section says, tells what is in force, and is gone afterwards if it was made."""

from __future__ import annotations

import errno
import os
import zlib
from pathlib import Path
from typing import Any

import pytest

from e2e.loops import MIB, Loops, run
from iojoule.errors import ConfigError, DeviceError, HostError
from iojoule.host.caches import drop_caches
from iojoule.targets import open_target, procedure, target_model
from iojoule.targets.base import Opening
from iojoule.targets.made import remove_made
from iojoule.targets.storage import Storage

pytestmark = pytest.mark.e2e


def opening(campaign: Path, *destroy: Path, writes: bool = True) -> Opening:
    folder = campaign / "runs/000/raw"
    return Opening(folder / "target", None, frozenset(destroy), writes, folder / "settings.jsonl", campaign / "targets")


def opened(kind: str, given: Opening, **keys: Any) -> Any:
    return open_target(target_model(kind)(name=kind, **keys), given)


def test_a_file_that_is_made_is_full_of_data_that_does_not_compress_and_outlives_the_step_not_the_campaign(
    tmp_path: Path,
) -> None:
    with opened("file", opening(tmp_path), size=3 * MIB) as storage:
        (path,) = storage.paths
        data = path.read_bytes()
        first = path.stat()
    assert len(data) == storage.size_bytes == 3 * MIB
    assert len(zlib.compress(data, 1)) > 0.99 * len(data)
    assert 512 * first.st_blocks >= 3 * MIB
    assert storage.warnings == []
    with opened("file", opening(tmp_path), size=3 * MIB) as again:
        assert again.paths[0].stat().st_ino == first.st_ino, "the second step takes the file of the first"
    remove_made(tmp_path / "targets")
    assert not path.exists()


def test_a_file_at_a_path_of_its_own_is_removed_unless_it_is_to_be_kept(tmp_path: Path) -> None:
    for keep in (False, True):
        path = tmp_path / f"{keep}.img"
        for _ in range(2):  # what this campaign made may be written to without being named
            with opened("file", opening(tmp_path / "c"), path=path, size=MIB, fill="zero", keep=keep):
                assert path.stat().st_size == MIB
        remove_made(tmp_path / "c/targets")
        assert path.exists() == keep
    # To the next campaign it is a file like any other.
    with pytest.raises(ConfigError, match="destroy"), opened("file", opening(tmp_path / "d"), path=path):
        pass


def test_a_sparse_file_is_said_to_be_one(tmp_path: Path) -> None:
    with opened("file", opening(tmp_path), size=MIB, fill="sparse") as storage:
        assert any("holes" in warning for warning in storage.warnings)


def test_a_file_that_does_not_fit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="does not fit"), opened("file", opening(tmp_path), size=1 << 60):
        pass
    assert list(tmp_path.rglob("*.img")) == []


def test_a_file_that_is_stopped_while_it_is_filled_leaves_nothing(tmp_path: Path) -> None:
    class Stop(Exception):  # noqa: N818
        pass

    def note(text: str) -> None:
        raise Stop

    given = Opening(tmp_path / "t", writes=True, shared=tmp_path / "targets", note=note)
    with pytest.raises(Stop), opened("file", given, size=MIB):
        pass
    assert [path for path in tmp_path.rglob("*") if path.is_file()] in (
        [],
        [tmp_path / "targets/settings.jsonl"],
    )


def test_a_file_system_without_unnamed_files_serves_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def without(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not here")
        return real(path, flags, *more, **named)

    monkeypatch.setattr(os, "open", without)
    with opened("file", opening(tmp_path), size=MIB) as storage:
        assert storage.paths[0].stat().st_size == MIB
        assert storage.paths[0].stat().st_nlink == 1
    remove_made(tmp_path / "targets")
    assert [path.name for path in (tmp_path / "targets").iterdir()] == ["settings.jsonl"]


def test_the_wrong_kind_of_thing_is_refused(loops: Loops, tmp_path: Path) -> None:
    device, file = loops.device(), loops.file()
    with pytest.raises(ConfigError, match='kind = "device"'), opened("file", opening(tmp_path), path=device):
        pass
    with pytest.raises(ConfigError, match="no block device"), opened("device", opening(tmp_path), path=file):
        pass
    with pytest.raises(ConfigError, match="is not there"), opened("device", opening(tmp_path), path=tmp_path / "sdz"):
        pass
    with pytest.raises(ConfigError, match="size"), opened("file", opening(tmp_path), path=file, size=MIB):
        pass


def test_a_directory_of_files_is_made_once_and_removed(tmp_path: Path) -> None:
    stamps = []
    for _ in range(2):
        with opened("directory", opening(tmp_path), files=7, file_size="64KiB") as storage:
            assert [path.stat().st_size for path in storage.paths] == [65536] * 7
            assert storage.size_bytes == 7 * 65536
            stamps.append([path.stat().st_mtime_ns for path in storage.paths])
    assert stamps[0] == stamps[1]
    remove_made(tmp_path / "targets")
    assert [path.name for path in (tmp_path / "targets").iterdir()] == ["settings.jsonl"]


def test_a_directory_with_other_files_is_filled_only_if_named_and_keeps_the_others(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "theirs").write_text("theirs")
    for writes in (False, True):
        with (
            pytest.raises(ConfigError, match="destroy"),
            opened("directory", opening(tmp_path, writes=writes), path=place, files=2, file_size=4096),
        ):
            pass
    with opened("directory", opening(tmp_path, place), path=place, files=2, file_size=4096) as storage:
        assert len(storage.paths) == 2
    remove_made(tmp_path / "targets")
    assert [path.name for path in place.iterdir()] == ["theirs"]
    with opened("directory", opening(tmp_path, writes=False), path=place) as storage:
        assert [path.name for path in storage.paths] == ["theirs"]


@pytest.mark.parametrize("sector", [512, 4096])
def test_a_loop_device_has_its_sector_and_its_direct_io(sector: int, loops: Loops, tmp_path: Path) -> None:
    with opened("loop", opening(tmp_path), size=4 * MIB, sector_size=sector, direct_io=True) as storage:
        (device,) = storage.paths
        assert storage.logical_block_bytes == sector
        assert run("blockdev", "--getss", device) == str(sector)
        told = storage.settings["direct_io"] or any("direct I/O" in warning for warning in storage.warnings)
        assert told, "what was not given is said"
        assert [file["path"] for file in storage.native(direct=True, writable=True)["files"]] == [str(device)]
    assert not Path("/sys/block", device.name, "loop/backing_file").exists()


def test_a_loop_device_that_vanishes_takes_nothing_with_it(loops: Loops, tmp_path: Path) -> None:
    with opened("loop", opening(tmp_path, writes=False), size=MIB, scheduler="kyber", read_ahead=0) as storage:
        run("losetup", "-d", storage.paths[0])
    scheduler = Path("/sys/block", storage.paths[0].name, "queue/scheduler")
    assert "[kyber]" not in scheduler.read_text()
    assert remove_made(tmp_path / "targets")[0].result == "restored"


def test_read_ahead_is_what_was_asked_for_and_then_as_before(loops: Loops, tmp_path: Path) -> None:
    """Also where the write cache is set: the kernel raises a small read-ahead when limits of the queue change."""
    device = loops.device(4 * MIB)
    queue = Path("/sys/block", device.name, "queue")
    (queue / "read_ahead_kb").write_text("8")
    for wanted in (0, 4096, 1 << 22):
        keys = {"read_ahead": wanted, "write_cache": "write through", "scheduler": "bfq"}
        with opened("device", opening(tmp_path, writes=False), path=device, **keys) as storage:
            assert storage.settings["read_ahead_kib"] == wanted // 1024
            assert storage.settings["write_cache"] == "write through"
            assert storage.settings["scheduler"] == "bfq"
        assert (queue / "read_ahead_kb").read_text() == "8\n"
        assert (queue / "write_cache").read_text() == "write back\n"


def test_what_a_device_does_not_take_is_refused_with_what_it_does(loops: Loops, tmp_path: Path) -> None:
    device = loops.device(4 * MIB)
    queue = Path("/sys/block", device.name, "queue")
    (queue / "read_ahead_kb").write_text("8")
    keys = {"scheduler": "elevator", "write_cache": "write through"}
    with pytest.raises(ConfigError) as refused, opened("device", opening(tmp_path, writes=False), path=device, **keys):
        pass
    assert refused.value.key == "target.scheduler"
    assert "mq-deadline" in (refused.value.allowed or [])
    assert (queue / "write_cache").read_text() == "write back\n"
    assert (queue / "read_ahead_kb").read_text() == "8\n"


def first_bytes(storage: Storage) -> bytes:
    with storage.paths[0].open("rb") as file:
        return file.read(4096)


def test_a_device_is_purged_by_discard_and_a_file_by_zeros(loops: Loops, tmp_path: Path) -> None:
    with opened("loop", opening(tmp_path), size=MIB, purge="step") as storage:
        assert any(first_bytes(storage))
        assert procedure.purge(storage) == {
            "method": "discard", "bytes": MIB, "paths": {str(storage.paths[0]): "discard"},
        }  # fmt: skip
        procedure.drop_caches(storage)
        assert not any(first_bytes(storage))
    with opened("file", opening(tmp_path), size=MIB) as storage:
        assert any(first_bytes(storage)), "what one target purges is not what another reads"
    path = tmp_path / "file"
    with opened("file", opening(tmp_path / "f"), path=path, size=MIB, purge="campaign") as storage:
        done = procedure.purge(storage)
        assert done is not None
        assert done["method"] == "zeros"
        assert not any(path.read_bytes())
        assert 512 * path.stat().st_blocks >= MIB, "it keeps its blocks"
        assert procedure.purge(storage) is None, "once a campaign"


@pytest.mark.parametrize("made", [{"size": MIB}, {"files": 2, "file_size": "64KiB"}])
def test_what_is_made_anew_in_a_campaign_that_goes_on_is_purged_again(tmp_path: Path, made: dict[str, Any]) -> None:
    kind = "file" if "size" in made else "directory"
    for _ in range(2):
        with opened(kind, opening(tmp_path), purge="campaign", **made) as storage:
            assert procedure.purge(storage) is not None
            assert procedure.purge(storage) is None
        remove_made(tmp_path / "targets")


def test_what_was_not_opened_for_writing_is_not_purged(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"data")
    with pytest.raises(DeviceError, match="not opened for writing"):
        procedure.purge(Storage("s", "file", [path], 4, 512, purge="step"))
    assert path.read_bytes() == b"data"


def cached(path: Path) -> int:
    """Pages of the file in the page cache (fincore(1))."""
    return int(run("fincore", "--noheadings", "--raw", "--output", "PAGES", path))


def test_dropped_caches_hold_nothing_of_the_target(loops: Loops, tmp_path: Path) -> None:
    with opened("file", opening(tmp_path), size=MIB) as storage:
        storage.paths[0].read_bytes()
        assert cached(storage.paths[0]) == 256
        assert procedure.drop_caches(storage) == {"dropped": ["target", "all"], "warnings": []}
        assert cached(storage.paths[0]) == 0


def test_who_may_not_drop_all_caches_is_told_so_and_drops_the_targets(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(os.urandom(MIB))
    told = drop_caches([path], root=tmp_path / "nothing")
    assert told["dropped"] == ["target"]
    assert "run as root" in told["warnings"][0]
    assert cached(path) == 0
