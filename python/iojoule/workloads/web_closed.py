"""Closed loop over a list of objects: N connections, each asking as soon as it was answered (the http_load scenario of
seeds/004, slide 32: 100,000 fetches over 40 connections)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, model_validator

from iojoule.quantities import Seconds, Size
from iojoule.workloads.base import NO_PLAN, Limits
from iojoule.workloads.keys import ClientKeys, nanoseconds

if TYPE_CHECKING:
    from iojoule._native import Progress


class WebClosed(ClientKeys):
    """``[[workload]]`` with ``kind = "web_closed"``."""

    limits: ClassVar[Limits] = NO_PLAN

    kind: Literal["web_closed"]
    objects: Path | None = Field(None, description="Objects table of a prepared log; otherwise files and file_size.")
    files: int = Field(1000, ge=1, description="How many files are made where no objects table is given.")
    file_size: Size = Field(8700, description="Size of each of them; the mean of seeds/004 is 8.7 kB.")
    connections: int = Field(40, ge=1, description="Connections open at a time.")
    fetches: int | None = Field(None, ge=1, description="Fetches in all; give this, duration, or both.")
    duration: Seconds | None = Field(None, gt=0, description="How long to fetch.")
    warmup: Seconds = Field(0.0, description="Time at the start that is reported apart.")
    keepalive: bool = Field(True, description="Keep connections open between fetches.")
    order: Literal["random", "sequential"] = Field("random", description="Order of the objects (seeded).")

    @model_validator(mode="after")
    def _has_an_end(self) -> WebClosed:
        if self.fetches is None and self.duration is None:
            raise ValueError("give fetches, duration, or both: a closed loop needs an end")
        return self

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        objects = self.objects
        if objects is None:
            objects = folder / f"{self.name}.objects.parquet"
            if not objects.exists():
                _equal_files(objects, self.files, self.file_size)
        return {"objects": str(objects)}

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        return self.duration

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        from iojoule import _native

        config = self.native(target, run, warmup_s=self.warmup) | {
            "objects": prepared["objects"],
            "connections": self.connections,
            "fetches": self.fetches,
            "duration_ns": nanoseconds(self.duration),
            "keepalive": self.keepalive,
            "order": self.order,
            "seed": seed,
        }
        summary: dict[str, Any] = json.loads(_native.http_closed(json.dumps(config), progress))
        return summary


def _equal_files(objects: Path, files: int, size: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"{i // 1000:03d}/{i:06d}.html" for i in range(files)]
    columns = {
        "object": pa.array(range(files), pa.uint32()),
        "path": pa.array([f"/{name}" for name in names]),
        "file": pa.array(names),
        "size": pa.array([size] * files, pa.uint64()),
        "size_rule": pa.array(["stated"] * files),
    }
    pq.write_table(pa.table(columns), objects)
