"""What every workload offers the runner, and the table of workloads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from pydantic import BaseModel, ConfigDict, Field

from iojoule.metrics.cell import STORAGE as STORAGE  # the kinds of target that block load drives
from iojoule.quantities import Seconds

if TYPE_CHECKING:
    from iojoule._native import Progress

WORKLOADS = {
    "web_replay": "iojoule.workloads.web_replay:WebReplay",
    "web_closed": "iojoule.workloads.web_closed:WebClosed",
    "block": "iojoule.workloads.block:Block",
    "block_replay": "iojoule.workloads.block_replay:BlockReplay",
    "access_time": "iojoule.workloads.access_time:AccessTime",
    "fio": "iojoule.workloads.fio.load:Fio",
}


class Limits(BaseModel):
    """What a faithful run must keep to; a run outside is marked, and ``iojoule check`` exits 1."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stretch: float = Field(1.002, gt=1, description="Largest replayed span / trace span; its inverse is the smallest.")
    lateness_p99: Seconds = Field(0.005, description="Largest 99th percentile of issued - planned.")

    def describe(self) -> dict[str, float]:
        return {"stretch": self.stretch, "lateness_p99_ns": self.lateness_p99 * 1e9}


NO_PLAN = Limits()
"""Of loads without a plan they could be late against: no key of theirs, and nothing is judged by it."""


class Workload(Protocol):
    """A workload's section of the experiment, ready to be run."""

    name: str
    kind: str
    drives: ClassVar[frozenset[str]]
    """The kinds of target it can drive."""

    @property
    def writes(self) -> bool:
        """Whether it changes what the target holds."""

    @property
    def limits(self) -> Limits:
        """What a faithful run keeps to."""

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        """Make what every run of this workload needs under ``folder``, once; returns facts for the manifest.
        ``objects`` in it is the objects table a web server's content is made from."""

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        """How long a run will take, where that is known beforehand."""

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        """Drive the running target and record under ``run``; returns the engine's summary."""
