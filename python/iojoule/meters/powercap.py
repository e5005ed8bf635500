"""RAPL energy counters of the processor, read from the powercap tree of Linux.

Zones nest in sysfs, and the same registers may show twice (MSR, TPMI, MMIO); each is read once, and ``contains`` says
which energy is inside which. Intel SDM vol. 3B §15.10: core and uncore are inside the package, the platform (psys)
holds all of them; dram hangs under the package in sysfs, but its energy is not in the package's.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.config import MeterConfig
from iojoule.meters.counter import EnergyCounter
from iojoule.meters.sysfs import Look, look, number

_ZONE = re.compile(r"(?P<type>.+?):(?P<index>\d+(?::\d+)*)")
#: Interfaces to the same registers, the one to prefer first.
_INTERFACES = ("intel-rapl", "intel-rapl-tpmi", "intel-rapl-mmio")
#: The counters are updated about every millisecond: the count belongs to some instant in the millisecond before.
_UPDATE_NS = 1_000_000
_ALLOW = "sudo chmod a+r /sys/class/powercap/*/energy_uj"


class PowercapConfig(MeterConfig):
    kind: Literal["powercap"] = "powercap"
    root: Path = Field(default=Path("/sys/class/powercap"), description="Where the powercap tree is.")
    # Beyond half a counter's range at this power, wraps cannot be told apart.
    p_max_w: float = Field(default=1000.0, gt=0, description="The most watts one domain can draw; bounds a step.")
    # The makers state none.
    u_rel: float | None = Field(
        default=None, gt=0, le=1, description="Relative standard uncertainty of the counters, where it was measured."
    )


def modulus_nj(max_energy_range_uj: int) -> int:
    """Nanojoules at which a counter wraps.

    The register counts 2^32 units; the kernel truncates the unit to nanojoules (2^-14 J: 61.035 µJ) and the range
    2^32 - 1 units to microjoules. Where the figure is no such product, the counter is taken to run from 0 to it.
    """
    units = 2**32 - 1
    unit_nj = -(-max_energy_range_uj * 1000 // units)
    if units * unit_nj // 1000 == max_energy_range_uj:
        return (units + 1) * unit_nj
    return (max_energy_range_uj + 1) * 1000


@dataclass(frozen=True, slots=True)
class Zone:
    """One energy counter of the tree; ``names`` are its own and those of the zones around it, outermost first."""

    interface: str
    names: tuple[str, ...]
    path: Path

    @property
    def id(self) -> str:
        return ".".join(self.names)

    @property
    def is_platform(self) -> bool:
        return self.names[0].partition("@")[0] == "psys"

    def contains(self, other: Zone) -> bool:
        """Whether the energy of ``other`` is counted in this zone's too."""
        if self.is_platform:
            return not other.is_platform
        inside = len(other.names) > len(self.names) and other.names[: len(self.names)] == self.names
        return inside and other.names[-1] != "dram"


def zones(root: Path) -> tuple[list[Zone], list[str]]:
    """The energy counters under ``root``, each once, and the directories left out as mirrors of one that is read."""
    places: dict[str, Path] = {}
    for path in sorted([*root.glob("*:*"), *root.glob("*/*:*"), *root.glob("*/*:*/*:*")]):
        if _ZONE.fullmatch(path.name) and (path / "energy_uj").exists():
            # Flat in /sys/class/powercap and nested below its parent: one directory name, one zone.
            places.setdefault(path.name, path)
    found: dict[tuple[str, ...], Zone] = {}
    mirrors = []
    for place in sorted(places, key=_preference):
        interface, indices = place.split(":", 1)[0], place.split(":")[1:]
        around = [":".join([interface, *indices[: n + 1]]) for n in range(len(indices))]
        names = tuple(look(places[name] / "name").text.strip() for name in around if name in places)
        if names in found and found[names].interface != interface:
            mirrors.append(place)
            continue
        if names in found:  # two domains of one name on one interface are two domains
            names = (*names[:-1], f"{names[-1]}@{place}")
        found[names] = Zone(interface, names, places[place])
    return sorted(found.values(), key=lambda zone: zone.names), mirrors


