"""The section of a multimeter that scans shunts in supply rails: rails, ranges, and how good each channel is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.meters import base
from iojoule.meters.base import Accuracy, Fatal, Rail
from iojoule.meters.config import MeterConfig
from iojoule.quantities import Seconds

#: Head-room of a range that is chosen from peaks.
HEAD_ROOM = 1.1
#: µV that the metals of leads and relays add: half-width, and what is left of it after zeroing (unverified, 2 to 5 µV).
EMF_UV, ZEROED_UV = 5.0, 2.0

Address = Annotated[str, Field(pattern=r"^@?\d{3}$")]


class RailConfig(BaseModel):
    """One shunt and the voltage beside it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]*$", description="Name of the rail, such as 12v.")
    voltage: Address = Field(description="Channel of the rail's voltage, such as @103.")
    shunt: Address = Field(description="Channel of the voltage over the shunt, such as @104.")
    ohm: float = Field(gt=0, description="Resistance of the shunt, calibrated or nominal.")
    tolerance_pct: float = Field(gt=0, description="Limit of error of `ohm`, ± %.")
    tempco_ppm: float = Field(default=100.0, ge=0, description="Limit of its change with temperature, ± ppm/K.")
    temperature_rise: float = Field(default=25.0, ge=0, description="Kelvin it may be away from where `ohm` holds.")
    upstream: bool = Field(default=False, description="The voltage is taken between supply and shunt.")
    voltage_range: float | None = Field(default=None, gt=0, description="Volts, fixed.")
    shunt_range: float | None = Field(default=None, gt=0, description="Volts, fixed.")
    zero_uv: float | None = Field(default=None, description="What the shunt's channel shows with the load off, µV.")
    emf_uv: float | None = Field(default=None, ge=0, description="Limit of what thermal EMFs add, ± µV.")
    role: base.Role = Field(default="drive", description="What the rail feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")

    def made(self) -> Rail:
        """The rail as the manifest describes it; limits of error are rectangular."""
        emf_uv = self.emf_uv if self.emf_uv is not None else EMF_UV if self.zero_uv is None else ZEROED_UV
        limits = {
            "u_ohm_rel": self.tolerance_pct / 100,
            "u_temperature_rel": self.tempco_ppm * 1e-6 * self.temperature_rise,
            "u_zero_v": emf_uv * 1e-6,
        }
        return Rail(
            self.name, f"{self.name}_voltage", f"{self.name}_shunt", self.ohm, self.upstream,
            (self.zero_uv or 0.0) * 1e-6, role=self.role, drive=self.drive,
            **{name: limit / math.sqrt(3) for name, limit in limits.items()},
        )  # fmt: skip


