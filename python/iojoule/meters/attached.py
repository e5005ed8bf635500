"""What could be read on this machine: the places where the kernel shows meters and the ports they are plugged into."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """One kind of attachment: what was found, and which drivers could read it. ``note`` says what stands in the way."""

    name: str
    looked_in: str
    found: tuple[str, ...]
    kinds: tuple[str, ...]
    note: str = ""


def places(root: Path = Path("/")) -> list[Place]:
    """Everything that was looked for below ``root``, found or not; nothing is opened, only listed."""
    powercap = [zone for zone in _under(root, "sys/class/powercap", "*:*") if (zone / "energy_uj").exists()]
    closed = [zone for zone in powercap if not os.access(zone / "energy_uj", os.R_OK)]
    hwmon = [chip for chip in _under(root, "sys/class/hwmon", "hwmon*") if _measures_power(chip)]
    serial = [port for pattern in ("ttyUSB*", "ttyACM*") for port in _under(root, "dev", pattern)]
    return [
        Place(
            "powercap",
            "/sys/class/powercap",
            tuple(_named(zone) for zone in powercap),
            ("powercap",),
            "may not be read by this user: sudo chmod a+r /sys/class/powercap/*/energy_uj" if closed else "",
        ),
        Place("hwmon", "/sys/class/hwmon", tuple(_named(chip) for chip in hwmon), ("hwmon",)),
        Place(
            "perf energy events",
            "/sys/bus/event_source/devices/power",
            tuple(
                event.name
                for event in _under(root, "sys/bus/event_source/devices/power/events", "energy-*")
                if not event.suffix
            ),
            ("perf_energy",),
        ),
        Place(
            "serial ports",
            "/dev/ttyUSB*, /dev/ttyACM*",
            tuple(f"/dev/{port.name}" for port in serial),
            ("yokogawa_wt210", "yokogawa_wt310", "keysight_34970a", "keithley_2700", "scpi", "sigrok", "modbus"),
        ),
        Place(
            "USB-TMC instruments",
            "/dev/usbtmc*",
            tuple(f"/dev/{device.name}" for device in _under(root, "dev", "usbtmc*")),
            ("yokogawa_wt310", "scpi", "sigrok"),
        ),
        Place(
            "GPIB boards",
            "/dev/gpib*",
            tuple(f"/dev/{board.name}" for board in _under(root, "dev", "gpib*")),
            ("yokogawa_wt210", "keysight_34970a", "keithley_2700", "scpi"),
        ),
        Place(
            "IPMI controller",
            "/dev/ipmi*",
            tuple(f"/dev/{device.name}" for device in _under(root, "dev", "ipmi[0-9]*")),
            ("ipmi",),
        ),
        Place(
            "NVMe drives",
            "/sys/class/nvme",
            tuple(f"/dev/{drive.name}" for drive in _under(root, "sys/class/nvme", "nvme*")),
            ("nvme",),
        ),
    ]


def _under(root: Path, folder: str, pattern: str) -> Iterator[Path]:
    place = root / folder
    return iter(sorted(place.glob(pattern)) if place.is_dir() else ())


def _measures_power(chip: Path) -> bool:
    return any(
        next(chip.glob(pattern), None) for pattern in ("power*_input", "power*_average", "energy*_input", "curr*")
    )


def _named(entry: Path) -> str:
    try:
        return f"{(entry / 'name').read_text().strip()} ({entry.name})"
    except OSError:
        return entry.name
