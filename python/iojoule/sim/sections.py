"""The design file: what every key means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from iojoule.errors import ConfigError
from iojoule.quantities import Rate, Seconds, Size
from iojoule.sim.policies import POLICIES, Never, Policy


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Header(_Section):
    """``[design]``: what holds for all of it."""

    name: str = Field("", description="Name of the design; the file's, if left out.")
    description: str = Field("", description="A sentence for the report.")
    seed: int = Field(1, ge=0, description="Seed of everything random: phases, synthetic loads, policies that draw.")


class Drive(_Section):
    """``[drive]``: the drive all members of the array are of."""

    preset: str | None = Field(None, description="Name of a preset drive.")
    file: Path | None = Field(None, description="A drive as .toml, or DiskSim's .diskspecs or .parv.")
    name: str | None = Field(None, description="Which drive, where the file holds several.")
    disksim: Path | None = Field(
        None, description="A whole DiskSim system (.parv): its drive, array, scheduler and device map; no [array] then."
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [key for key in ("preset", "file", "disksim") if getattr(self, key) is not None]
        if len(given) != 1:
            said = " and ".join(given) if given else "none"
            raise ValueError(f"a drive is one of preset, file and disksim, not {said}")
        return self


class Array(_Section):
    """``[array]``: where blocks live and who is served next."""

    layout: Literal["single", "concat", "raid0", "raid1", "raid10", "raid4", "raid5", "sr", "paraid"] = Field(
        "single", description="Where blocks live."
    )
    drives: int | None = Field(None, ge=1, le=65535, description="Number of drives; one for single, Ds·Dr·Dm for sr.")
    shape: str | None = Field(
        None, pattern=r"^\d+x\d+x\d+$", description="sr: Ds x Dr x Dm, stripes x rotational replicas x mirrors: 2x3x1."
    )
    copies: int | None = Field(
        None, ge=2, description="raid10: copies of every block; 2 if left out. raid1 has a copy on every drive."
    )
    gears: list[int] | None = Field(None, description="paraid: active drives of each gear, rising: [2, 4].")
    flavour: Literal["raid0", "raid5"] | None = Field(None, description="paraid: the layout of each gear; raid0.")
    data: Size | None = Field(
        None,
        description="paraid: data to make room for; as much as fits if left out. The less, the closer replicas lie.",
    )
    rmw_fraction: float | None = Field(
        None,
        ge=0,
        le=1,
        description="raid4, raid5, paraid: below this share of a stripe a write reads what it replaces.",
    )
    stripe_unit: Size | None = Field(None, description="Consecutive data on one drive; 64KiB if left out.")
    scheduler: Literal["fcfs", "sstf", "look", "clook", "satf", "rlook", "rsatf"] = Field(
        "fcfs", description="Which request a drive serves next."
    )
    age_limit: Seconds | None = Field(None, description="A request that has waited longer is served next.")
    read_choice: Literal["first_served", "round_robin", "shortest_queue"] = Field(
        "first_served", description="Which of several drives with the same data is read."
    )
    propagation: Literal["background", "foreground", "none"] = Field(
        "background",
        description="When the other copies of a write are written: in idle time, before it ends, or never (what "
        "replication would give if it were free).",
    )
    nvram: int = Field(10_000, ge=0, description="Pending copies at most; when full, a write ends with its last copy.")
    idle_delay: Seconds = Field(0.0, description="Without requests for this long a drive works on pending copies.")
    phase: Literal["same", "random"] = Field("random", description="Angles of the spindles to each other.")
    overhead: Seconds = Field(0.0, description="A constant added to every request that drives serve.")
    overhead_at: Literal["response", "drive"] = Field(
        "response", description="Whether the overhead delays the answer only, or holds the drive, too."
    )
    rebuild_outstanding: int = Field(1, ge=1, description="Steps of a rebuild or gear shift under way at once.")
    rebuild_share: float = Field(0.1, ge=0, le=1, description="Least share of a busy drive's commands for a rebuild.")


class Weblog(_Section):
    """``[trace.weblog]``: a prepared web log and the server that answers it."""

    replay: Path = Field(description="The replay table.")
    objects: Path | None = Field(None, description="The objects table; the one beside the replay table if left out.")
    tree: Path | None = Field(None, description="A table of more files, that take their room: columns path and size.")
    spread: Size | None = Field(None, description="Files are spread over so much of the array; else packed.")
    fragment: Size | None = Field(None, description="Longer files lie in pieces of this size.")
    memory: Size | None = Field(None, description="Memory of the server for pages of files; 1GiB.")
    read: Size | None = Field(None, description="Bytes a read asks for; 128KiB.")
    reads_ahead: int | None = Field(None, ge=1, description="Reads of one web request under way at once; 1.")
    metadata: bool | None = Field(None, description="A block of metadata is read before a file; true.")
    access_times: Seconds | None = Field(None, description="Time of last access is kept and written after this long.")


class Trace(_Section):
    """``[trace]``: what is asked of the array: one of file, synth, random and weblog."""

    file: list[Path] | Path | None = Field(None, description="Block trace, any known format, plain or compressed.")
    format: str | None = Field(None, description="Format of the file, where it is not recognised.")
    time_unit: Literal["s", "ms", "us", "100ns", "ns"] | None = Field(None, description="Unit of the file's times.")
    synth: str | None = Field(
        None, description="A synthetic trace by profile: cello-base, cello-disk6, tpcc; or none, with all keys its own."
    )
    changes: dict[str, Any] = Field(
        default_factory=dict,
        description="synth: keys of the profile that are changed, as `iojoule trace synth` has them.",
    )
    random: Size | None = Field(None, description="Uniform random requests of this size.")
    weblog: Weblog | None = Field(None, description="A prepared web log and its server.")
    requests: int | None = Field(None, ge=1, description="random: how many.")
    rate: Rate | None = Field(None, gt=0, description="random: requests per second.")
    reads: float = Field(1.0, ge=0, le=1, description="random: share of reads.")
    span: Size | None = Field(None, description="random: bytes of the address space; the whole array if left out.")
    speed: float = Field(1.0, gt=0, description="Plays the trace this many times as fast.")
    arrivals: Literal["open", "closed", "paced"] = Field(
        "open",
        description="open: at their times; closed: always `outstanding` at once; paced: each as long after the answer "
        "to the one before as measured.",
    )
    outstanding: int = Field(1, ge=1, description="closed: requests outstanding.")
    think: Seconds = Field(0.0, description="closed: pause between an answer and the next request.")
    fit: Literal["refuse", "wrap", "scale"] = Field("refuse", description="Addresses beyond the array.")
    devices: Literal["one", "merge", "concatenate"] | dict[str, Size] = Field(
        "one",
        description="How several traced devices share the array: refused, all at the same addresses, one behind the "
        "other (the trace is read once more to learn their sizes), or a table of sizes by device number.",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [key for key in ("file", "synth", "random", "weblog") if getattr(self, key) is not None]
        if len(given) != 1:
            said = " and ".join(given) if given else "none"
            raise ValueError(f"a trace is one of file, synth, random and weblog, not {said}")
        return self

    @property
    def files(self) -> list[Path]:
        given = self.file
        return [] if given is None else given if isinstance(given, list) else [given]


class Cache(_Section):
    """``[cache]``: memory of the host in front of the array; least recently used pages go first."""

    size: Size = Field(description="Bytes of memory.")
    block: Size = Field(4096, gt=0, description="Bytes of a block; whole sectors.")
    hit: Seconds = Field(0.0, description="Time of a request that memory answers.")
    flush: Seconds | None = Field(
        None, gt=0, description="Asynchronous writes are held back and written at this interval; unset, as they come."
    )


class Fault(_Section):
    """``[[fault]]``: what happens to a drive, and when."""

    at: Seconds = Field(description="Simulated time.")
    drive: int = Field(ge=0, description="Which drive, from 0.")
    kind: Literal["fail", "replace"] = Field(description="It fails, or a new one takes its place and is rebuilt.")


class Report(_Section):
    """``[report]``: which times are reported, and when a run ends."""

    times: Literal["all", "sync"] = Field(
        "all", description="sync leaves out writes their issuer did not wait for. All requests are simulated."
    )
    warmup: Seconds = Field(0.0, description="Requests that arrive before this simulated time are not reported.")
    limit: int | None = Field(None, ge=0, description="End after this many requests.")
    max_outstanding: int | None = Field(
        None, ge=1, description="Give up when more requests are outstanding; the result says sustained = false."
    )
    end: Literal["last_answer", "last_arrival"] = Field(
        "last_answer", description="last_arrival leaves what is queued then unanswered, as DiskSim does."
    )
    duration: Seconds | None = Field(None, description="The run lasts at least this long; the array idles at its end.")
    oracle: bool = Field(
        True,
        description="Also the energy of drives that know their future, a lower bound; a resting policy is then run "
        "beside a second run whose drives always spin.",
    )


class Design(_Section):
    """One design, every key at one value."""

    design: Header = Header(name="", description="", seed=1)
    drive: Drive
    array: Array | None = None
    policy: SerializeAsAny[Policy] = Never()
    cache: Cache | None = None
    fault: list[Fault] = Field(default_factory=list)
    trace: Trace
    report: Report = Report.model_validate({})


SECTIONS: Mapping[str, type[BaseModel]] = {
    "design": Header,
    "drive": Drive,
    "array": Array,
    "policy": Policy,
    "cache": Cache,
    "fault": Fault,
    "trace": Trace,
    "report": Report,
}


def model_of(section: str, raw: Mapping[str, Any]) -> type[BaseModel]:
    """The model a section is read by; ConfigError where its kind is none."""
    if section != "policy":
        return SECTIONS[section]
    kind = raw.get("kind", "never")
    if isinstance(kind, list):
        # The axis is found by any of them; each point is read by its own.
        kind = next(iter(kind), "never")
    if kind not in POLICIES:
        nearest = ConfigError.unknown_key(str(kind), POLICIES).nearest
        raise ConfigError(
            f"{kind!r} is no policy", key="policy.kind", value=str(kind), allowed=sorted(POLICIES), nearest=nearest
        )
    return POLICIES[kind]
