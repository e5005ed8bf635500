"""A model of power from activity: ``P = idle + busy_cpu·ΔP_cpu + Σ busy_disk·ΔP_disk``. Not a measurement.

Busy times are those of the kernel: ``io_ticks`` (field 13 of /proc/diskstats, milliseconds in which at least one
request was in flight, u32 and wrapping) and the first line of /proc/stat. Value and time of a window come from the
same pair of reads. A busy share is not clamped to 1: what the kernel books late is missing from the window before.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import Bare, Channel, Description, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.blockdev import device_of
from iojoule.meters.config import MeterConfig
from iojoule.meters.sysfs import Look, look

_IO_TICKS = 12
_TICKS_WRAP = 2**32
#: Columns of the cpu line in which a processor works for this host: user nice system irq softirq, not steal.
_WORK = (1, 2, 3, 6, 7)
#: The same and idle, iowait: all the time there was. Guest time is inside user already.
_ALL = (1, 2, 3, 4, 5, 6, 7, 8)


class DiskModel(BaseModel):
    """Watts of one disk: with a request always in flight, and with none."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    active_w: float = Field(ge=0, description="Watts with a request always in flight.")
    idle_w: float = Field(default=0.0, ge=0, description="Watts with none.")


class UtilisationConfig(MeterConfig):
    kind: Literal["utilisation"] = "utilisation"
    idle_w: float = Field(ge=0, description="Watts of the whole system at rest, its disks included.")
    cpu_w: float = Field(default=0.0, ge=0, description="Watts added when every core is busy.")
    disks: dict[str, DiskModel] = Field(
        default_factory=dict, description="By kernel name (sda); auto is the disk that holds path."
    )
    path: Path = Field(default=Path(), description="What the disk auto holds.")
    # No default: who writes coefficients knows how good they are.
    u_rel: float = Field(gt=0, le=1, description="Relative standard uncertainty of the model.")
    proc: Path = Field(default=Path("/proc"), description="Where diskstats and stat are.")
    sys: Path = Field(default=Path("/sys"), description="Where the tree of devices is.")

    @model_validator(mode="after")
    def _idle_includes_the_disks(self) -> UtilisationConfig:
        disks_w = sum(disk.idle_w for disk in self.disks.values())
        if disks_w > self.idle_w:
            raise ValueError(
                f"idle_w = {self.idle_w:g} W is of the whole system; its disks alone take {disks_w:g} W idle"
            )
        for name, disk in self.disks.items():
            if disk.active_w < disk.idle_w:
                raise ValueError(f"disk {name}: active_w = {disk.active_w:g} W is below idle_w = {disk.idle_w:g} W")
        return self


