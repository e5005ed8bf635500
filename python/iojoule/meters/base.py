"""What every meter driver speaks: channels, readings over windows of host time, accuracy, errors sorted by what to do.

A reading is never a point that arrived: it is a value over ``[start_ns, end_ns]`` of ``CLOCK_MONOTONIC``, with the
uncertainty of the value and of the window's edges, and its quality flags. Rules of uncertainty: GUM, rectangular.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, Protocol

Boundary = Literal["ac_wall", "dc_rail", "device", "modelled"]
Kind = Literal["instant", "window_mean", "counter"]
Role = Literal["drive", "system", "server", "cpu", "other"]

#: Every quality flag a reading may carry, with what it says. No flag: nothing is known against the reading.
FLAGS = {
    "overload": "the input was above the range",
    "peak_over": "the peak was above what the crest factor of the range allows",
    "under_range": "below 10 % of the range, where the range term dominates the uncertainty",
    "range_changed": "the meter changed its range inside the window",
    "stale": "the meter repeated an old value",
    "gap_before": "time between the previous reading and this one is not covered",
    "wrapped": "the counter passed its modulus once; the step is corrected",
    "wrap_uncertain": "the counter may have passed its modulus more often than once, or was reset",
    "sentinel": "the instrument's code for 'no value'",
    "extrapolated": "taken beyond the range of a calibration or a model",
    "simulated": "from a simulated drive or array, not measured",
    "modelled": "computed from activity, not measured",
    "invalid": "not a measurement; carries no energy",
}


class MeterError(Exception):
    """A meter could not give a reading. The subclass says what helps."""


class Retry(MeterError):  # noqa: N818 - named by what to do
    """Ask again on the same connection."""


class Reconnect(MeterError):  # noqa: N818
    """The connection or its order of question and answer is lost: close, open, configure anew."""


class Fatal(MeterError):  # noqa: N818
    """A person must act: wrong instrument, refused setting, missing permission."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A specification ``±(rdg_pct % of reading + rng_pct % of range)``, a rectangular half-width."""

    rdg_pct: float
    rng_pct: float
    range: float

    def half_width(self, value: float) -> float:
        """Half-width of the interval at ``value``, in the unit of the range, from its absolute value."""
        return self.rdg_pct / 100 * abs(value) + self.rng_pct / 100 * self.range

    def u(self, value: float) -> float:
        """Standard uncertainty at ``value``: half-width/√3."""
        return self.half_width(value) / math.sqrt(3)

    @property
    def u_rel(self) -> float:
        return self.rdg_pct / 100 / math.sqrt(3)

    @property
    def u_abs(self) -> float:
        return self.rng_pct / 100 * self.range / math.sqrt(3)


