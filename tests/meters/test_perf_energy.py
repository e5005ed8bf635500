"""Energy events of perf: the PMU's own words for event, scale and processor, and counts that never wrap."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from kernel_tree import Tree

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.perf_energy import KernelEvents, PerfEnergy

SCALE = "2.3283064365386962890625e-10"  # 2^-32, as the kernel writes it
EVENTS = {"cores": 1, "pkg": 2, "ram": 3, "gpu": 4, "psys": 5}


def pmu(*domains: str, cpumask: str = "0") -> dict[str, object]:
    files: dict[str, object] = {"power/type": 22, "power/cpumask": cpumask, "power/format/event": "config:0-7"}
    for domain in domains:
        name = f"power/events/energy-{domain}"
        files |= {name: f"event=0x{EVENTS[domain]:02x}", f"{name}.unit": "Joules", f"{name}.scale": SCALE}
    return files


class Transcript:
    """perf_event_open played back: what is opened is written down, counts come from a script."""

    def __init__(self, *counts: int | OSError, refuse: int = 0) -> None:
        self.counts, self.refuse = list(counts), refuse
        self.opened: list[tuple[int, int, int]] = []
        self.closed: list[int] = []

    def open(self, pmu: int, config: int, cpu: int) -> int:
        if self.refuse:
            raise OSError(self.refuse, os.strerror(self.refuse))
        self.opened.append((pmu, config, cpu))
        return 100 + len(self.opened)

    def count(self, fd: int) -> int:
        said = self.counts.pop(0)
        if isinstance(said, OSError):
            raise said
        return said

    def close(self, fd: int) -> None:
        self.closed.append(fd)


def opened(root: Path, events: Transcript, **keys: object) -> PerfEnergy:
    driver = PerfEnergy(parse_meter({"kind": "perf_energy", "root": str(root), **keys}), link=events)  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    return driver


def steps(driver: PerfEnergy) -> dict[str, Reading]:
    return {reading.channel: reading for reading in driver.next(0)}


def test_packages_whose_processors_are_neighbours_are_all_read(tree: Tree) -> None:
    """Where a board interleaves its packages the kernel lists them as a range."""
    events = Transcript(*[0] * 5)
    driver = opened(tree(pmu("pkg", "ram", "psys", cpumask="0-1")), events)
    assert [cpu for _, _, cpu in events.opened] == [0, 0, 0, 1, 1]
    contains = {channel.id: set(channel.contains) for channel in driver.describe().channels}
    assert contains["psys"] == {"pkg0", "pkg1", "ram0", "ram1"}


def test_every_domain_is_opened_on_one_processor_of_each_package(tree: Tree) -> None:
    events = Transcript(*range(5))
    driver = opened(tree(pmu("pkg", "ram", "psys", cpumask="0,18")), events)
    assert events.opened == [(22, 2, 0), (22, 5, 0), (22, 3, 0), (22, 2, 18), (22, 3, 18)]
    assert [channel.id for channel in driver.describe().channels] == ["pkg0", "psys", "ram0", "pkg1", "ram1"]
    driver.close()
    assert events.closed == [101, 102, 103, 104, 105] and events.counts == []


def test_a_total_counts_nested_domains_once(tree: Tree) -> None:
    driver = opened(tree(pmu(*EVENTS)), Transcript(*range(5)))
    contains = {channel.id: set(channel.contains) for channel in driver.describe().channels}
    assert contains["pkg0"] == {"cores0", "gpu0"}
    assert contains["psys"] == {"pkg0", "cores0", "gpu0", "ram0"}
    assert contains["ram0"] == set()


def test_counts_become_joules_by_the_scale_and_the_first_count_is_no_consumption(tree: Tree) -> None:
    driver = opened(tree(pmu("pkg")), Transcript(7 * 2**32, 19 * 2**32, 19 * 2**32))
    assert steps(driver)["pkg0"].value == 12.0
    assert steps(driver)["pkg0"].value == 0.0


def test_a_count_beyond_53_bits_keeps_its_last_digit(tree: Tree) -> None:
    driver = opened(tree(pmu("pkg")), Transcript(2**62, 2**62 + 1))
    assert steps(driver)["pkg0"].value == 2.0**-32


def test_a_count_that_fell_is_not_a_measurement(tree: Tree) -> None:
    driver = opened(tree(pmu("pkg")), Transcript(2**40, 5))
    assert steps(driver)["pkg0"].flags == "invalid wrap_uncertain"


def test_a_failing_event_leaves_no_half_advanced_neighbours(tree: Tree) -> None:
    gone = OSError(errno.ENODEV, "No such device")
    driver = opened(tree(pmu("pkg", "ram")), Transcript(0, 0, 2**32, gone, 3 * 2**32, 2**32))
    with pytest.raises(Reconnect, match="ram0"):
        driver.next(0)
    assert {name: reading.value for name, reading in steps(driver).items()} == {"pkg0": 3.0, "ram0": 1.0}


def test_without_permission_the_message_says_how_to_get_it(tree: Tree) -> None:
    with pytest.raises(Fatal, match="perf_event_paranoid"):
        opened(tree(pmu("pkg")), Transcript(refuse=errno.EACCES))


def test_a_machine_without_the_pmu_says_so(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match="no PMU named power"):
        opened(tmp_path, Transcript())


def test_another_unit_than_joules_is_refused(tree: Tree) -> None:
    with pytest.raises(Fatal, match="not Joules"):
        opened(tree(pmu("pkg") | {"power/events/energy-pkg.unit": "Watts"}), Transcript())


def test_the_system_call_reads_a_software_event_of_this_kernel() -> None:
    """The same path as energy events take, on a PMU that every kernel has: type 1, config 0 is the CPU clock in ns."""
    events = KernelEvents()
    try:
        fd = events.open(1, 0, 0)
    except OSError as error:
        pytest.skip(f"perf events are not to be had here: {error.strerror}")
    try:
        first = events.count(fd)
        assert events.count(fd) > first
    finally:
        events.close(fd)