class ScannerConfig(MeterConfig):
    """Keys of every scanner. The class says which ranges it has and how fast it switches."""

    #: Volts of each range: ±(% of reading, % of range) in the first year.
    ACCURACY_PCT: ClassVar[Mapping[float, tuple[float, float]]] = {}
    #: Seconds to switch to a channel and let it settle.
    SWITCH_S: ClassVar[float] = 0.0

    resource: str = Field(description="VISA resource, such as ASRL/dev/ttyUSB0::INSTR.")
    rails: tuple[RailConfig, ...] = Field(min_length=1, description="The shunts.")
    ranges: Literal["fixed", "find"] = Field(default="fixed", description="find: a ranging pass chooses them.")
    nplc: float = Field(default=1.0, ge=1, le=200, description="Integration time, periods of the mains.")
    mains_hz: Literal[50, 60] = Field(default=50, description="Frequency of the mains.")
    autozero: bool = Field(default=True, description="Measure the meter's own zero at every conversion.")
    channel_delay: Seconds = Field(default=0.001, description="Wait between switching and converting.")
    accuracy_pct: dict[float, tuple[float, float]] = Field(
        default_factory=dict, description="±(% of reading, % of range) by range, in the place of the data sheet's."
    )
    timeout: Seconds = Field(default=2.0, description="How long an answer may take.")
    termination: Literal["\n", "\r\n"] = Field(default="\n", description="Line end of what is sent.")
    baud: int = Field(default=9600, gt=0, description="Rate of a serial line.")
    flow: Literal["xon_xoff", "none"] = Field(default="xon_xoff", description="Flow control of a serial line.")

    @model_validator(mode="after")
    def _fits_the_meter(self) -> Self:
        names = [rail.name for rail in self.rails]
        addresses = [one.removeprefix("@") for rail in self.rails for one in (rail.voltage, rail.shunt)]
        for what, values in (("rails are named", names), ("uses are made of channel", addresses)):
            if twice := sorted({value for value in values if values.count(value) > 1}):
                raise ValueError(f"two {what} {', '.join(twice)}")
        if self.ranges == "fixed":
            for rail in self.rails:
                self._check_ranges(rail)
        if self.interval < self.scan_s:
            raise ValueError(
                f"interval {self.interval:g} s: a scan of {len(addresses)} channels takes {self.scan_s:.2g} s at "
                f"{self.nplc:g} periods of {self.mains_hz} Hz" + (", twice for autozero" if self.autozero else "")
            )
        return self

    def _check_ranges(self, rail: RailConfig) -> None:
        known = ", ".join(f"{one:g}" for one in self.accuracies)
        for key in ("voltage_range", "shunt_range"):
            if (value := getattr(rail, key)) not in self.accuracies:
                said = "is missing" if value is None else f"{value:g} V is none the accuracy of which is known"
                raise ValueError(f'rail {rail.name}: {key} {said}; choose of {known}, or ranges = "find"')

    @property
    def accuracies(self) -> dict[float, tuple[float, float]]:
        """By range, ascending."""
        return dict(sorted({**self.ACCURACY_PCT, **self.accuracy_pct}.items()))

    @property
    def conversion_s(self) -> float:
        """From the begin of a conversion to its end."""
        return self.nplc / self.mains_hz * (2 if self.autozero else 1)

    @property
    def scan_s(self) -> float:
        """One pass over all channels."""
        return 2 * len(self.rails) * (self.SWITCH_S + self.channel_delay + self.conversion_s)

    def points(self) -> list[Point]:
        """The channels in the order in which they are scanned, which is that of their numbers."""
        found = []
        for rail in self.rails:
            for quantity, address, span in (
                ("voltage", rail.voltage, rail.voltage_range), ("shunt_voltage", rail.shunt, rail.shunt_range),
            ):  # fmt: skip
                span = None if self.ranges == "find" else span
                # With autorange the largest range that could have been in use.
                rdg_pct, rng_pct = self.accuracies[span] if span else max(self.accuracies.values(), key=sum)
                accuracy = Accuracy(rdg_pct, rng_pct, span or max(self.accuracies))
                name = f"{rail.name}_{quantity.removesuffix('_voltage')}"
                # A scan is told when it is over, and makes watts once the next one has told the voltage after it.
                channel = base.Channel(
                    name, quantity, "V", "dc_rail", "instant", u_rel=accuracy.u_rel, u_abs=accuracy.u_abs,
                    latency_s=self.interval + self.scan_s, min_interval_s=self.scan_s, role=rail.role, drive=rail.drive,
                )  # fmt: skip
                found.append(Point(int(address.removeprefix("@")), span, channel))
        return sorted(found, key=lambda point: point.address)

    def with_ranges_above(self, peaks: Mapping[str, float]) -> Self:
        """Fixed ranges 10 % above the greatest |volts| of each channel; Fatal where none is large enough."""
        by_id = {point.channel.id: self._range_above(point.channel.id, peaks) for point in self.points()}
        rails = [
            rail.model_dump()
            | {"voltage_range": by_id[f"{rail.name}_voltage"], "shunt_range": by_id[f"{rail.name}_shunt"]}
            for rail in self.rails
        ]
        return type(self).model_validate(self.model_dump() | {"rails": rails, "ranges": "fixed"})

    def _range_above(self, channel: str, peaks: Mapping[str, float]) -> float:
        if channel not in peaks:
            raise Fatal(f"{channel} gave no reading to choose a range from")
        wanted = HEAD_ROOM * abs(peaks[channel])
        fitting = [span for span in self.accuracies if span >= wanted]
        if not fitting:
            raise Fatal(f"{channel} reached {peaks[channel]:g} V: no range is large enough")
        return fitting[0]


@dataclass(frozen=True, slots=True)
class Point:
    """One channel of the scan; ``range`` is None where the meter chooses it."""

    address: int
    range: float | None
    channel: base.Channel
