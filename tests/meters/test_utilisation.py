"""The model of power from activity: exact in its own terms, and never taken for a measurement."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from kernel_tree import Tree
from pydantic import ValidationError

from iojoule.meters import parse_meter
from iojoule.meters.base import Reading, Reconnect
from iojoule.meters.blockdev import device_of
from iojoule.meters.utilisation import Utilisation

MODEL = {
    "idle_w": 30,
    "cpu_w": 40,
    "u_rel": 0.2,
    "disks": {"sda": {"active_w": 9, "idle_w": 5}, "sdb": {"active_w": 4}},
}


def diskstats(**io_ticks: int) -> str:
    return "\n".join(
        f"   8  {n} {name} 1 2 3 4 5 6 7 8 0 {ms} 12 0 0 0 0" for n, (name, ms) in enumerate(io_ticks.items())
    )


def proc(sda: int, sdb: int, user: int, idle: int, steal: int = 0) -> dict[str, object]:
    return {"diskstats": diskstats(sda=sda, sdb=sdb), "stat": f"cpu  {user} 0 0 {idle} 0 0 0 {steal} 0 0\ncpu0 0 0"}


def opened(root: Path, **keys: object) -> Utilisation:
    driver = Utilisation(parse_meter({"kind": "utilisation", "proc": str(root)} | MODEL | keys))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    return driver


def readings(driver: Utilisation) -> dict[str, Reading]:
    return {reading.channel: reading for reading in driver.next(0)}


def busy(reading: Reading, milliseconds: int) -> float:
    """The busy share the window of this reading makes of ``milliseconds``."""
    return milliseconds / ((reading.end_ns - reading.start_ns) * 1e-6)


def test_power_is_idle_plus_busy_times_the_rise(tree: Tree) -> None:
    driver = opened(tree(proc(1000, 500, 100, 100)))
    time.sleep(0.05)
    tree(proc(1020, 500, 150, 150))
    seen = readings(driver)
    share = busy(seen["disk.sda"], 20)
    assert seen["disk.sda"].value == pytest.approx(5 + 4 * share, rel=0.02)
    assert seen["disk.sdb"].value == 0.0
    assert seen["cpu"].value == pytest.approx(20.0)
    assert seen["system"].value == pytest.approx(30 + 20 + 4 * share, rel=0.02)


def test_every_reading_says_that_it_is_modelled(tree: Tree) -> None:
    driver = opened(tree(proc(0, 0, 0, 0)))
    tree(proc(0, 0, 50, 50))
    assert all("modelled" in reading.quality for reading in driver.next(0))
    assert {channel.boundary for channel in driver.describe().channels} == {"modelled"}


def test_the_system_contains_its_parts(tree: Tree) -> None:
    found = {channel.id: channel for channel in opened(tree(proc(0, 0, 0, 0))).describe().channels}
    assert set(found["system"].contains) == {"cpu", "disk.sda", "disk.sdb"}
    assert (found["disk.sda"].role, found["disk.sda"].drive) == ("drive", "sda")


def test_busy_time_of_a_disk_wraps_at_32_bits(tree: Tree) -> None:
    driver = opened(tree(proc(2**32 - 5, 0, 0, 0)))
    time.sleep(0.05)
    tree(proc(5, 0, 0, 10))
    seen = readings(driver)["disk.sda"]
    assert seen.value == pytest.approx(5 + 4 * busy(seen, 10), rel=0.02)


def test_time_stolen_by_the_hypervisor_is_not_work(tree: Tree) -> None:
    driver = opened(tree(proc(0, 0, 0, 0)))
    tree(proc(0, 0, 25, 25, steal=50))
    assert readings(driver)["cpu"].value == pytest.approx(10.0)


def test_a_window_too_short_for_the_kernels_tick_is_invalid_not_zero(tree: Tree) -> None:
    driver = opened(tree(proc(0, 0, 7, 7)))
    seen = readings(driver)
    assert not seen["cpu"].good and not seen["system"].good and seen["disk.sda"].good


def test_a_disk_that_vanishes_spoils_its_own_channel_and_the_total(tree: Tree) -> None:
    driver = opened(tree(proc(0, 0, 0, 0)))
    tree(proc(0, 0, 10, 10) | {"diskstats": diskstats(sda=0)})
    seen = readings(driver)
    assert not seen["disk.sdb"].good and not seen["system"].good and seen["disk.sda"].good


def test_a_disk_that_is_not_there_is_named_with_those_that_are(tree: Tree) -> None:
    with pytest.raises(Reconnect, match=r"no disk sdz .*there are: sda, sdb"):
        opened(tree(proc(0, 0, 0, 0)), disks={"sdz": {"active_w": 1}})


def test_the_uncertainty_of_a_model_must_be_stated() -> None:
    with pytest.raises(ValidationError, match="u_rel"):
        parse_meter({"kind": "utilisation", "idle_w": 30})


def test_idle_disks_cannot_take_more_than_the_idle_system() -> None:
    with pytest.raises(ValidationError, match="its disks alone take 7 W"):
        parse_meter(MODEL | {"kind": "utilisation", "idle_w": 6, "disks": {"sda": {"active_w": 9, "idle_w": 7}}})


def test_the_disk_of_a_path_is_found_or_said_to_be_none(tmp_path: Path) -> None:
    name, how = device_of(tmp_path)
    disks = [line.split()[2] for line in Path("/proc/diskstats").read_text().splitlines()]
    assert (name in disks and "holds" in how) or (name is None and "no disk" in how)


def test_a_path_in_memory_is_on_no_disk(tree: Tree) -> None:
    root = tree(proc(0, 0, 0, 0) | {"self/mountinfo": "30 1 0:5 / /proc rw shared:5 - proc proc rw"})
    driver = opened(root, disks={"auto": {"active_w": 9}}, path="/proc")
    assert [channel.id for channel in driver.describe().channels] == ["cpu", "system"]
    assert driver.describe().identity["auto"] == "no disk: /proc is on proc"
