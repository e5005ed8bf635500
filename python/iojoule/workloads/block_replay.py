"""Replay of a block trace on storage, each request at its own time: open loop, absolute deadlines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator, model_validator

from iojoule.quantities import Seconds
from iojoule.workloads.base import Limits
from iojoule.workloads.block_trace import canonical, played_span_s
from iojoule.workloads.keys import EngineKeys, nanoseconds
from iojoule.workloads.native import block_load

if TYPE_CHECKING:
    from iojoule._native import Progress


def _limits() -> Limits:
    return Limits(stretch=1.001, lateness_p99=0.001)


class BlockReplay(EngineKeys):
    """``[[workload]]`` with ``kind = "block_replay"``."""

    kind: Literal["block_replay"]
    trace: list[Path] = Field(
        min_length=1, description="A block trace in any format of `iojoule trace`; several are merged by time."
    )
    format: str | None = Field(None, description="Format of the trace, where it is not recognised.")
    time_unit: Literal["s", "ms", "us", "100ns", "ns"] | None = Field(
        None, description="Unit of the trace's times, where it is not the format's own."
    )
    sort: bool = Field(False, description="The trace is in no order: sort it.")
    devices: list[int] | None = Field(
        None,
        min_length=1,
        description="Only these devices, on the target's files in this order; one file takes all. "
        "Left out, device k goes to file k.",
    )
    speedup: float = Field(1.0, gt=0, description="How many seconds of the trace pass in one.")
    fit: Seconds | None = Field(None, gt=0, description="Choose speedup so that what is played takes this long.")
    keep: float = Field(
        1.0, gt=0, le=1, description="Share of the requests played, at equal distances; the times stay as they are."
    )
    as_fast_as_possible: bool = Field(
        False,
        description="Send each request as soon as one is done, outstanding at a time, whatever the trace's times.",
    )
    outstanding: int = Field(1024, ge=1, le=32767, description="Cap on outstanding requests.")
    at_cap: Literal["block", "drop", "stop"] = Field(
        "block",
        description="At the cap: block keeps the planned time and waits, drop records the request as dropped, stop "
        "ends the load.",
    )
    remap: Literal["refuse", "wrap", "scale"] = Field(
        "refuse",
        description="Addresses beyond the target: an error before anything is sent, modulo its size, or in proportion.",
    )
    align: Literal["refuse", "round"] = Field(
        "refuse", description="Requests that are not whole blocks where direct needs such: refuse, or make them larger."
    )
    writes: bool = Field(False, description="Do writes, trims and flushes too; else they are left out and counted.")
    until: Seconds | None = Field(None, gt=0, description="Leave out what the trace has from this time of its own on.")
    max_requests: int | None = Field(None, ge=1, description="End after this many requests.")
    warmup: Seconds = Field(0.0, description="Span at the start that is played but reported apart.")
    limits: Limits = Field(default_factory=_limits, description="What a faithful replay keeps to.")

    @field_validator("trace", mode="before")
    @classmethod
    def _one_or_many(cls, given: Any) -> Any:
        return [given] if isinstance(given, (str, Path)) else given

    @model_validator(mode="after")
    def _keys_agree(self) -> BlockReplay:
        given = self.model_fields_set
        if self.fit is not None and "speedup" in given:
            raise ValueError("give either fit or speedup")
        if self.as_fast_as_possible:
            for key in ("speedup", "fit", "at_cap"):
                if key in given:
                    raise ValueError(f"{key} is not read as fast as possible: there are no times to keep")
        if self.devices is not None and len(set(self.devices)) < len(self.devices):
            raise ValueError("devices names one twice")
        return self

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        """The canonical table, made once for all workloads that play the same trace."""
        reading = {"format": self.format, "time_unit": self.time_unit, "sort": self.sort}
        return canonical(self.trace, reading, folder)

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        if self.as_fast_as_possible:
            return None
        if self.fit is not None:
            return self.fit
        return played_span_s(Path(prepared["trace"]), self.until, self.max_requests) / self.speedup

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        config = self.native(target, run, seed, writes=self.writes, warmup_s=self.warmup) | {
            "work": {
                "kind": "replay",
                "trace": prepared["trace"],
                "devices": self.devices,
                "speedup": self.speedup,
                "fit_ns": nanoseconds(self.fit),
                "keep": self.keep,
                "as_fast_as_possible": self.as_fast_as_possible,
                "outstanding": self.outstanding,
                "at_cap": self.at_cap,
                "remap": self.remap,
                "align": self.align,
                "writes": self.writes,
                "until_ns": nanoseconds(self.until),
                "max_requests": self.max_requests,
            }
        }
        summary = block_load(config, progress)
        summary["warnings"] = [*prepared.get("warnings", []), *summary.get("warnings", [])]
        return summary
