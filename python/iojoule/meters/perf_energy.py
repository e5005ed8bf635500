"""RAPL energy counters of the processor through perf events, as ``perf stat -e power/energy-pkg/`` reads them.

The kernel adds the steps of the 32-bit registers up to 64 bits, so nothing wraps here however slowly they are read. The
PMU ``power`` says what it has under ``/sys/bus/event_source/devices``: perf_event_open(2), Documentation/ABI/testing/
sysfs-bus-event_source-devices-events. Scale 2^-32 J. What is in what: Intel SDM vol. 3B §15.10.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import re
import struct
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field

from iojoule.meters import clock
from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, Retry, read
from iojoule.meters.config import MeterConfig
from iojoule.meters.sysfs import look, number, optional_text

#: Domains inside the package; ram hangs below it and is not a part of it, the platform (psys) holds all.
_IN_PACKAGE = ("cores", "gpu")
_UPDATE_NS = 1_000_000
_ALLOW = "sudo sysctl kernel.perf_event_paranoid=0, or run as root or with CAP_PERFMON"
_SYSCALL = {"x86_64": 298, "i686": 336, "aarch64": 241}
_CLOSE_ON_EXEC = 8


class PerfEnergyConfig(MeterConfig):
    kind: Literal["perf_energy"] = "perf_energy"
    root: Path = Field(default=Path("/sys/bus/event_source/devices"), description="Where the kernel lists its PMUs.")
    # The makers state none.
    u_rel: float | None = Field(
        default=None, gt=0, le=1, description="Relative standard uncertainty of the counters, where it was measured."
    )


class Events(Protocol):
    """perf_event_open and what it opens."""

    def open(self, pmu: int, config: int, cpu: int) -> int: ...
    def count(self, fd: int) -> int: ...
    def close(self, fd: int) -> None: ...


class KernelEvents:
    """The kernel's."""

    def open(self, pmu: int, config: int, cpu: int) -> int:
        # perf_event_attr of the first published size, 64 bytes: type, size, config, and zeros.
        attr = struct.pack("<IIQ48x", pmu, 64, config)
        number = _SYSCALL.get(platform.machine())
        if number is None:
            raise Fatal(f"perf events on {platform.machine()} are not known here")
        libc = ctypes.CDLL(None, use_errno=True)
        fd = libc.syscall(ctypes.c_long(number), attr, -1, cpu, -1, ctypes.c_ulong(_CLOSE_ON_EXEC))
        if fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return int(fd)

    def count(self, fd: int) -> int:
        data = os.read(fd, 8)
        if len(data) != 8:
            raise Reconnect(f"a perf event gave {len(data)} bytes in place of a count")
        return int(struct.unpack("=Q", data)[0])

    def close(self, fd: int) -> None:
        os.close(fd)


@dataclass(slots=True)
class Counter:
    """One event on one processor of its package; ``joules`` is what one count is worth."""

    channel: Channel
    config: int
    cpu: int
    joules: Fraction
    fd: int = -1
    before: tuple[int, int] | None = None


