"""What one number of an instrument is, where only the section of the experiment can say it."""

from __future__ import annotations

import math
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.meters import base
from iojoule.meters.base import Accuracy, Channel


class ChannelConfig(BaseModel):
    """One ``channels`` entry; drivers add where the number stands."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="Name of the channel.")
    quantity: str = Field(default="power", description="What is measured.")
    unit: str = Field(default="W", description="Unit after scale.")
    # "instant" is a sample, "counter" counts joules and gives what was used since the last look.
    kind: base.Kind = Field(default="window_mean", description="How it becomes energy.")
    boundary: base.Boundary = Field(description="Where it measures.")
    scale: float = Field(default=1.0, description="Multiplies the number that is answered.")
    accuracy: tuple[float, float, float] | None = Field(
        default=None, description="% of reading, % of range, range (in unit); the half-width a data sheet states."
    )
    resolution: float = Field(default=0.0, ge=0, description="Last digit, in unit.")
    overload: float = Field(default=9.9e37, gt=0, description="Answered numbers from here on are over range.")
    sentinel: tuple[str, ...] = Field(default=(), description="Answers that mean: no value.")
    modulus: float | None = Field(default=None, gt=0, description="Where a counter wraps, in unit.")
    p_max: float = Field(default=1e5, gt=0, description="Watts a counter's consumer can never exceed.")
    contains: tuple[str, ...] = Field(default=(), description="Channels whose energy is inside this one's.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")

    @model_validator(mode="after")
    def _a_counter_counts_joules(self) -> Self:
        if self.kind == "counter" and self.unit != "J":
            raise ValueError(f"{self.id}: a counter counts J; scale makes joules of what is answered (Wh: 3600)")
        return self

    def channel(self, latency_s: float, interval_s: float) -> Channel:
        spec = Accuracy(*self.accuracy) if self.accuracy else None
        digit = self.resolution / math.sqrt(12)
        of_counter, of_value = (digit, None) if self.kind == "counter" else (0.0, digit or None)
        return Channel(
            self.id, self.quantity, self.unit, self.boundary, self.kind, modulus=self.modulus,
            u_rel=spec.u_rel if spec else None,
            u_abs=(spec.u_abs if spec else 0.0) + of_counter if spec or of_counter else None, u_digit=of_value,
            latency_s=latency_s, min_interval_s=interval_s, contains=self.contains, role=self.role, drive=self.drive,
        )  # fmt: skip