class Utilisation(Bare):
    """The model as a meter: channels ``disk.<name>``, ``cpu`` and ``system``, which contains them."""

    Config: ClassVar[type[UtilisationConfig]] = UtilisationConfig

    def __init__(self, config: UtilisationConfig, raw: RawLog | None = None) -> None:
        self.config, self.raw = config, raw or NoRawLog()
        self.poll_s = config.interval
        self.disks: dict[str, DiskModel] = {}
        self.channels: tuple[Channel, ...] = ()
        self.auto = ""
        self.before: tuple[Look, dict[str, int], Look, tuple[int, int]] | None = None

    def configure(self) -> None:
        self.disks = {name: disk for name, disk in self.config.disks.items() if name != "auto"}
        if "auto" in self.config.disks:
            name, self.auto = device_of(self.config.path, self.config.proc, self.config.sys)
            if name:
                self.disks.setdefault(name, self.config.disks["auto"])
        disks = tuple(self._channel(f"disk.{name}", "drive", drive=name) for name in self.disks)
        cpu = self._channel("cpu", "cpu")
        system = self._channel("system", "system", contains=("cpu", *(disk.id for disk in disks)))
        self.channels = (*disks, cpu, system)
        text = look(self.config.proc / "diskstats").text
        known = [row.split()[2] for row in text.splitlines() if len(row.split()) > _IO_TICKS]
        if missing := self.disks.keys() - set(known):
            raise Reconnect(f"no disk {', '.join(sorted(missing))} in diskstats (there are: {', '.join(known)})")

    def describe(self) -> Description:
        config = self.config
        identity: dict[str, Any] = {"model": "P = idle + busy_cpu * cpu_w + sum(busy * (active_w - idle_w))"}
        identity |= {"idle_w": config.idle_w, "cpu_w": config.cpu_w, "u_rel": config.u_rel}
        identity |= {"disks": {name: disk.model_dump() for name, disk in self.disks.items()}}
        if self.auto:
            identity["auto"] = self.auto
        return Description(identity, self.channels)

    def _channel(self, name: str, role: Literal["drive", "cpu", "system"], **more: Any) -> Channel:
        u_rel = self.config.u_rel
        return Channel(
            name, "power", "W", "modelled", "window_mean", u_rel=u_rel, min_interval_s=0.1, role=role, **more
        )

    def start(self) -> None:
        self.before = (*self._ticks(), *self._cpu())

    def next(self, deadline_ns: int) -> list[Reading]:
        if self.before is None:
            raise Reconnect("the model was not started")
        was_disk, was_ticks, was_cpu, was_jiffies = self.before
        disk_look, ticks = self._ticks()
        cpu_look, jiffies = self._cpu()
        self.before = (disk_look, ticks, cpu_look, jiffies)
        # One window for all channels: from between the two reads then to between the two reads now.
        start_ns, end_ns = (was_disk.at_ns + was_cpu.at_ns) // 2, (disk_look.at_ns + cpu_look.at_ns) // 2
        u_time_ns = int((cpu_look.after_ns - disk_look.before_ns) / 2 / math.sqrt(3))
        disk_ms = max(disk_look.at_ns - was_disk.at_ns, 1) * 1e-6
        watts, rise_w = {}, 0.0
        for name, disk in self.disks.items():
            gone = name not in ticks or name not in was_ticks
            busy = math.nan if gone else (ticks[name] - was_ticks[name]) % _TICKS_WRAP / disk_ms
            delta_w = busy * (disk.active_w - disk.idle_w)
            watts[f"disk.{name}"] = disk.idle_w + delta_w
            rise_w += delta_w
        work, every = jiffies[0] - was_jiffies[0], jiffies[1] - was_jiffies[1]
        watts["cpu"] = work / every * self.config.cpu_w if every > 0 else math.nan
        watts["system"] = self.config.idle_w + watts["cpu"] + rise_w
        return [self._reading(channel, start_ns, end_ns, u_time_ns, watts[channel.id]) for channel in self.channels]

    @staticmethod
    def _reading(channel: Channel, start_ns: int, end_ns: int, u_time_ns: int, watts: float) -> Reading:
        flags = ("modelled", "invalid") if math.isnan(watts) else ("modelled",)
        return read(channel, start_ns, end_ns, u_time_ns, watts, *flags)

    def close(self) -> None:
        self.before = None

    def _ticks(self) -> tuple[Look, dict[str, int]]:
        if not self.disks:
            now_ns = clock.now_ns()
            return Look("", now_ns, now_ns), {}
        seen = look(self.config.proc / "diskstats")
        rows = (line.split() for line in seen.text.splitlines())
        found = {row[2]: int(row[_IO_TICKS]) for row in rows if len(row) > _IO_TICKS and row[2] in self.disks}
        for name in self.disks:
            self.raw.received(f"{seen.at_ns} {name} io_ticks {found.get(name)}\n".encode())
        return seen, found

    def _cpu(self) -> tuple[Look, tuple[int, int]]:
        seen = look(self.config.proc / "stat")
        line = seen.text.partition("\n")[0]
        columns = [0, *(int(word) for word in line.split()[1:]), *[0] * 10]
        self.raw.received(f"{seen.at_ns} {line}\n".encode())
        return seen, (sum(columns[i] for i in _WORK), sum(columns[i] for i in _ALL))
