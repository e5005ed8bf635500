"""Power and energy sensors of the board and of add-on chips (INA2xx, LTC29xx, ...) through Linux hwmon.

Units as in the kernel's Documentation/hwmon/sysfs-interface: power µW, energy µJ, in mV, curr mA, intervals ms. Where
a chip averages, the average over its interval is read; else instants. Chips of the INA2xx family average in their power
register over ``update_interval`` (data sheets of INA219, INA226, INA260: conversion time times number of averages).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.meters import base, clock
from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, Retry, read
from iojoule.meters.config import MeterConfig
from iojoule.meters.counter import EnergyCounter
from iojoule.meters.sysfs import number, optional_number, optional_text

#: Codes for "no value" seen from drivers and firmware, also multiplied into the unit of the attribute.
_CODES = (2**32 - 1, 2**31 - 1)
SENTINELS = {code * scale for code in _CODES for scale in (1, 10**3, 10**6)} | {2**64 - 1, 2**63 - 1}
#: Chips whose power register is a mean over ``update_interval``, by the names their kernel drivers give.
_AVERAGING = re.compile(r"ina(2\d\d|3221)")
_ATTRIBUTE = re.compile(r"(power|energy)(\d+)_(input|average)")


class ChannelNote(BaseModel):
    """What only the person at the bench knows of a sensor: what it feeds, and how good it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    role: base.Role = Field(default="other", description="What it feeds; drive where a drive is named.")
    drive: str | None = Field(default=None, description="Kernel name of the drive it feeds.")
    boundary: base.Boundary = Field(default="dc_rail", description="Where its watts are measured.")
    u_rel: float | None = Field(default=None, ge=0, le=1, description="Relative standard uncertainty.")
    u_abs: float | None = Field(default=None, ge=0, description="Absolute standard uncertainty, W or J.")
    u_digit: float | None = Field(default=None, ge=0, description="Standard uncertainty of rounding a power, W.")
    contains: tuple[str, ...] = Field(default=(), description="Sensors whose power flows through this one.")


class HwmonConfig(MeterConfig):
    kind: Literal["hwmon"] = "hwmon"
    root: Path = Field(default=Path("/sys/class/hwmon"), description="Where the hwmon tree is.")
    channels: dict[str, ChannelNote] = Field(
        default_factory=dict,
        description='The sensors to read, "ina226.power1", with notes; all of power and energy when empty.',
    )
    pairs: dict[str, tuple[str, str]] = Field(
        default_factory=dict,
        description='Rails without a power register: {"5v" = ["ina226.in1", "ina226.curr1"]}, voltage and current.',
    )
    p_max_w: float = Field(default=10_000.0, gt=0, description="The most watts an energy counter can see.")


@dataclass(slots=True)
class Sensor:
    """A channel and the attributes it is read from: one, or voltage and current that are multiplied."""

    channel: Channel
    paths: tuple[Path, ...]
    scale: float
    window_s: float = 0.0
    counter: EnergyCounter | None = field(default=None)


