"""Devices that fail, lie, hang and vanish: all of it is in the record, and the load goes on or ends by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO, ENOSPC, ENOTCONN
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from conftest import ROOT, lacking
from e2e.faulty import MIB, FaultyDevice, load, mounted
from e2e.loops import Loops

pytestmark = pytest.mark.e2e

READ: dict[str, Any] = {"mix": {"write": 0.0}}
WRITE: dict[str, Any] = {"mix": {"write": 1.0}}
BLOCKS = MIB // 4096
# Of the block the faults below are about.
AT = 40 * 4096


@pytest.fixture(scope="session")
def program(require: Callable[[str, str], str]) -> Path:
    """The faulty device, built."""
    if os.geteuid() or not Path("/dev/fuse").exists():
        lacking("/dev/fuse", "run as root with the fuse module")
    cargo = require("cargo", "rustup (https://rustup.rs)")
    build = [cargo, "build", "--quiet", "--release", "--locked", "-p", "iojoule-load", "--example", "faulty_device"]
    subprocess.run(build, cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release/examples/faulty_device")


@contextmanager
def ending(device: FaultyDevice, *, after_s: float) -> Iterator[None]:
    """The device vanishes after a while, if the body takes that long."""
    timer = Timer(after_s, device.vanish)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


@pytest.fixture
def device(program: Path, tmp_path: Path) -> Iterator[FaultyDevice]:
    with mounted(program, tmp_path) as made:
        yield made


def spec(folder: Path) -> dict[str, Any]:
    return {"state": str(folder / "state"), "block_bytes": 4096}


def corrupt(rows: list[dict[str, Any]]) -> list[int]:
    """Where it was, in order."""
    return sorted(row["offset"] for row in rows if row["error"] == "corrupt")


def test_a_lost_write_is_found_when_it_is_read(device: FaultyDevice, tmp_path: Path) -> None:
    load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    device.faults(f"lost {AT} {AT + 1}")
    wrote, _ = load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    assert device.hits() == [1]
    assert (wrote["succeeded"], wrote["errors"]) == (BLOCKS, {})
    read, rows = load(tmp_path, device.path, READ, verify=spec(tmp_path))
    assert (read["verified"], read["corrupt"]) == (BLOCKS, 1), read["corruptions"]
    assert corrupt(rows) == [AT]


def test_a_misplaced_write_is_found_where_it_went_and_where_it_should_be(device: FaultyDevice, tmp_path: Path) -> None:
    load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    device.faults(f"misplaced {AT} {AT + 1} {64 * 4096}")
    # Only the blocks up to that one: what it lands on is not written again.
    load(tmp_path, device.path, WRITE | {"region": {"bytes": AT + 4096}}, verify=spec(tmp_path), requests=41)
    assert device.hits() == [1]
    read, rows = load(tmp_path, device.path, READ, verify=spec(tmp_path))
    assert corrupt(rows) == [AT, AT + 64 * 4096], read["corruptions"]
    assert read["corrupt"] == 2


@pytest.mark.parametrize("bit", [AT, AT + 100, AT + 4095])
def test_a_flipped_bit_is_found_wherever_it_is(device: FaultyDevice, tmp_path: Path, bit: int) -> None:
    load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    device.faults(f"flip {bit} {bit + 1}")
    read, rows = load(tmp_path, device.path, READ, verify=spec(tmp_path))
    assert device.hits() == [1]
    assert (read["verified"], read["corrupt"]) == (BLOCKS, 1)
    assert corrupt(rows) == [AT]
    assert read["errors"] == {"corrupt": 1}


def test_a_stale_block_is_found_though_it_is_sound(device: FaultyDevice, tmp_path: Path) -> None:
    load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    device.faults(f"stale {AT} {AT + 4096}")
    load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    read, rows = load(tmp_path, device.path, READ, verify=spec(tmp_path))
    assert corrupt(rows) == [AT]
    assert read["corrupt"] == 1


def test_a_sound_device_has_nothing_corrupt(device: FaultyDevice, tmp_path: Path) -> None:
    load(tmp_path, device.path, WRITE, verify=spec(tmp_path))
    read, _ = load(tmp_path, device.path, READ, verify=spec(tmp_path))
    assert (read["verified"], read["corrupt"], read["errors"]) == (BLOCKS, 0, {})


@pytest.mark.parametrize(
    ("fault", "work", "errno", "name"),
    [("fail-read", READ, EIO, "EIO"), ("fail-write", WRITE, EIO, "EIO"), ("fail-write", WRITE, ENOSPC, "ENOSPC")],
)
@pytest.mark.parametrize("engine", ["io_uring", "threads"])
def test_what_a_device_refuses_is_recorded_with_its_errno_and_the_load_goes_on(
    device: FaultyDevice, tmp_path: Path, fault: str, work: dict[str, Any], errno: int, name: str, engine: str
) -> None:
    device.faults(f"{fault} {AT} {AT + 3 * 4096} {errno}")
    summary, rows = load(tmp_path, device.path, work, engine=engine)
    failed = [row for row in rows if row["error"]]
    assert sorted(row["offset"] for row in failed) == [AT, AT + 4096, AT + 2 * 4096]
    assert {(row["error"], row["status"], row["bytes"]) for row in failed} == {("io", errno, 0)}
    assert len(rows) == BLOCKS
    assert (summary["succeeded"], summary["errors"], summary["errnos"]) == (BLOCKS - 3, {"io": 3}, {name: 3})


# Not short writes through the ring: of a short answer to an asynchronous write the kernel's FUSE makes EIO.
@pytest.mark.parametrize(
    ("fault", "work", "engine"),
    [("short-read", READ, "io_uring"), ("short-read", READ, "threads"), ("short-write", WRITE, "threads")],
)
def test_what_came_short_is_recorded_with_the_bytes_that_came(
    device: FaultyDevice, tmp_path: Path, fault: str, work: dict[str, Any], engine: str
) -> None:
    device.faults(f"{fault} {AT} {AT + 1}")
    summary, rows = load(tmp_path, device.path, work, engine=engine)
    (short,) = (row for row in rows if row["error"])
    assert (short["offset"], short["error"]) == (AT, "short_io")
    # The kernel's ring asks again for what a file gave too little of.
    assert short["bytes"] == 2048 if engine == "threads" else 2048 <= short["bytes"] < 4096
    assert (summary["succeeded"], summary["errors"]) == (BLOCKS - 1, {"short_io": 1})


def test_a_request_that_is_never_answered_ends_with_the_load(device: FaultyDevice, tmp_path: Path) -> None:
    device.faults(f"hang {AT} {AT + 1}")
    # Should the load hang too, this ends it, with another error.
    with ending(device, after_s=10):
        summary, rows = load(tmp_path, device.path, READ, drain_ns=500_000_000)
    assert [row["offset"] for row in rows if row["error"]] == [AT]
    assert {row["error"] for row in rows if row["error"]} <= {"client_stop", "timeout"}
    assert summary["warnings"]


def test_a_device_that_vanishes_leaves_errors_and_a_warning(device: FaultyDevice, tmp_path: Path) -> None:
    device.faults(f"slow 0 {MIB} 20")
    with ending(device, after_s=0.4):
        summary, rows = load(tmp_path, device.path, READ, requests=None, duration_ns=1_000_000_000)
    errors = [row for row in rows if row["error"]]
    assert summary["succeeded"] > 0
    assert errors
    assert {row["error"] for row in errors} == {"io"}
    assert ENOTCONN in {row["status"] for row in errors}
    assert summary["warnings"]


def test_a_loop_device_whose_file_loses_its_end_leaves_errors(tmp_path: Path) -> None:
    with Loops(tmp_path) as loops:
        file = loops.file(MIB)
        block = loops.device(backing=file)
        os.truncate(file, MIB // 2)
        summary, rows = load(tmp_path, block, READ)
    lost = {row["offset"] for row in rows if row["error"]}
    assert lost == set(range(MIB // 2, MIB, 4096))
    assert {row["status"] for row in rows if row["error"]} == {EIO}
    assert summary["errnos"] == {"EIO": BLOCKS // 2}


def test_the_errors_of_the_disk_below_reach_the_load_through_a_block_device(
    device: FaultyDevice, tmp_path: Path
) -> None:
    with Loops(tmp_path) as loops:
        block = loops.device(0, "--direct-io=on", backing=device.path)
        # Requests the kernel joins on their way down fail together: each is to stand for itself.
        Path("/sys/block", block.name, "queue/nomerges").write_text("2")
        device.faults(f"fail-read {AT} {AT + 1} {EIO}")
        summary, rows = load(tmp_path, block, READ)
    assert [(row["offset"], row["status"]) for row in rows if row["error"]] == [(AT, EIO)]
    assert summary["errnos"] == {"EIO": 1}
