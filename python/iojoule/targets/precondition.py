"""The state storage is brought into before it is measured: a fresh drive is faster than one that was written full."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Seconds, Size


class Precondition(BaseModel):
    """``[target.precondition]``: how storage is written before it is measured (SNIA PTS: twice, in order)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before: Literal["campaign", "step"] = Field(
        "campaign", description="Before the first step on a target, or before each; after a purge in any case."
    )
    passes: float = Field(
        2.0, gt=0, le=100, description="How often the whole target is written; 0.5 writes half of it."
    )
    pattern: Literal["sequential", "random"] = Field("sequential", description="In which order.")
    block_size: Size = Field(128 * 1024, ge=512, le=1 << 30, description="Size of a request.")
    queue_depth: int = Field(32, ge=1, le=32767, description="Outstanding requests.")
    duration: Seconds | None = Field(None, gt=0, description="End after this long, though the passes are not done.")
