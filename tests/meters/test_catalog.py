"""The list of meters says what each driver's own file says, and what is attached is what the kernel shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from kernel_tree import Tree

from iojoule.meters.attached import places
from iojoule.meters.catalog import BOUNDARIES, catalog, entry
from iojoule.meters.table import DRIVERS


@pytest.mark.parametrize("kind", DRIVERS)
def test_every_driver_says_what_it_is_and_where_its_boundary_lies(kind: str) -> None:
    one = entry(kind)
    assert len(one.about) > 10
    # A meter of another machine has the boundary it has there.
    assert (one.boundaries or kind == "remote") and set(one.boundaries) <= set(BOUNDARIES)
    assert one.page == f"docs/meters/{kind}.md"


def test_what_a_driver_imports_through_others_is_needed_too() -> None:
    assert "pyvisa" in entry("yokogawa_wt310").needs
    assert entry("powercap").needs == ()
    assert [one.kind for one in catalog()] == sorted(DRIVERS)


def test_nothing_attached_is_said_so(tmp_path: Path) -> None:
    assert all(place.found == () for place in places(tmp_path))


def test_what_the_kernel_shows_is_found_by_name(tmp_path: Path, tree: Tree) -> None:
    root = tree(
        {
            "sys/class/powercap/intel-rapl:0/name": "package-0",
            "sys/class/powercap/intel-rapl:0/energy_uj": "1",
            "sys/class/powercap/intel-rapl/enabled": "1",
            "sys/class/hwmon/hwmon0/name": "ina226",
            "sys/class/hwmon/hwmon0/power1_input": "1",
            "sys/class/hwmon/hwmon1/name": "coretemp",
            "sys/class/hwmon/hwmon1/temp1_input": "1",
            "dev/ttyUSB0": "",
            "dev/usbtmc1": "",
        }
    )
    found = {place.name: place.found for place in places(root) if place.found}
    assert found == {
        "powercap": ("package-0 (intel-rapl:0)",),
        "hwmon": ("ina226 (hwmon0)",),
        "serial ports": ("/dev/ttyUSB0",),
        "USB-TMC instruments": ("/dev/usbtmc1",),
    }
