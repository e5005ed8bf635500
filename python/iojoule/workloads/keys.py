"""The keys that workloads have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Seconds
from iojoule.workloads.base import STORAGE

if TYPE_CHECKING:
    from iojoule.targets.storage import Storage

Waiting = Literal["sleep", "hybrid", "spin"]
WAITING = "How a deadline is waited for: sleep is cheapest, spin the most exact, hybrid spins the end."


class EngineKeys(BaseModel):
    """Every ``[[workload]]`` of the native block engine."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    drives: ClassVar[frozenset[str]] = STORAGE

    name: str
    direct: bool = Field(True, description="O_DIRECT: past the page cache. What was in force is recorded.")
    engine: Literal["io_uring", "threads"] = Field(
        "io_uring", description="Where the kernel denies io_uring, threads take over, which is warned of and recorded."
    )
    waiting: Waiting = Field("hybrid", description=WAITING)
    drain: Seconds = Field(30.0, description="How long answers are awaited at the end; then they are client_stop.")

    def native(self, target: Storage, run: Path, seed: int, *, writes: bool, warmup_s: float) -> dict[str, Any]:
        """What the engine is told whatever the work is."""
        return {
            "run": str(run),
            "target": target.native(direct=self.direct, writable=writes),
            "engine": self.engine,
            "waiting": self.waiting,
            "warmup_ns": nanoseconds(warmup_s),
            "drain_ns": nanoseconds(self.drain),
            "seed": seed,
        }


class ClientKeys(BaseModel):
    """Every ``[[workload]]`` of the native HTTP client."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    drives: ClassVar[frozenset[str]] = frozenset({"http"})
    writes: ClassVar[bool] = False

    name: str
    timeout: Seconds = Field(30.0, gt=0, description="A request that takes longer is recorded as timeout.")
    threads: int = Field(1, ge=1, description="Engine threads.")
    ca: Path | None = Field(None, description="Certificate authority for https, in PEM.")
    insecure: bool = Field(False, description="Accept any certificate.")

    def native(self, target: Any, run: Path, *, warmup_s: float) -> dict[str, Any]:
        """What the client is told whatever it asks for."""
        ca = self.ca or target.certificate
        return {
            "url": target.url,
            "warmup_ns": nanoseconds(warmup_s),
            "timeout_ns": nanoseconds(self.timeout),
            "threads": self.threads,
            "tls": {"ca": None if ca is None else str(ca), "insecure": self.insecure},
            "run": str(run),
        }


def nanoseconds(seconds: float | None) -> int | None:
    """A time as the engines take it."""
    return None if seconds is None else round(seconds * 1e9)