class PerfEnergy(Bare):
    """One channel of counted energy per domain and package."""

    Config: ClassVar[type[PerfEnergyConfig]] = PerfEnergyConfig

    def __init__(self, config: PerfEnergyConfig, raw: RawLog | None = None, link: Events | None = None) -> None:
        self.config, self.raw, self.events = config, raw or NoRawLog(), link or KernelEvents()
        self.poll_s = config.interval
        self.counters: list[Counter] = []

    def configure(self) -> None:
        pmu = self.config.root / "power"
        if not (pmu / "type").exists():
            raise Fatal(
                f"no PMU named power under {self.config.root}: this machine or its kernel offers no energy events"
            )
        kind, _ = number(pmu / "type")
        cpus = _listed(optional_text(pmu / "cpumask") or "0")
        names = sorted(path.name for path in (pmu / "events").glob("energy-*") if "." not in path.name)
        self.counters = [
            self._counter(pmu, name, cpu, package, len(cpus), names)
            for package, cpu in enumerate(cpus)
            for name in names
            if package == 0 or name != "energy-psys"  # the platform is one, whichever package is asked
        ]
        if not self.counters:
            raise Fatal(f"{pmu} has no energy events")
        try:
            for counter in self.counters:
                counter.fd = self.events.open(kind, counter.config, counter.cpu)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM):
                raise Fatal(f"energy events may not be read by this user; allow it with: {_ALLOW}") from error
            raise Fatal(f"{counter.channel.id}: the kernel refused the event: {error.strerror}") from error

    def _counter(self, pmu: Path, name: str, cpu: int, package: int, packages: int, names: list[str]) -> Counter:
        unit = optional_text(pmu / "events" / f"{name}.unit")
        if unit != "Joules":
            raise Fatal(f"{pmu}/events/{name}.unit is {unit!r}, not Joules")
        text = look(pmu / "events" / name).text.strip()
        if not (event := re.fullmatch(r"event=(0x[0-9a-fA-F]+|\d+)", text)):
            raise Fatal(f"{pmu}/events/{name} holds {text!r}, not event=...")
        joules = Fraction(look(pmu / "events" / f"{name}.scale").text.strip())
        domain = name.removeprefix("energy-")
        inside: tuple[str, ...] = ()
        if domain == "pkg":
            inside = tuple(f"{one}{package}" for one in _IN_PACKAGE if f"energy-{one}" in names)
        elif domain == "psys":
            others = [one.removeprefix("energy-") for one in names if one != name]
            inside = tuple(f"{one}{index}" for index in range(packages) for one in others)
        u_rel = self.config.u_rel
        channel = Channel(
            "psys" if domain == "psys" else f"{domain}{package}",
            "energy",
            "J",
            "device",
            "counter",
            modulus=float(2**64 * joules),
            u_rel=u_rel,
            u_abs=float(joules) / math.sqrt(6) if u_rel else None,
            latency_s=_UPDATE_NS * 1e-9,
            min_interval_s=0.01,
            contains=inside,
            role="system" if domain == "psys" else "other" if domain == "ram" else "cpu",
        )
        return Counter(channel, int(event[1], 0), cpu, joules)

    def describe(self) -> Description:
        identity: dict[str, Any] = {"root": str(self.config.root)}
        identity["events"] = {c.channel.id: {"event": c.config, "cpu": c.cpu} for c in self.counters}
        return Description(identity, tuple(counter.channel for counter in self.counters))

    def start(self) -> None:
        self.next(0)

    def next(self, deadline_ns: int) -> list[Reading]:
        # All counts first: one that fails must not leave the others advanced and their steps lost.
        looks = [self._count(counter) for counter in self.counters]
        readings = []
        for counter, (at_ns, u_ns, count) in zip(self.counters, looks, strict=True):
            before, counter.before = counter.before, (at_ns, count)
            if before is None:
                continue  # a first count is no consumption
            flags = ("wrap_uncertain", "invalid") if count < before[1] else ()  # 64 bits do not wrap: it was set back
            joules = float((count - before[1]) * counter.joules) if not flags else math.nan
            u_time_ns = int(math.hypot(u_ns, _UPDATE_NS / math.sqrt(12)))
            readings.append(read(counter.channel, before[0], at_ns, u_time_ns, joules, *flags))
        return readings

    def _count(self, counter: Counter) -> tuple[int, float, int]:
        """When it was read, the standard uncertainty of that, and the count."""
        before_ns = clock.now_ns()
        try:
            count = self.events.count(counter.fd)
        except OSError as error:
            raise (Reconnect if error.errno in (errno.ENODEV, errno.EBADF) else Retry)(
                f"{counter.channel.id}: {error.strerror}"
            ) from error
        after_ns = clock.now_ns()
        at_ns = (before_ns + after_ns) // 2
        self.raw.received(f"{at_ns} {counter.channel.id} {count}\n".encode())
        return at_ns, (after_ns - before_ns) / 2 / math.sqrt(3), count

    def close(self) -> None:
        """The events go; their counts begin anew when they are opened again, and the time between is a gap."""
        for counter in self.counters:
            if counter.fd >= 0:
                self.events.close(counter.fd)
        self.counters = []


def _listed(cpus: str) -> list[int]:
    """One processor of each package in a kernel's list, ``0,18``; ``0-1`` where a board interleaves its packages."""
    ends = [[int(word) for word in part.split("-")] for part in cpus.split(",")]
    return [cpu for part in ends for cpu in range(part[0], part[-1] + 1)]