class Hwmon(Bare):
    """One channel per power or energy sensor."""

    Config: ClassVar[type[HwmonConfig]] = HwmonConfig

    def __init__(self, config: HwmonConfig, raw: RawLog | None = None) -> None:
        self.config, self.raw = config, raw or NoRawLog()
        self.sensors: list[Sensor] = []
        self.chips: dict[str, Path] = {}
        #: What was there once may come back; what never was is for a person.
        self.was_there = False

    @property
    def poll_s(self) -> float:
        """Never faster than an averaging chip makes windows: they would overlap, and their energy count twice."""
        return max([self.config.interval, *(sensor.window_s for sensor in self.sensors)])

    def configure(self) -> None:
        places = sorted(path for path in self.config.root.glob("hwmon*") if (path / "name").exists())
        names = [optional_text(path / "name") or "unnamed" for path in places]
        self.chips = {
            name if names.count(name) == 1 else f"{name}@{path.name}": path
            for name, path in zip(names, places, strict=True)
        }
        found = {
            f"{chip}.{match[1]}{match[2]}": chip
            for chip, path in self.chips.items()
            for file in sorted(path.iterdir())
            if (match := _ATTRIBUTE.fullmatch(file.name))
        }
        wanted = {*self.config.channels} - {*self.config.pairs}
        if missing := wanted - found.keys():
            kind = Reconnect if self.was_there else Fatal
            raise kind(f"no sensor {', '.join(sorted(missing))} under {self.config.root} (there are: {_list(found)})")
        self.sensors = [self._sensor(name, chip) for name, chip in found.items() if name in wanted or not wanted]
        self.sensors += [self._pair(name, *pair) for name, pair in self.config.pairs.items()]
        if not self.sensors:
            kind = Reconnect if self.was_there else Fatal
            raise kind(f"no power or energy sensor under {self.config.root} (chips: {_list(self.chips)})")
        self.was_there = True

    def _sensor(self, name: str, chip: str) -> Sensor:
        path, attribute = self.chips[chip], name.rpartition(".")[2]
        if attribute.startswith("energy"):
            # Energy and power of one number are the same rail: a total counts the energy alone.
            twin = attribute.replace("energy", "power")
            inside = (f"{chip}.{twin}",) if any(path.glob(f"{twin}_*")) else ()
            counter = EnergyCounter(2**64 * 1000, self.config.p_max_w)
            channel = self._channel(name, "energy", "J", "counter", inside, counter.modulus_nj * 1e-9)
            return Sensor(channel, (path / f"{attribute}_input",), 1e-6, counter=counter)
        if (path / f"{attribute}_average").exists():
            every_ms = optional_number(path / f"{attribute}_average_interval") or optional_number(
                path / "update_interval"
            )
            window_s = every_ms * 1e-3 if every_ms else self.config.interval
            return self._averaging(name, path / f"{attribute}_average", window_s)
        every_ms = optional_number(path / "update_interval")
        if every_ms and _AVERAGING.fullmatch(optional_text(path / "name") or ""):
            return self._averaging(name, path / f"{attribute}_input", every_ms * 1e-3)
        return Sensor(self._channel(name, "power", "W", "instant"), (path / f"{attribute}_input",), 1e-6)

    def _averaging(self, name: str, path: Path, window_s: float) -> Sensor:
        """A mean over ``window_s``; asked more rarely than it is made, it is a sample of the course."""
        kind: base.Kind = "instant" if self.config.interval > 1.5 * window_s else "window_mean"
        return Sensor(self._channel(name, "power", "W", kind), (path,), 1e-6, window_s)

    def _pair(self, name: str, voltage: str, current: str) -> Sensor:
        paths = []
        for source in (voltage, current):
            chip, _, attribute = source.rpartition(".")
            path = self.chips.get(chip, self.config.root) / f"{attribute}_input"
            if not path.exists():
                kind = Reconnect if self.was_there else Fatal
                raise kind(f"pair {name}: no sensor {source} under {self.config.root} (chips: {_list(self.chips)})")
            paths.append(path)
        return Sensor(self._channel(name, "power", "W", "instant"), tuple(paths), 1e-6)

    def _channel(
        self,
        name: str,
        quantity: str,
        unit: str,
        kind: base.Kind,
        inside: tuple[str, ...] = (),
        modulus: float | None = None,
    ) -> Channel:
        note = self.config.channels.get(name, ChannelNote())
        known: dict[str, Any] = {"drive": note.drive, "u_rel": note.u_rel, "u_abs": note.u_abs}
        known |= {"u_digit": note.u_digit, "modulus": modulus}
        known["role"] = "drive" if note.drive and note.role == "other" else note.role
        known["contains"] = tuple(dict.fromkeys((*note.contains, *inside)))
        return Channel(name, quantity, unit, note.boundary, kind, **known)

    def describe(self) -> Description:
        identity: dict[str, Any] = {"root": str(self.config.root)}
        identity["chips"] = {chip: path.name for chip, path in self.chips.items()}
        labels = {
            s.channel.id: optional_text(Path(f"{str(s.paths[0]).rpartition('_')[0]}_label")) for s in self.sensors
        }
        identity["labels"] = {channel: label for channel, label in labels.items() if label}
        identity["windows_s"] = {sensor.channel.id: sensor.window_s for sensor in self.sensors if sensor.window_s}
        return Description(identity, tuple(sensor.channel for sensor in self.sensors))

    def start(self) -> None:
        for sensor in self.sensors:
            if sensor.counter:
                self._read(sensor)

    def next(self, deadline_ns: int) -> list[Reading]:
        """A sensor that fails does not take the others with it, unless all fail."""
        readings, failures = [], []
        for sensor in self.sensors:
            try:
                readings += self._read(sensor)
            except Retry as error:
                failures.append(error)
                now_ns = clock.now_ns()
                readings.append(read(sensor.channel, now_ns, now_ns, 0, math.nan, "invalid"))
        if len(failures) == len(self.sensors):
            raise failures[0]
        return readings

    def _read(self, sensor: Sensor) -> list[Reading]:
        looks = [number(path) for path in sensor.paths]
        codes = [code for code, _ in looks]
        first, last = looks[0][1], looks[-1][1]
        at_ns = (first.before_ns + last.after_ns) // 2
        u_ns = int((last.after_ns - first.before_ns) / 2 / math.sqrt(3))
        self.raw.received(f"{at_ns} {sensor.channel.id} {' '.join(map(str, codes))}\n".encode())
        value = math.prod(codes) * sensor.scale
        flags = ("sentinel", "invalid") if SENTINELS.intersection(codes) else ()
        if sensor.counter is None:
            # An average is made anew at an unknown instant, at most one window ago.
            window_ns = int(sensor.window_s * 1e9)
            u_ns = int(math.hypot(u_ns, window_ns / math.sqrt(12)))
            end_ns = at_ns - window_ns // 2
            start_ns = end_ns - window_ns
            if sensor.channel.kind == "instant":
                start_ns = end_ns = (start_ns + end_ns) // 2
            return [read(sensor.channel, start_ns, end_ns, u_ns, value, *flags)]
        if flags:
            return [read(sensor.channel, at_ns, at_ns, u_ns, value, *flags)]
        step = sensor.counter.look(at_ns, codes[0] * 1000)
        return [read(sensor.channel, step[0], at_ns, u_ns, step[1], *step[2])] if step else []

    def close(self) -> None:
        self.sensors = []


def _list(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"
