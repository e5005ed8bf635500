"""The section of a Yokogawa WT200 or WT300 power meter, its ranges, and how fixed ones are chosen for a load.

Ranges are those of the data sheets (direct input); what a model does not have, it refuses when it is set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from iojoule.meters import base
from iojoule.meters.base import Accuracy, Fatal
from iojoule.meters.config import MeterConfig
from iojoule.meters.dialogue import amount
from iojoule.quantities import Seconds

#: Ranges at crest factor 3; at 6 they are half of these.
VOLTS = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
AMPERES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
#: A fixed range is at least this much above the peak that was seen.
HEADROOM = 1.1

Range = float | Literal["find"]


class YokogawaConfig(MeterConfig):
    RATES_S: ClassVar[Mapping[float, str]]
    #: Of power by mode, % of reading and % of range; None where the data sheet is not known.
    ACCURACY_PCT: ClassVar[Mapping[str, tuple[float, float] | None]]

    resource: str = Field(description="VISA resource, such as TCPIP0::192.0.2.7::INSTR.")
    # Fixed above the peak of the load, since a change spoils a window.
    voltage_range: Range = Field(description="Volts; find looks for it before the run.")
    current_range: Range = Field(description="Amperes; find looks for it before the run.")
    mode: Literal["RMS", "VMEAN", "DC"] = Field(default="RMS", description="DC for rails.")
    crest_factor: Literal[3, 6] = Field(default=3, description="Peaks allowed, in ranges.")
    accuracy_pct: tuple[float, float] | None = Field(
        default=None, description="Of power, % of reading and % of range; the data sheet's where it is known."
    )
    integrate: bool = Field(default=True, description="Let the meter integrate as well, and compare at the end.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")
    timeout: Seconds = Field(default=2.0, description="How long an answer may take beyond an update.")
    termination: Literal["\n", "\r\n"] = Field(default="\n", description="Line end; CR LF on RS-232.")
    baud: int = Field(default=9600, gt=0, description="Speed of the meter's serial line.")

    @model_validator(mode="after")
    def _rate_exists(self) -> Self:
        for key in ("voltage_range", "current_range"):
            if (value := getattr(self, key)) != "find" and not value > 0:
                raise ValueError(f"{key} {value:g}: must be above 0")
        if self.interval not in self.RATES_S:
            raise ValueError(f"interval {self.interval:g} s: the meter knows {', '.join(self.RATES_S.values())}")
        return self

    @property
    def finding(self) -> bool:
        """Whether the meter is to look for a range itself."""
        return "find" in (self.voltage_range, self.current_range)

    def accuracy(self, volts: float, amperes: float) -> Accuracy | None:
        """Of power on these ranges. Crest factor 6 is taken to double both terms."""
        pct = self.accuracy_pct or self.ACCURACY_PCT[self.mode]
        times = 2 if self.crest_factor == 6 and not self.accuracy_pct else 1
        return pct and Accuracy(times * pct[0], times * pct[1], volts * amperes)


def range_settings(
    head: str, value: float | str, unit: str, written: Callable[[float, str], str] = amount
) -> list[tuple[str, str]]:
    """Automatic ranging goes off before a fixed range is set, and is never mentioned after it."""
    if value == "find":
        return [(f"{head}:AUTO", "ON")]
    return [(f"{head}:AUTO", "OFF"), (f"{head}:RANG", written(float(value), unit))]


def fixed_range(ranges: Sequence[float], crest_factor: int, what: str, peaks: Mapping[str, float]) -> float:
    """The smallest range above the greatest value of channel ``what``, and above its peaks by the crest factor."""
    if what not in peaks or not math.isfinite(peaks[what]):
        raise Fatal(f"no range can be chosen: the ranging pass saw no {what}")
    need = HEADROOM * max(peaks[what], peaks.get(f"{what}_peak", 0.0) / crest_factor)
    scale = 0.5 if crest_factor == 6 else 1.0
    for each in ranges:
        if each * scale >= need:
            return each * scale
    raise Fatal(f"no range is large enough: {what} needs {need:g}, the largest is {ranges[-1] * scale:g}")
