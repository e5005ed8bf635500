"""Replay of a web log with its own timing (the WebClient of seeds/000, §4.4): open loop, absolute deadlines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.errors import ConfigError
from iojoule.quantities import Seconds
from iojoule.workloads.base import Limits
from iojoule.workloads.keys import WAITING, ClientKeys, Waiting, nanoseconds

if TYPE_CHECKING:
    from iojoule._native import Progress


class Prepare(BaseModel):
    """``[workload.prepare]``: how the log becomes a replay table; the options of ``iojoule weblog prepare``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keep: Literal["static", "get", "all"] = Field("static", description="Which requests are kept.")
    names: Literal["hmac", "sha1", "plain"] = Field("hmac", description="How paths are pseudonymised.")
    spread: bool = Field(True, description="Spread requests inside the second their stamp names (seeded).")
    since: str | None = Field(None, description="First instant kept: date, or date and time, in the log's own zone.")
    until: str | None = Field(None, description="First instant no longer kept.")
    cut: list[str] = Field(
        default_factory=list, description="Rules of what to leave out: robots, attacks, host=..., path=..."
    )


class WebReplay(ClientKeys):
    """``[[workload]]`` with ``kind = "web_replay"``."""

    kind: Literal["web_replay"]
    log: list[Path] = Field(default_factory=list, description="Access logs, read as one; plain or compressed.")
    replay: Path | None = Field(None, description="A replay table made by `iojoule weblog prepare`, instead of log.")
    prepare_options: Prepare = Field(
        default_factory=Prepare, alias="prepare", description="How log becomes a replay table."
    )
    speedup: float = Field(1.0, gt=0, description="How many seconds of the trace pass in one.")
    fit: Seconds | None = Field(None, gt=0, description="Choose speedup so that the whole trace takes this long.")
    warmup: Seconds = Field(0.0, description="Span at the start of the trace that is played but reported apart.")
    cooldown: Seconds = Field(0.0, description="Span at the end of the trace that is played but reported apart.")
    connections: int = Field(1022, ge=1, description="Cap on open connections.")
    at_cap: Literal["queue", "drop"] = Field(
        "queue", description="At the cap: queue keeps the planned time and waits; drop records the request as dropped."
    )
    connection_mode: Literal["per_request", "per_client", "pool"] = Field(
        "per_request", description="per_request opens one each; per_client keeps one alive per client; pool shares all."
    )
    waiting: Waiting = Field("hybrid", description=WAITING)
    drain: Seconds = Field(30.0, description="How long answers are awaited after the last request; then client_stop.")
    host: str | None = Field(None, description="Host header, where it differs from the URL's.")
    limits: Limits = Field(default_factory=Limits, description="What a faithful replay keeps to.")

    @model_validator(mode="after")
    def _one_source(self) -> WebReplay:
        if bool(self.log) == (self.replay is not None):
            raise ValueError("give either log or replay")
        if self.fit is not None and "speedup" in self.model_fields_set:
            raise ValueError("give either fit or speedup")
        return self

    def prepare(self, folder: Path, seed: int) -> dict[str, Any]:
        from iojoule import _native

        if self.replay is not None:
            replay, facts = self.replay, {}
        else:
            replay = folder / f"{self.name}.replay.parquet"
            facts = self._prepare_log(replay, seed, _native) if not replay.exists() else {}
        objects = replay.with_name(replay.name.removesuffix(".parquet").removesuffix(".replay") + ".objects.parquet")
        span_s = _span_s(replay)
        speedup = span_s / self.fit if self.fit is not None else self.speedup
        return {"replay": str(replay), "objects": str(objects), "span_s": span_s, "speedup": speedup, "weblog": facts}

    def _prepare_log(self, replay: Path, seed: int, native: Any) -> dict[str, Any]:
        options = self.prepare_options
        request = {
            "paths": [str(path) for path in self.log],
            "output": str(replay),
            "keep": options.keep,
            "names": options.names,
            "spread": options.spread,
            "seed": seed,
            "since": options.since,
            "until": options.until,
            "cut": options.cut,
        }
        facts: dict[str, Any] = json.loads(native.weblog_prepare(json.dumps(request)))
        return facts

    def expected_s(self, prepared: Mapping[str, Any]) -> float | None:
        return self.fit if self.fit is not None else float(prepared["span_s"]) / float(prepared["speedup"])

    def run(self, target: Any, run: Path, prepared: Mapping[str, Any], progress: Progress, seed: int) -> dict[str, Any]:
        from iojoule import _native

        config = self.native(target, run, warmup_s=self.warmup) | {
            "replay": prepared["replay"],
            "speedup": prepared["speedup"],
            "cooldown_ns": nanoseconds(self.cooldown),
            "connections": self.connections,
            "at_cap": self.at_cap,
            "connection_mode": self.connection_mode,
            "waiting": self.waiting,
            "drain_ns": nanoseconds(self.drain),
            "host": self.host,
        }
        summary: dict[str, Any] = json.loads(_native.http_replay(json.dumps(config), progress))
        return summary


def _span_s(replay: Path) -> float:
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(replay).metadata or {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{replay} cannot be read as a replay table: {error}", key="workload.replay") from error
    if metadata.get(b"iojoule.kind") != b"replay":
        raise ConfigError(
            f"{replay} is not a replay table; make one with `iojoule weblog prepare`", key="workload.replay"
        )
    return int(metadata[b"iojoule.span_ns"]) / 1e9
