"""Power sensors on a management network (PDU, BMC): their section, their registers, their readings.

They answer the register's last update whenever they are asked, so that what is looked at becomes windows by ``polled``.
A PDU or BMC rarely says how good it is: without ``accuracy_pct`` the uncertainty is unknown, not zero.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from iojoule.meters import base
from iojoule.meters.base import (
    Bare,
    Channel,
    Description,
    Fatal,
    MeterError,
    NoRawLog,
    RawLog,
    Reading,
    Reconnect,
    read,
)
from iojoule.meters.config import MeterConfig
from iojoule.meters.counter import EnergyCounter
from iojoule.meters.polled import TOLERANCE, Polled, Window
from iojoule.quantities import Seconds

COARSE = 0.1
"""Share of a reading from which on a register's step makes it useless."""


class ManagedConfig(MeterConfig):
    """``interval`` is the time between two looks: four looks per update tell its instant to a quarter of it."""

    update: Seconds = Field(description="How often the device updates its registers.")
    update_tolerance: float = Field(
        default=TOLERANCE, ge=0, lt=0.5, description="How far the time between two updates may be from it, as a share."
    )
    latency: Seconds | None = Field(
        default=None, description="From the end of a window until it is shown; half an update, give or take half."
    )
    u_latency: Seconds = Field(default=0.0, description="Standard uncertainty of a latency that is given.")
    accuracy_pct: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="Half-width of the data sheet's limits, % of reading; unknown if not given.",
    )
    p_max_w: float = Field(default=50_000.0, gt=0, description="The most watts a counter can see.")
    timeout: Seconds = Field(default=2.0, description="How long an answer may take.")
    boundary: base.Boundary = Field(default="ac_wall", description="Where its watts are measured.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")

    def polled(self) -> Polled:
        """What its looks become."""
        if self.latency is None:
            # Anything between nothing and a whole update.
            latency_s, u_latency_s = self.update / 2, self.update / math.sqrt(12)
        else:
            latency_s, u_latency_s = self.latency, self.u_latency
        return Polled(self.update, latency_s, u_latency_s, self.update_tolerance, apart=True)


@dataclass(slots=True)
class Register:
    """One number of the device: ``step`` is its last digit in the unit of its channel; a counter has a ``modulus``."""

    channel: Channel
    step: float = 0.0
    counter: EnergyCounter | None = field(default=None)


def register(
    config: ManagedConfig,
    name: str,
    quantity: str,
    unit: str,
    step: float,
    *,
    modulus: float | None = None,
    inside: tuple[str, ...] = (),
) -> Register:
    """A register of ``quantity``; ``modulus`` in joules makes it a counter, ``inside`` names whose energy it holds.

    The digit counts as a rectangle one ``step`` wide. Accuracy is that of power and energy; it is not known of others.
    """
    counts, power = modulus is not None, quantity in ("power", "energy")
    known = power and config.accuracy_pct is not None
    u_digit = step / math.sqrt(12) if known else None
    channel = Channel(
        name, quantity, unit, config.boundary, "counter" if counts else "window_mean", modulus=modulus,
        u_rel=(config.accuracy_pct or 0.0) / 100 / math.sqrt(3) if known else None,
        u_abs=u_digit if counts else None, u_digit=None if counts else u_digit,
        latency_s=config.update / 2 if config.latency is None else config.latency,
        min_interval_s=config.update, contains=inside,
        role=config.role if power else "other", drive=config.drive if power else None,
    )  # fmt: skip
    counter = EnergyCounter(round(modulus * 1e9), config.p_max_w) if modulus is not None else None
    return Register(channel, step, counter)


class Managed(Bare):
    """Turns what was looked at into readings. A driver says what the device ``has``, and what was ``seen``.

    A counter's steps are those between two updates; the first update is where it begins.
    """

    def __init__(self, config: ManagedConfig, raw: RawLog | None = None) -> None:
        self.raw = raw or NoRawLog()
        self.registers: list[Register] = []
        self.identity: dict[str, Any] = {}
        self._update_ns = int(config.update * 1e9)
        self._polled = config.polled()
        self._shown: list[float | None] = []
        self.poll_s: float | None = config.interval
        self._changed_ns: int | None = None
        #: The shortest time between two changes: a device that is slower than its section says is seen by it.
        self.closest_s = math.inf

    def start(self) -> None:
        """Nothing: the device measures all the time."""

    def stop(self) -> dict[str, Any] | None:
        return {"closest_changes_s": self.closest_s} if math.isfinite(self.closest_s) else None

    def describe(self) -> Description:
        return Description(self.identity, tuple(one.channel for one in self.registers))

    def has(self, registers: list[Register]) -> None:
        """What the device turned out to have. A counter that it had before counted on while it was out of sight."""
        before = {one.channel: one.counter for one in self.registers}
        for one in registers:
            one.counter = before.get(one.channel) or one.counter
        self.registers = registers

    def lacks(self, text: str) -> MeterError:
        """What was there once may come back, as after a restart of the device; what never was is for a person."""
        return (Reconnect if self.registers else Fatal)(text)

    def forget(self) -> None:
        """The device was out of sight: nothing of its updates is known any more."""
        self._polled.lost()
        self._shown = []

    def seen(
        self, before_ns: int, after_ns: int, values: Sequence[float | None], stamp: object = None
    ) -> list[Reading]:
        """The readings of one look at all the registers, in their order; None is a register that showed no value."""
        window, before = None, self._shown
        if any(value is not None for value in values):
            # A value that is missing now tells nothing of an update.
            shown = self._shown or list(values)
            self._shown = [old if new is None else new for old, new in zip(shown, values, strict=True)]
            window = self._polled.look(before_ns, after_ns, tuple(self._shown), stamp)
            if window is not None and window.fresh and before and before != self._shown:
                if self._changed_ns is not None:
                    self.closest_s = min(self.closest_s, (window.end_ns - self._changed_ns) * 1e-9)
                self._changed_ns = window.end_ns
        readings = []
        for one, value in zip(self.registers, values, strict=True):
            if value is None:
                at = (after_ns - self._update_ns, after_ns, self._update_ns)
                readings.append(read(one.channel, *at, math.nan, "sentinel", "invalid"))
            elif window is not None:
                readings += self._reading(one, value, window)
        if window is not None and window.rest is not None:
            known = zip(self.registers, before, strict=True)
            rest = [(one, old) for one, old in known if old is not None and one.counter is None]
            readings = [r for one, old in rest for r in self._reading(one, old, window.rest)] + readings
        return readings

    def _reading(self, one: Register, value: float, window: Window) -> list[Reading]:
        flags = [] if window.fresh else ["stale"]
        start_ns = window.start_ns
        if one.counter is not None:
            if not window.fresh:
                return []  # nothing was counted since
            if (counted := one.counter.look(window.end_ns, round(value * 1e9))) is None:
                return []
            start_ns, value, more = counted
            flags += more
        elif one.channel.quantity == "power" and one.step > COARSE * abs(value):
            flags.append("under_range")
        return [read(one.channel, start_ns, window.end_ns, window.u_time_ns, value, *flags)]


def secret(file: Path | None, variable: str | None, what: str) -> str | None:
    """What a file's first line or a variable of the environment holds; Fatal where it cannot be read."""
    if file is not None:
        try:
            return file.read_text(encoding="utf-8").splitlines()[0]
        except (OSError, UnicodeDecodeError, IndexError) as error:
            raise Fatal(f"no {what} in {file}: {error}") from error
    if variable is not None:
        if variable not in os.environ:
            raise Fatal(f"no {what}: the environment has no {variable}")
        return os.environ[variable]
    return None