@dataclass(frozen=True, slots=True)
class Channel:
    """One measured thing of a meter.

    ``u_rel`` and ``u_abs`` (in the channel's unit) are the systematic standard uncertainty ``u_rel·|x| + u_abs``, added
    linearly since both belong to one instrument on one range; None: not known. ``u_digit`` is that of rounding to the
    last digit, which has nothing to do with them: it adds in quadrature. ``contains`` names every channel whose energy
    is inside this one's, at any depth: a total never adds both. ``modulus`` is where a counter wraps.
    """

    id: str
    quantity: str
    unit: str
    boundary: Boundary
    kind: Kind
    modulus: float | None = None
    u_rel: float | None = None
    u_abs: float | None = None
    latency_s: float = 0.0
    min_interval_s: float = 0.0
    contains: tuple[str, ...] = ()
    role: Role = "other"
    drive: str | None = None
    u_digit: float | None = None

    def u(self, value: float) -> float:
        """Standard uncertainty of ``value``; NaN where the channel's accuracy is not known."""
        if self.u_rel is None and self.u_abs is None and self.u_digit is None:
            return math.nan
        return math.hypot((self.u_rel or 0.0) * abs(value) + (self.u_abs or 0.0), self.u_digit or 0.0)


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of one channel over ``[start_ns, end_ns]``; ``seq`` is set by the sampler, not by the driver."""

    channel: str
    quantity: str
    unit: str
    start_ns: int
    end_ns: int
    u_time_ns: int
    value: float
    u_value: float
    quality: frozenset[str] = frozenset()
    seq: int = 0

    def __post_init__(self) -> None:
        if self.end_ns < self.start_ns:
            early_ns = self.start_ns - self.end_ns
            raise ValueError(f"a reading of {self.channel} cannot end {early_ns} ns before it starts")
        if self.quality and (unknown := self.quality - FLAGS.keys()):
            raise ValueError(f"unknown quality flags: {', '.join(sorted(unknown))}")

    @property
    def good(self) -> bool:
        """Whether the reading is a measurement at all."""
        return "invalid" not in self.quality and not math.isnan(self.value)

    @property
    def flags(self) -> str:
        """The flags as the readings table holds them: sorted, separated by spaces, empty when there are none."""
        return " ".join(sorted(self.quality)) if self.quality else ""

    @property
    def watts(self) -> float | None:
        """Mean power over the window, for power and counted energy; None for other quantities and bad readings."""
        if not self.good or self.unit not in ("W", "J"):
            return None
        if self.unit == "W":
            return self.value
        return self.value / ((self.end_ns - self.start_ns) * 1e-9) if self.end_ns > self.start_ns else None


def read(channel: Channel, start_ns: int, end_ns: int, u_time_ns: int, value: float, *flags: str) -> Reading:
    """A reading of ``channel``, with the uncertainty its accuracy gives."""
    c = channel
    return Reading(c.id, c.quantity, c.unit, start_ns, end_ns, u_time_ns, value, c.u(value), frozenset(flags))


@dataclass(frozen=True, slots=True)
class Rail:
    """Power made of two channels of one meter: the voltage of a supply rail and that over a shunt of ``ohm`` in it.

    ``upstream``: the voltage is taken before the shunt. ``zero_v`` is what the shunt's channel shows without a current.
    Standard uncertainties: ``u_ohm_rel`` of the resistance, ``u_temperature_rel`` of its change with temperature,
    ``u_zero_v`` of the zero.
    """

    id: str
    voltage: str
    shunt: str
    ohm: float
    upstream: bool = False
    zero_v: float = 0.0
    u_ohm_rel: float = 0.0
    u_temperature_rel: float = 0.0
    u_zero_v: float = 0.0
    role: Role = "other"
    drive: str | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Rail:
        """From an entry of ``rails`` in a meter's document, whatever else stands there."""
        return cls(**{one.name: document[one.name] for one in fields(cls) if one.name in document})

    def watts(self, volts: float, shunt_v: float) -> float:
        """Power behind the shunt, for a display: of the last samples, which are not of one instant."""
        across = shunt_v - self.zero_v
        return (volts - across if self.upstream else volts) * across / self.ohm


@dataclass(frozen=True, slots=True)
class Description:
    """Who the meter is and what it measures, as it confirmed after ``configure``."""

    identity: dict[str, Any]
    channels: tuple[Channel, ...]
    rails: tuple[Rail, ...] = ()

    def document(self, name: str, driver: str, interval_s: float) -> dict[str, Any]:
        """The entry of the meter in a run's manifest."""
        channels = [asdict(channel) | {"contains": list(channel.contains)} for channel in self.channels]
        head = {"name": name, "driver": driver, "interval_s": interval_s}
        made = {"rails": [asdict(rail) for rail in self.rails]} if self.rails else {}
        return head | {"identity": self.identity, "channels": channels} | made


@dataclass(frozen=True, slots=True)
class ClockProbe:
    """The meter's own clock read between two stamps of the host's; ``resolution_ns`` is the step of that clock."""

    sent_ns: int
    meter_ns: int
    received_ns: int
    resolution_ns: int = 0


class RawLog(Protocol):
    """Where a driver puts what it said and what it heard, byte for byte."""

    def sent(self, data: bytes) -> None: ...
    def received(self, data: bytes) -> None: ...


class NoRawLog:
    """Keeps nothing; for probing and tests."""

    def sent(self, data: bytes) -> None:
        pass

    def received(self, data: bytes) -> None:
        pass


class Driver(Protocol):
    """One instrument. Built from its ``Config`` and a raw log; nothing is opened before ``configure``."""

    #: Pydantic model of the driver's section in an experiment.
    Config: ClassVar[Any]

    @property
    def poll_s(self) -> float | None:
        """Seconds between two calls of ``next``; None when the meter itself sets the pace and ``next`` waits for it."""

    def configure(self) -> None:
        """Open and set the meter. What it confirms on re-query counts; a difference is ``Fatal``."""

    def describe(self) -> Description:
        """Identity and channels; valid after ``configure``."""

    def start(self) -> None:
        """Begin to measure. Counters take their first look here: a first count is no consumption."""

    def next(self, deadline_ns: int) -> list[Reading]:
        """The readings that ended since the last call, waiting at most until ``deadline_ns``."""

    def sync(self) -> ClockProbe | None:
        """One bracketed read of the meter's clock; None when it has none."""

    def stop(self) -> dict[str, Any] | None:
        """End the measurement: the meter's own integral for a cross-check, where it keeps one."""

    def close(self) -> None:
        """Let the meter go; never raises."""


class Bare:
    """A meter that has neither a clock nor an integral of its own."""

    def sync(self) -> ClockProbe | None:
        return None

    def stop(self) -> dict[str, Any] | None:
        return None
