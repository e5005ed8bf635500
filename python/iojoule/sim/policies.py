"""``[policy]``: when drives rest and which gear the array runs in; one model a kind. Times that are left out follow
from the drive's break-even time, the idle period from which resting pays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Seconds

Rest = Literal["low_power_idle", "standby", "sleep"]
BreakEven = Literal["break_even"]


TIMES = frozenset({"threshold", "first", "least", "most", "hold", "tick", "window"})
"""Keys that are times; the engine takes them in nanoseconds."""


class Ration(BaseModel):
    """``ration``: power cycles a drive may take."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cycles: float = Field(gt=0, description="Start-stop cycles a drive is rated for.")
    years: float = Field(gt=0, description="Years it is to live.")


class Policy(BaseModel):
    """What every policy has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str

    def engine(self) -> dict[str, Any]:
        """The policy as the engine takes it: whole nanoseconds, and only what was said."""
        said: dict[str, Any] = {"kind": self.kind}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if name == "kind" or value is None:
                continue
            if isinstance(value, BaseModel):
                said[name] = value.model_dump()
            elif isinstance(value, Path):
                said[name] = str(value.absolute())
            elif name in TIMES:
                said[f"{name}_ns"] = value if isinstance(value, str) else _ns(value)
            else:
                said[name] = value
        return said


class Never(Policy):
    """Drives always spin."""

    kind: Literal["never"] = "never"


class Fixed(Policy):
    """A drive rests after it has been idle for the threshold."""

    kind: Literal["fixed"]
    threshold: BreakEven | Seconds | None = Field(None, description="Idle time after which a drive rests.")
    to: Rest | None = Field(None, description="Where it rests; standby if left out.")
    ration: Ration | None = Field(None, description="Power cycles that may be spent.")


class Randomised(Policy):
    """The threshold is drawn for each idle period, at most the break-even."""

    kind: Literal["randomised"]
    to: Rest | None = Field(None, description="Where a drive rests; standby if left out.")
    seed: int | None = Field(None, ge=0, description="Of what is drawn.")
    ration: Ration | None = Field(None, description="Power cycles that may be spent.")


class Adaptive(Policy):
    """The threshold grows after a spin-down that did not pay and shrinks after one that did."""

    kind: Literal["adaptive"]
    first: BreakEven | Seconds | None = Field(None, description="The first threshold.")
    least: Seconds | None = Field(None, description="Its lower bound; an eighth of the break-even if left out.")
    most: Seconds | None = Field(None, description="Its upper bound; eight times the break-even if left out.")
    up: float | None = Field(None, gt=1, description="Factor after a spin-down that did not pay; 2 if left out.")
    down: float | None = Field(None, gt=0, lt=1, description="Factor after one that did; 0.5 if left out.")
    to: Rest | None = Field(None, description="Where a drive rests; standby if left out.")
    ration: Ration | None = Field(None, description="Power cycles that may be spent.")


class Share(Policy):
    """The threshold is a weighted mean of experts, each of a threshold of its own."""

    kind: Literal["share"]
    experts: int | None = Field(None, ge=1, description="How many; 33 if left out.")
    most: Seconds | None = Field(None, description="The largest threshold; twice the break-even if left out.")
    eta: float | None = Field(None, gt=0, description="Learning rate; 4 if left out.")
    alpha: float | None = Field(None, ge=0, le=1, description="Share that is mixed again; 0.08 if left out.")
    to: Rest | None = Field(None, description="Where a drive rests; standby if left out.")
    ration: Ration | None = Field(None, description="Power cycles that may be spent.")


class Gears(Policy):
    """PARAID's controller: shifts gears by how busy the drives are."""

    kind: Literal["gears"]
    up_threshold: float | None = Field(None, gt=0, le=1, description="Utilisation above which it shifts up; 0.8.")
    hysteresis: float | None = Field(None, ge=0, lt=1, description="Below the threshold by so much to shift down; 0.1.")
    hold: BreakEven | Seconds | None = Field(None, description="No shift down for this long after one up.")
    tick: Seconds | None = Field(None, description="Utilisation is sampled this often; 1 s.")
    windows: list[Seconds] | None = Field(None, description="Short, medium, long window; 10, 60 and 300 s.")
    ration: Ration | None = Field(None, description="Power cycles that may be spent.")

    def engine(self) -> dict[str, Any]:
        said = super().engine()
        said.pop("windows", None)
        return said if self.windows is None else {**said, "windows_ns": [_ns(one) for one in self.windows]}


class Python(Policy):
    """A class in a Python file, called at decision points only."""

    kind: Literal["python"]
    file: Path = Field(description="The file.")
    name: str = Field(alias="class", description="The class.")
    arguments: dict[str, bool | int | float | str] | None = Field(None, description="Given to the class by name.")
    window: Seconds | None = Field(None, description="How often `window` is called; never if left out.")
    ration: Ration | None = Field(None, description="Power cycles that may be spent.")

    def engine(self) -> dict[str, Any]:
        said = super().engine()
        said["class"] = said.pop("name")
        return said


POLICIES: Mapping[str, type[Policy]] = {
    "never": Never,
    "fixed": Fixed,
    "randomised": Randomised,
    "adaptive": Adaptive,
    "share": Share,
    "gears": Gears,
    "python": Python,
}
"""The table of policies."""


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
