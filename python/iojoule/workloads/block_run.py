"""A block workload on an open target: its configuration for the native engine, what cannot be, and the call."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iojoule.errors import ConfigError
from iojoule.quantities import spelled_size
from iojoule.workloads import steadiness
from iojoule.workloads.keys import nanoseconds
from iojoule.workloads.native import block_load
from iojoule.workloads.verification import Verify, begin, file_bytes, first_place, read_back, stamps_in

if TYPE_CHECKING:
    from iojoule._native import Progress
    from iojoule.targets.storage import Storage
    from iojoule.workloads.block import Block

BUFFER_SHARE = 0.5
"""Most of the memory that is free that the buffers of all outstanding requests may take."""


def run_block(load: Block, target: Storage, run: Path, progress: Progress, seed: int) -> dict[str, Any]:
    """Drive the target; the engine's summary, with ``steady_state`` and ``read_back`` where they were asked for."""
    refuse_what_cannot_be(load, target)
    config = configuration(load, target, run, seed)
    if load.steady_state is None:
        summary = block_load(config, progress)
    else:
        outstanding = None if load.open_loop else load.queue_depth * load.jobs
        watched = partial(block_load, config, progress)
        summary = steadiness.drive(load.steady_state, outstanding, load.ramp, progress, watched)
    if isinstance(load.verify, Verify) and load.verify.read_back:
        _read_back(load, load.verify, target, config, progress, summary)
    return summary


def configuration(load: Block, target: Storage, run: Path, seed: int) -> dict[str, Any]:
    """The load as the native engine takes it."""
    config: dict[str, Any] = load.native(target, run, seed, writes=load.writes, warmup_s=load.ramp) | {
        "work": {
            "kind": "synthetic",
            "pattern": _pattern(load),
            "mix": {"write": load.write / 100, "trim": load.trim / 100},
            "sizes": [share.model_dump() for share in load.sizes] or [{"bytes": load.block_size}],
            "queue_depth": load.queue_depth,
            "jobs": load.jobs,
            "arrivals": _arrivals(load),
            "at_cap": load.at_cap,
            "region": {"offset": load.offset, "bytes": load.size},
            "flush": _flush(load),
        },
        "measure_when_told": load.steady_state is not None,
        "duration_ns": nanoseconds(load.duration),
        "requests": load.requests,
        "content": {"compression": load.compression, "deduplication": load.deduplication},
    }
    if isinstance(load.verify, Verify):
        state = begin(target, run.parent.parent)
        config["verify"] = {"state": str(state), "block_bytes": load.verify.stamp_bytes(load.all_sizes)}
    return config


def refuse_what_cannot_be(load: Block, target: Storage) -> None:
    """ConfigError where the load does not fit the target; only an open target knows."""
    load.refuse_on(target.place)
    stamp = load.verify.stamp_bytes(load.all_sizes) if isinstance(load.verify, Verify) else 1
    if odd := next((size for size in load.all_sizes if size % stamp), None):
        raise ConfigError(
            f"verify.block_size: requests of {odd} B are no multiple of {stamp} B",
            key="workload.verify.block_size",
            value=stamp,
        )
    if isinstance(load.verify, Verify) and first_place(file_bytes(target), load.offset) % stamp:
        raise ConfigError(
            f"offset: {load.offset} B is no multiple of the {stamp} B that carry one stamp; nothing could be verified",
            key="workload.offset",
            value=load.offset,
        )
    _refuse_too_much_memory(load, max(load.all_sizes))


def _refuse_too_much_memory(load: Block, largest: int) -> None:
    needed = load.jobs * load.queue_depth * largest
    told = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
    free = 1024 * int(told[1]) if told else math.inf
    if needed > BUFFER_SHARE * free:
        raise ConfigError(
            f"queue_depth: {load.jobs} × {load.queue_depth} requests of {spelled_size(largest)} need "
            f"{spelled_size(needed)} of buffers; half of the free memory is {free / 2 / 2**30:.1f} GiB",
            key="workload.queue_depth",
            value=load.queue_depth,
        )


def _read_back(
    load: Block,
    verify: Verify,
    target: Storage,
    config: dict[str, Any],
    progress: Progress,
    summary: dict[str, Any],
) -> None:
    stopped_by_watcher = summary.get("steady_state", {}).get("left_round") is not None
    if progress.stopping and not stopped_by_watcher:
        summary.setdefault("warnings", []).append("not read back: the load was stopped")
        return
    stamp = verify.stamp_bytes(load.all_sizes)
    stamps = stamps_in(file_bytes(target), load.offset, load.size, stamp)
    found = read_back(config, stamp, stamps, progress)
    summary["read_back"] = found
    if found["corrupt"]:
        first = "; ".join(found["corruptions"][:3])
        summary.setdefault("warnings", []).append(f"read back: {found['corrupt']} blocks are not as written: {first}")


def _pattern(load: Block) -> dict[str, Any]:
    match load.pattern:
        case "zipf":
            more: dict[str, Any] = {"theta": load.theta}
        case "pareto":
            more = {"h": load.h}
        case "hot_band":
            more = {
                "bands": [
                    {"share": band.share / 100, "from": band.from_ / 100, "to": band.to / 100, "skewed": band.skewed}
                    for band in load.bands
                ]
            }
        case "strided":
            more = {"stride_bytes": load.stride}
        case _:
            more = {}
    return {"kind": load.pattern, **more}


def _arrivals(load: Block) -> dict[str, Any]:
    if load.arrival_trace is not None:
        return {"kind": "trace", "trace": str(load.arrival_trace), "speedup": load.speedup}
    if load.rate is not None:
        return {"kind": load.arrivals, "rate_per_s": load.rate}
    return {"kind": "closed"}


def _flush(load: Block) -> dict[str, Any] | None:
    every = load.fsync or load.fdatasync
    return None if every is None else {"every": every, "data_only": load.fdatasync is not None}
