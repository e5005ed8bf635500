"""Synthetic block load: pattern × mix × size × queue depth, closed loop or open loop at a rate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Seconds, Size
from iojoule.workloads.base import STORAGE, Limits

if TYPE_CHECKING:
    from iojoule._native import Progress


class Block(BaseModel):
    """``[[workload]]`` with ``kind = "block"``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    drives: ClassVar[frozenset[str]] = STORAGE

    name: str
    kind: Literal["block"]
    pattern: Literal["random", "sequential"] = Field("random", description="Where the requests go.")
    write: float = Field(0.0, ge=0, le=100, description="Per cent of the requests that write.")
    block_size: Size = Field(4096, gt=0, description="Size of a request.")
    queue_depth: int = Field(1, ge=1, description="Outstanding requests of each job.")
    duration: Seconds = Field(10.0, gt=0, description="Length of the measured phase.")
    limits: Limits = Field(default_factory=Limits, description="Of an open loop: how late it may be.")

    @property
    def writes(self) -> bool:
        return self.write > 0

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        return {}

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        return self.duration

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        from iojoule import _native

        config = {
            "run": str(run),
            "target": target.native(direct=True, writable=self.writes),
            "work": {
                "kind": "synthetic",
                "pattern": {"kind": self.pattern},
                "mix": {"write": self.write / 100},
                "sizes": [{"bytes": self.block_size}],
                "queue_depth": self.queue_depth,
            },
            "duration_ns": round(self.duration * 1e9),
            "seed": seed,
        }
        summary: dict[str, Any] = json.loads(_native.block_load(json.dumps(config), progress))
        return summary
