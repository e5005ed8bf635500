"""Synthetic block load: pattern × mix × size × queue depth, closed loop or open loop at a rate.

Where users of fio look for ``rw``, ``bs``, ``iodepth`` and ``numjobs`` these are ``pattern`` with ``write``,
``block_size``, ``queue_depth`` and ``jobs``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.quantities import Rate, Seconds, Size
from iojoule.workloads import steadiness
from iojoule.workloads.base import Limits
from iojoule.workloads.keys import EngineKeys
from iojoule.workloads.steadiness import SteadyState
from iojoule.workloads.verification import Verify

if TYPE_CHECKING:
    from iojoule._native import Progress
    from iojoule.targets.storage import Place

OPEN_LOOP_DEPTH = 128
"""Outstanding requests of an open loop where nothing is said: a cap, which a sound device does not reach."""
DURATION_S = 10.0
_FROZEN = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Band(BaseModel):
    """One of ``bands``, in per cent, as vdbench and SNIA Emerald write hot bands."""

    model_config = _FROZEN

    share: float = Field(gt=0, le=100, description="Per cent of the requests that go to this band.")
    from_: float = Field(alias="from", ge=0, lt=100, description="Where the band begins, in per cent of the region.")
    to: float = Field(gt=0, le=100, description="Where the band ends, in per cent of the region.")
    skewed: bool = Field(False, description="Lean to the low end of the band: from + (to - from)·u².")

    @model_validator(mode="after")
    def _has_a_length(self) -> Band:
        if self.from_ >= self.to:
            raise ValueError(f"a band ends behind its beginning: from = {self.from_:g}, to = {self.to:g}")
        return self


class SizeShare(BaseModel):
    """One of ``sizes``."""

    model_config = _FROZEN

    bytes: Size = Field(ge=512, description="Size of a request.")
    weight: float = Field(1.0, gt=0, description="How often, against the weights of the others.")


class Block(EngineKeys):
    """``[[workload]]`` with ``kind = "block"``."""

    kind: Literal["block"]
    pattern: Literal["random", "sequential", "zipf", "pareto", "hot_band", "strided"] = Field(
        "random", description="Where the requests go: random is uniform, sequential starts each job at its own share."
    )
    theta: float = Field(0.99, gt=0, le=10, description="zipf: rank k is drawn with probability ~ 1/k^theta.")
    h: float = Field(
        0.8, gt=0.5, lt=1, description="pareto: a share h of the requests goes to a share 1-h of the region."
    )
    bands: list[Band] = Field(default_factory=list, description="hot_band: the rest is uniform over the whole region.")
    stride: Size | None = Field(None, ge=512, description="strided: from one request to the next.")
    write: float = Field(0.0, ge=0, le=100, description="Per cent of the requests that write; the others read.")
    trim: float = Field(0.0, ge=0, le=100, description="Per cent of the requests that discard.")
    block_size: Size = Field(4096, ge=512, le=1 << 30, description="Size of a request.")
    sizes: list[SizeShare] = Field(
        default_factory=list, description="Sizes with their weights, in place of block_size: [{bytes, weight}, ...]"
    )
    queue_depth: int = Field(
        1,
        ge=1,
        le=32767,  # entries of a ring, and one for a wait (IORING_MAX_ENTRIES)
        description="Outstanding requests of each job; the cap in an open loop, there 128 if left out.",
    )
    jobs: int = Field(1, ge=1, le=1024, description="Engine threads, each with its own queue.")
    rate: Rate | None = Field(
        None, gt=0, description="Open loop: requests per second over all jobs. Without it the loop is closed."
    )
    arrivals: Literal["constant", "poisson"] = Field("constant", description="With rate: equal or exponential gaps.")
    arrival_trace: Path | None = Field(
        None, description="Open loop at the times of this block trace; its places are not used."
    )
    speedup: float = Field(1.0, gt=0, description="With arrival_trace: how many seconds of the trace pass in one.")
    at_cap: Literal["block", "drop", "stop"] = Field(
        "block",
        description="Open loop, queue_depth reached: block keeps the planned time and waits, drop records the request "
        "as dropped, stop ends the load.",
    )
    offset: Size = Field(0, description="Where the region used begins.")
    size: Size | None = Field(None, gt=0, description="Length of the region used; to the end if left out.")
    ramp: Seconds = Field(0.0, description="Load before anything is measured; recorded as phase warmup.")
    duration: Seconds | None = Field(
        None,
        gt=0,
        description="Length of the measured phase; left out like requests, 10 s, or to the end of arrival_trace.",
    )
    requests: int | None = Field(
        None, ge=1, lt=1 << 63, description="Measured requests over all jobs; what comes first ends it."
    )
    fsync: int | None = Field(None, ge=1, description="fsync after every so many writes of a job.")
    fdatasync: int | None = Field(None, ge=1, description="fdatasync after every so many writes of a job.")
    compression: float = Field(1.0, ge=1, le=50, description="Original over compressed size of what is written.")
    deduplication: float = Field(1.0, ge=1, le=1000, description="All over distinct 4 KiB blocks of what is written.")
    verify: bool | Verify = Field(
        False, description="Stamp what is written and check what is read, also over restarts; true, or a table."
    )
    steady_state: SteadyState | None = Field(None, description="Measure only when the device has settled.")
    limits: Limits = Field(default_factory=Limits, description="Of an open loop: how late it may be.")

    @model_validator(mode="before")
    @classmethod
    def _filled_in(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        filled = dict(given)
        if all(filled.get(key) is None for key in ("duration", "requests", "arrival_trace")):
            filled["duration"] = DURATION_S
        if filled.get("rate") is not None or filled.get("arrival_trace") is not None:
            filled.setdefault("queue_depth", OPEN_LOOP_DEPTH)
        if filled.get("verify") is True:
            filled["verify"] = {}
        return filled

    @model_validator(mode="after")
    def _keys_agree(self) -> Block:
        given = self.model_fields_set
        for key, pattern in (("theta", "zipf"), ("h", "pareto"), ("bands", "hot_band"), ("stride", "strided")):
            if key in given and self.pattern != pattern:
                raise ValueError(f'{key} is only read with pattern = "{pattern}", not with "{self.pattern}"')
        if self.pattern == "hot_band" and not self.bands:
            raise ValueError('pattern = "hot_band" needs bands, for example [{share = 80, from = 10, to = 20}]')
        if self.pattern == "strided" and self.stride is None:
            raise ValueError('pattern = "strided" needs stride, for example "1MiB"')
        if sum(band.share for band in self.bands) > 100 + 1e-9:
            raise ValueError(
                f"the shares of bands come to {sum(band.share for band in self.bands):g} %, more than 100 %"
            )
        if self.write + self.trim > 100:
            raise ValueError(f"write + trim is {self.write + self.trim:g} %, more than 100 %")
        if self.sizes and "block_size" in given:
            raise ValueError("give either block_size or sizes")
        self._arrivals_agree(given)
        if self.fsync is not None and self.fdatasync is not None:
            raise ValueError("give either fsync or fdatasync")
        for key in ("fsync", "fdatasync", "compression", "deduplication"):
            if key in given and getattr(self, key) is not None and not self.write:
                raise ValueError(f"{key} needs write: nothing is written here")
        return self

    def _arrivals_agree(self, given: set[str]) -> None:
        if self.rate is not None and self.arrival_trace is not None:
            raise ValueError("give either rate or arrival_trace")
        if "arrivals" in given and self.rate is None:
            raise ValueError("arrivals needs rate: without one the loop is closed")
        if "speedup" in given and self.arrival_trace is None:
            raise ValueError("speedup is only read with arrival_trace")
        if "at_cap" in given and not self.open_loop:
            raise ValueError("at_cap is only read in an open loop: give rate or arrival_trace")

    @property
    def open_loop(self) -> bool:
        return self.rate is not None or self.arrival_trace is not None

    @property
    def writes(self) -> bool:
        return self.write > 0 or self.trim > 0

    @property
    def all_sizes(self) -> list[int]:
        return [share.bytes for share in self.sizes] or [self.block_size]

    def refuse_on(self, place: Place) -> None:
        """ConfigError where its requests do not lie on the target."""
        from iojoule.workloads.fit import refuse_what_does_not_fit

        refuse_what_does_not_fit(
            place, self.all_sizes, offset=self.offset, size=self.size, stride=self.stride, direct=self.direct
        )

    @classmethod
    def spelled(cls, key: str, value: Any) -> str | None:
        """A swept value in the name of its variant, as in ``random-write-4KiB-q32``; None for the usual spelling."""
        if key in ("pattern", "block_size"):
            return str(value)
        if key == "write" and value in (0, 100):
            return "write" if value else "read"
        return {"queue_depth": f"q{value}", "jobs": f"j{value}"}.get(key)

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        return {}

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        settling = steadiness.expected_s(self.steady_state) if self.steady_state else 0.0
        times = [time for time in (self.duration, self._requests_take_s()) if time is not None]
        return self.ramp + settling + min(times) if times else None

    def _requests_take_s(self) -> float | None:
        return None if self.rate is None or self.requests is None else self.requests / self.rate

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        from iojoule.workloads.block_run import run_block

        return run_block(self, target, run, progress, seed)
