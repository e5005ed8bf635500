"""RAPL through powercap: each domain once, each step modulo its register, the first look no consumption."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kernel_tree import Tree

from iojoule.meters import parse_meter
from iojoule.meters.base import Channel, Fatal, Reading, Reconnect
from iojoule.meters.powercap import Powercap

MAX_UJ = 262_143_328_850


def zone(place: str, name: str, count_uj: int) -> dict[str, object]:
    return {f"{place}/name": name, f"{place}/energy_uj": count_uj, f"{place}/max_energy_range_uj": MAX_UJ}


SERVER = (
    zone("intel-rapl:0", "package-0", 1_000_000)
    | zone("intel-rapl:0:0", "core", 400_000)
    | zone("intel-rapl:0:1", "dram", 200_000)
    | zone("intel-rapl:1", "package-1", 0)
)


def opened(root: Path, **keys: object) -> Powercap:
    driver = Powercap(parse_meter({"kind": "powercap", "root": str(root), **keys}))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    return driver


def channels(driver: Powercap) -> dict[str, Channel]:
    return {channel.id: channel for channel in driver.describe().channels}


def steps(driver: Powercap) -> dict[str, Reading]:
    return {reading.channel: reading for reading in driver.next(0)}


def test_nested_domains_are_not_counted_twice(tree: Tree) -> None:
    found = channels(opened(tree(SERVER | zone("psys-x", "ignored", 0))))
    assert set(found) == {"package-0", "package-0.core", "package-0.dram", "package-1"}
    inside = {name for channel in found.values() for name in channel.contains}
    assert set(found) - inside == {"package-0", "package-0.dram", "package-1"}


def test_a_zone_shown_flat_and_nested_is_read_once(tree: Tree) -> None:
    root = tree(
        SERVER | zone("intel-rapl/intel-rapl:0", "package-0", 5) | zone("intel-rapl:0/intel-rapl:0:0", "core", 5)
    )
    assert len(channels(opened(root))) == 4


def test_the_platform_holds_all_other_domains(tree: Tree) -> None:
    found = channels(opened(tree(SERVER | zone("intel-rapl:2", "psys", 9))))
    assert set(found["psys"].contains) == set(found) - {"psys"}


def test_the_same_registers_through_mmio_are_left_out_and_named(tree: Tree) -> None:
    driver = opened(tree(SERVER | zone("intel-rapl-mmio:0", "package-0", 7)))
    assert len(channels(driver)) == 4
    assert driver.describe().identity["left_out_as_mirrors"] == ["intel-rapl-mmio:0"]
    assert driver.describe().identity["zones"]["package-0"] == "intel-rapl:0"


def test_mmio_alone_is_read(tree: Tree) -> None:
    assert set(channels(opened(tree(zone("intel-rapl-mmio:0", "package-0", 7))))) == {"package-0"}


def test_first_counter_reading_is_no_consumption(tree: Tree) -> None:
    root = tree(SERVER)
    driver = opened(root)
    tree({"intel-rapl:0/energy_uj": 1_500_000})
    assert steps(driver)["package-0"].value == pytest.approx(0.5)


def test_a_step_of_zero_is_not_dropped(tree: Tree) -> None:
    still = steps(opened(tree(SERVER)))["package-1"]
    assert still.value == 0.0 and still.good and still.flags == ""


def test_a_wrapped_counter_is_corrected_and_flagged(tree: Tree) -> None:
    root = tree(SERVER | {"intel-rapl:0/energy_uj": 262_143_328_000})
    driver = opened(root)
    tree({"intel-rapl:0/energy_uj": 1000})
    seen = steps(driver)["package-0"]
    assert seen.value == pytest.approx(0.00191136, rel=1e-9) and seen.flags == "wrapped"


def test_a_gap_longer_than_half_a_register_is_doubted(tree: Tree) -> None:
    driver = opened(tree(SERVER), p_max_w=1e12)
    assert "wrap_uncertain" in steps(driver)["package-0"].quality


def test_windows_of_a_counter_leave_no_gap(tree: Tree) -> None:
    driver = opened(tree(SERVER))
    first, second = steps(driver)["package-0"], steps(driver)["package-0"]
    assert first.end_ns == second.start_ns


def test_a_register_that_fails_costs_the_others_nothing(tree: Tree) -> None:
    root = tree(SERVER)
    driver = opened(root)
    tree({"intel-rapl:0/energy_uj": 1_250_000})
    (root / "intel-rapl:1/energy_uj").rename(root / "away")
    with pytest.raises(Reconnect):
        driver.next(0)
    (root / "away").rename(root / "intel-rapl:1/energy_uj")
    assert steps(driver)["package-0"].value == pytest.approx(0.25)


def test_a_counter_only_root_may_read_names_the_command_that_helps(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root, plain = tree(SERVER), os.open

    def refused(path: Path, *args: int) -> int:
        if Path(path).name == "energy_uj":
            raise PermissionError(13, "Permission denied")
        return plain(path, *args)

    monkeypatch.setattr(os, "open", refused)
    with pytest.raises(Fatal, match=r"chmod a\+r"):
        opened(root)


def test_a_machine_without_counters_says_so(tree: Tree) -> None:
    with pytest.raises(Fatal, match="no energy counters"):
        opened(tree({"empty": ""}))


def test_counters_that_were_there_are_waited_for(tree: Tree) -> None:
    root = tree(SERVER)
    driver = opened(root)
    driver.close()
    root.rename(root.with_name("gone"))
    with pytest.raises(Reconnect, match="are gone"):
        driver.configure()
