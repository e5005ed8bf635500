"""Access time as h2benchw measures it: random reads of one logical sector, one at a time, past every cache.

Least, mean and greatest time of all of them are reported (Mordvinova, "USB Flash Drives", 2009, slide 18).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Seconds, Size
from iojoule.workloads.base import NO_PLAN, STORAGE, Limits
from iojoule.workloads.block import Block
from iojoule.workloads.block_run import run_block
from iojoule.workloads.fit import refuse_what_does_not_fit

if TYPE_CHECKING:
    from iojoule._native import Progress
    from iojoule.targets.storage import Place

LEAST_SECTOR = 512


class AccessTime(BaseModel):
    """``[[workload]]`` with ``kind = "access_time"``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    drives: ClassVar[frozenset[str]] = STORAGE
    writes: ClassVar[bool] = False
    limits: ClassVar[Limits] = NO_PLAN

    name: str
    kind: Literal["access_time"]
    requests: int = Field(5000, ge=1, description="Reads in all; 5000 take about a minute on a disk of 7200 r/min.")
    duration: Seconds | None = Field(None, gt=0, description="End after this long, though not all reads are done.")
    ramp: Seconds = Field(0.0, description="Reads before anything is measured; recorded as phase warmup.")
    offset: Size = Field(0, description="Where the region used begins.")
    size: Size | None = Field(None, gt=0, description="Length of the region used; to the end if left out.")
    direct: bool = Field(True, description="O_DIRECT; false measures the page cache as well, which is warned of.")
    engine: Literal["io_uring", "threads"] = Field("io_uring", description="How the reads are handed to the kernel.")

    def refuse_on(self, place: Place) -> None:
        """ConfigError where its reads do not lie on the target."""
        sector = max(place.block_bytes, LEAST_SECTOR)
        refuse_what_does_not_fit(place, [sector], offset=self.offset, size=self.size, stride=None, direct=self.direct)

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        return {}

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        return None

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        keys = {"requests", "duration", "ramp", "offset", "size", "direct", "engine"}
        reads = Block(
            name=self.name,
            kind="block",
            block_size=target.logical_block_bytes,
            **{key: getattr(self, key) for key in keys},
        )
        summary = run_block(reads, target, run, progress, seed)
        if target.paths and not summary.get("direct", True):
            text = "the reads were buffered: some of these times are those of the page cache, not of the device"
            summary.setdefault("warnings", []).append(text)
        return summary