def _preference(place: str) -> tuple[int, str]:
    interface = place.split(":", 1)[0]
    return (_INTERFACES.index(interface) if interface in _INTERFACES else -1, place)


class Powercap(Bare):
    """One channel of counted energy per domain."""

    Config: ClassVar[type[PowercapConfig]] = PowercapConfig

    def __init__(self, config: PowercapConfig, raw: RawLog | None = None) -> None:
        self.config, self.raw = config, raw or NoRawLog()
        self.poll_s = config.interval
        #: Each with the path of its count, spelled once: it is opened up to a thousand times a second.
        self.zones: list[tuple[Zone, Channel, EnergyCounter, str]] = []
        self.mirrors: list[str] = []
        #: What was there once may come back; what never was is for a person.
        self.was_there = False

    def configure(self) -> None:
        found, self.mirrors = zones(self.config.root)
        if not found:
            if self.was_there:
                raise Reconnect(f"the energy counters under {self.config.root} are gone")
            raise Fatal(f"no energy counters under {self.config.root}: this machine or its kernel offers no RAPL here")
        self.zones = []
        for zone in found:
            range_uj, _ = number(zone.path / "max_energy_range_uj")
            counter = EnergyCounter(modulus_nj(range_uj), self.config.p_max_w)
            inside = tuple(other.id for other in found if zone.contains(other))
            self.zones.append((zone, self._channel(zone, counter, inside), counter, str(zone.path / "energy_uj")))
        self._counts()  # now, so that a missing permission is found before the run
        self.was_there = True

    def _channel(self, zone: Zone, counter: EnergyCounter, inside: tuple[str, ...]) -> Channel:
        u_rel = self.config.u_rel
        # A step is the difference of two counts, each known to the kernel's microjoule.
        u_abs = 1e-6 / math.sqrt(6) if u_rel else None
        return Channel(
            zone.id,
            "energy",
            "J",
            "device",
            "counter",
            modulus=counter.modulus_nj * 1e-9,
            u_rel=u_rel,
            u_abs=u_abs,
            latency_s=_UPDATE_NS * 1e-9,
            min_interval_s=0.01,
            contains=inside,
            role="system" if zone.is_platform else "cpu" if zone.names[-1] != "dram" else "other",
        )

    def describe(self) -> Description:
        identity: dict[str, Any] = {"root": str(self.config.root), "p_max_w": self.config.p_max_w}
        identity["zones"] = {zone.id: zone.path.name for zone, *_ in self.zones}
        if self.mirrors:
            identity["left_out_as_mirrors"] = self.mirrors
        return Description(identity, tuple(channel for _, channel, *_ in self.zones))

    def start(self) -> None:
        self._steps()

    def next(self, deadline_ns: int) -> list[Reading]:
        return self._steps()

    def _steps(self) -> list[Reading]:
        # All registers first: a failing one must not leave the others advanced and their steps lost.
        counts = self._counts()
        readings = []
        for (_, channel, counter, _), (count_uj, seen) in zip(self.zones, counts, strict=True):
            used = counter.look(seen.at_ns, count_uj * 1000)
            if used is not None:
                since_ns, joules, flags = used
                u_time_ns = int(math.hypot(seen.u_ns, _UPDATE_NS / math.sqrt(12)))
                readings.append(read(channel, since_ns, seen.at_ns, u_time_ns, joules, *flags))
        return readings

    def _counts(self) -> list[tuple[int, Look]]:
        counts: list[tuple[int, Look]] = []
        try:
            for *_, path in self.zones:
                counts.append(number(path, _ALLOW))
                if counts[-1][0] < 0:
                    raise Reconnect(f"{path} holds {counts[-1][0]}")
        finally:
            seen = zip(self.zones, counts, strict=False)
            lines = (f"{look.at_ns} {channel.id} {count_uj}\n" for (_, channel, *_), (count_uj, look) in seen)
            self.raw.received("".join(lines).encode())
        return counts

    def close(self) -> None:
        """Nothing is held open. The counters forget their last look: what ran on while lost is a gap, not a step."""
        self.zones = []
