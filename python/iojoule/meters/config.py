"""What every ``[[meter]]`` section of an experiment has in common."""

from __future__ import annotations

from datetime import date

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.quantities import Seconds


class MeterConfig(BaseModel):
    """Base of the drivers' ``Config``. Unknown keys are errors; times are numbers of seconds or ``"250ms"``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        description="Name of the meter in tables and pictures; its kind when not given.",
    )
    kind: str = Field(description="Which driver reads it.")
    interval: Seconds = Field(default=1.0, description="Time between two readings.")
    calibrated: date | None = Field(default=None, description="Day of its last calibration, 2026-03-01; for profiles.")

    @property
    def stated(self) -> dict[str, str]:
        """What only the person at the bench knows of the meter, for the manifest."""
        return {"calibrated": self.calibrated.isoformat()} if self.calibrated else {}

    @model_validator(mode="before")
    @classmethod
    def _named_by_its_kind(cls, raw: object) -> object:
        if isinstance(raw, dict) and "name" not in raw and "kind" in raw:
            return {"name": raw["kind"], **raw}
        return raw

    @model_validator(mode="after")
    def _interval_is_positive(self) -> MeterConfig:
        if self.interval <= 0:
            raise ValueError("interval must be above 0 s")
        return self
