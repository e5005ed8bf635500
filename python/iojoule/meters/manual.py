"""A meter that only has a display, such as an EKM 2000: a person notes what it shows before and after.

Notes are lines of a file, ``<time> <value>``: the time in nanoseconds of the host's monotonic clock, or in UTC. Two
notes of a kilowatt-hour register are one step of energy; a note that is missing is no energy, never one made up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from iojoule.meters import base, clock
from iojoule.meters.base import Bare, Channel, Description, NoRawLog, RawLog, Reading, Retry, read
from iojoule.meters.config import MeterConfig
from iojoule.meters.log_text import UNITS, stamp
from iojoule.quantities import Seconds


class ManualConfig(MeterConfig):
    kind: Literal["manual"] = "manual"
    unit: Literal["kWh", "Wh", "J", "kJ", "W", "kW"] = Field(description="Of the number on the display.")
    resolution: float = Field(gt=0, description="One of the last digit, in the unit.")
    class_pct: float | None = Field(
        default=None, gt=0, description="Accuracy class: ±% of the reading; unknown unless given."
    )
    rollover: float | None = Field(default=None, gt=0, description="Where a register starts again, in the unit.")
    start: float | None = Field(default=None, description="What it shows before the run, where that is known already.")
    notes: Path | None = Field(default=None, description="The file of notes; raw/<name>.notes of the run if not given.")
    u_look: Seconds = Field(default=1.0, description="Standard uncertainty of when a person looked.")
    boundary: base.Boundary = Field(default="ac_wall", description="Where it sits.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")

    @model_validator(mode="after")
    def _only_registers_roll_over(self) -> ManualConfig:
        if self.rollover is not None and UNITS[self.unit][0] == "power":
            raise ValueError(f"rollover is of an energy register; a display in {self.unit} has none")
        return self


#: Every look at the display so far: ``(host time, value)``.
Notes = Callable[[], list[tuple[int, float]]]


class Manual(Bare):
    """Channel ``power`` for a display in watts, else ``display`` (as read) and ``energy`` (from note to note)."""

    Config: ClassVar[type[ManualConfig]] = ManualConfig

    def __init__(self, config: ManualConfig, raw: RawLog | None = None, link: Notes | None = None) -> None:
        self.config, self.raw = config, raw or NoRawLog()
        self.poll_s = config.interval
        beside = getattr(raw, "path", None)
        self.notes = config.notes or (beside.with_suffix(".notes") if beside else Path(f"{config.name}.notes"))
        self._looks: Notes = link or (lambda: noted(self.notes))
        quantity, unit, self._scale = UNITS[config.unit]
        known = config.class_pct is not None
        u_rel = (config.class_pct or 0.0) / 100 / math.sqrt(3) if known else None
        # Half a digit either way, rectangular; of an energy at each of its two ends.
        u_digit = config.resolution * self._scale / math.sqrt(12) if known else None
        self.measured = Channel(
            quantity, quantity, unit, config.boundary, "instant" if unit == "W" else "counter",
            u_rel=u_rel, u_abs=None if unit == "W" else u_digit, u_digit=u_digit if unit == "W" else None,
            role=config.role, drive=config.drive,
            modulus=config.rollover and config.rollover * self._scale,
        )  # fmt: skip
        self.display = Channel("display", "register", config.unit, config.boundary, "instant")
        self._taken = 0
        self._last: tuple[int, float] | None = None

    def configure(self) -> None:
        pass  # a note is taken once, however often the meter is won back

    def describe(self) -> Description:
        config = self.config
        identity: dict[str, Any] = {"display": config.unit, "resolution": config.resolution}
        identity |= {"class_pct": config.class_pct, "notes": str(self.notes)}
        return Description(identity, (self.measured,) if self.measured.unit == "W" else (self.display, self.measured))

    def start(self) -> None:
        pass

    def next(self, deadline_ns: int) -> list[Reading]:
        readings = []
        if self._last is None and self.config.start is not None:
            readings += self._noted(clock.now_ns(), self.config.start)
        fresh = self._looks()[self._taken :]
        for at_ns, value in fresh:
            self.raw.received(f"{at_ns} {value!r}\n".encode())
            readings += self._noted(at_ns, value)
        self._taken += len(fresh)
        if self._last is None:
            raise Retry(f"what does the display show? iojoule meter manual-note {self.notes} VALUE")
        return readings

    def _noted(self, at_ns: int, value: float) -> list[Reading]:
        """A look at the display, and the energy since the look before."""
        before, u_ns = self._last, int(self.config.u_look * 1e9)
        if before is not None and at_ns < before[0]:
            return [
                read(self.shown, at_ns, at_ns, u_ns, math.nan, "invalid")
            ]  # out of order: which step it ends is not known
        self._last = (at_ns, value)
        if self.measured.unit == "W":
            return [read(self.measured, at_ns, at_ns, u_ns, value * self._scale)]
        readings = [read(self.display, at_ns, at_ns, u_ns, value)]
        if before is not None:
            readings.append(self._step(before, (at_ns, value), u_ns))
        return readings

    def _step(self, before: tuple[int, float], now: tuple[int, float], u_ns: int) -> Reading:
        used, flags = now[1] - before[1], set()
        if used < 0:
            flags = {"wrapped"} if self.config.rollover else {"wrap_uncertain", "invalid"}
            used = used + self.config.rollover if self.config.rollover else math.nan
        return read(self.measured, before[0], now[0], u_ns, used * self._scale, *flags)

    @property
    def shown(self) -> Channel:
        """The channel that a look alone is a reading of."""
        return self.measured if self.measured.unit == "W" else self.display

    def close(self) -> None:
        pass


def noted(path: Path) -> list[tuple[int, float]]:
    """``(host time, value)`` of each whole line of a file of notes that is one; nothing where there is no file."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        at, _, value = line.strip().rpartition(" ")
        try:
            found.append((_host_ns(at), float(value)))
        except ValueError:
            continue
    return found


def note(path: Path, value: float, at_ns: int) -> None:
    """Add a look at the display to a file of notes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{at_ns} {value!r}\n")


def _host_ns(text: str) -> int:
    if text.isdigit() and int(text) < 10**17:  # a monotonic clock of less than three years
        return int(text)
    return stamp(text).ns - (time.time_ns() - time.monotonic_ns())
