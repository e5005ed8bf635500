"""A design as the engine takes it: sectors, whole nanoseconds, absolute paths."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from iojoule.errors import ConfigError
from iojoule.sim.sections import Array, Cache, Design, Drive, Trace, Weblog

SECTOR = 512
STRIPE_UNIT = 64 * 1024


def request(design: Design) -> dict[str, Any]:
    """What ``sim_run`` is asked for."""
    report = design.report
    asked: dict[str, Any] = {
        "seed": design.design.seed,
        "load": _load(design.trace),
        "reported": report.times,
        "warmup_ns": _ns(report.warmup),
        "limit": report.limit,
        "max_outstanding": report.max_outstanding,
        "end": report.end,
        "duration_ns": _optional_ns(report.duration),
        "oracle": report.oracle,
    }
    if design.drive.disksim is not None:
        for section in ("array", "cache"):
            if getattr(design, section) is not None:
                raise ConfigError(f"[{section}] and drive.disksim: the DiskSim system says all of it", key=section)
        return {**asked, "disksim": str(design.drive.disksim.absolute())}
    if design.array is None:
        raise ConfigError("[array] is missing", key="array")
    return {**asked, "drive": _drive(design.drive), "array": _array(design, design.array)}


def drive_of(text: str, name: str | None = None) -> dict[str, Any]:
    """A drive as the command line names it: a preset, or a file where it looks like one."""
    if "/" in text or Path(text).suffix or Path(text).is_file():
        return {"file": str(Path(text).absolute()), "name": name}
    return {"preset": text}


def _drive(drive: Drive) -> dict[str, Any]:
    if drive.preset is not None:
        return {"preset": drive.preset}
    return {"file": str(Path(drive.file or "").absolute()), "name": drive.name}


def _array(design: Design, array: Array) -> dict[str, Any]:
    step = {"outstanding": array.rebuild_outstanding, "share": array.rebuild_share}
    config: dict[str, Any] = {
        "drives": _drives(array),
        "layout": _layout(array),
        "stripe_unit": _sectors(STRIPE_UNIT if array.stripe_unit is None else array.stripe_unit, "array.stripe_unit"),
        "scheduler": array.scheduler,
        "read_choice": array.read_choice,
        "propagation": array.propagation,
        "nvram_entries": array.nvram,
        "idle_delay_ns": _ns(array.idle_delay),
        "overhead_ns": _ns(array.overhead),
        "overhead_at": array.overhead_at,
        "phase": array.phase,
        "seed": design.design.seed,
        "rebuild": step,
        "sync": step,
        "policy": design.policy.engine(),
        "faults": [{"drive": f.drive, "at_ns": _ns(f.at), "kind": f.kind} for f in design.fault],
    }
    if array.age_limit is not None:
        config["age_limit_ns"] = _ns(array.age_limit)
    if design.cache is not None:
        config["cache"] = _cache(design.cache)
    return config


def _cache(cache: Cache) -> dict[str, Any]:
    block = _sectors(cache.block, "cache.block")
    config = {"block": block, "blocks": cache.size // (block * SECTOR), "hit_ns": _ns(cache.hit)}
    return config if cache.flush is None else {**config, "flush_ns": _ns(cache.flush)}


def _drives(array: Array) -> int:
    """The number of drives, which some layouts say themselves."""
    implied = {"single": 1, "sr": _product(array.shape), "paraid": array.gears[-1] if array.gears else None}
    drives = implied.get(array.layout) if array.drives is None else array.drives
    if drives is None:
        raise ConfigError(f"how many drives has the {array.layout} array?", key="array.drives")
    return drives


def _product(shape: str | None) -> int | None:
    return None if shape is None else math.prod(map(int, shape.split("x")))


def _layout(array: Array) -> dict[str, Any]:
    """The layout with the keys it reads; a key it does not read is refused."""
    mine: dict[str, Any] = {"kind": array.layout}
    reads: tuple[str, ...] = ()
    match array.layout:
        case "sr":
            if array.shape is None:
                raise ConfigError("an sr array needs its shape, Ds x Dr x Dm: array.shape=2x3x1", key="array.shape")
            mine |= dict(zip(("ds", "dr", "dm"), map(int, array.shape.split("x")), strict=True))
            reads = ("shape",)
        case "raid10":
            reads = ("copies",)
            mine |= _said(copies=array.copies)
        case "raid4" | "raid5":
            reads = ("rmw_fraction",)
            mine |= _said(rmw_fraction=array.rmw_fraction)
        case "paraid":
            if array.gears is None:
                raise ConfigError("a paraid array needs its gears: array.gears=[2,4]", key="array.gears")
            reads = ("gears", "flavour", "data", "rmw_fraction")
            data = None if array.data is None else _sectors(array.data, "array.data")
            mine |= _said(gears=array.gears, flavour=array.flavour, data_sectors=data, rmw_fraction=array.rmw_fraction)
    for key in ("shape", "copies", "gears", "flavour", "data", "rmw_fraction"):
        if key not in reads and getattr(array, key) is not None:
            raise ConfigError(f"layout {array.layout} does not read {key}", key=f"array.{key}", allowed=reads)
    return mine


def _load(trace: Trace) -> dict[str, Any]:
    load: dict[str, Any] = {
        "speed": trace.speed,
        "fit": trace.fit,
        "devices": _devices(trace.devices),
        "arrivals": trace.arrivals,
    }
    if trace.arrivals == "closed":
        load |= {"outstanding": trace.outstanding, "think_ns": _ns(trace.think)}
    if trace.files:
        files = [str(path.absolute()) for path in trace.files]
        return {**load, "files": files, **_said(format=trace.format, time_unit=trace.time_unit)}
    if trace.random is not None:
        if trace.requests is None:
            raise ConfigError("a random load needs a number of requests", key="trace.requests")
        if trace.rate is None and trace.arrivals == "open":
            raise ConfigError("a random load with open arrivals needs a rate", key="trace.rate")
        random = {"requests": trace.requests, "bytes": trace.random, "reads": trace.reads, "rate": trace.rate or 1.0}
        return {**load, "random": {**random, **_said(span=trace.span)}}
    if trace.weblog is not None:
        return {**load, "weblog": _weblog(trace.weblog)}
    profile = None if trace.synth == "none" else trace.synth
    return {**load, "synth": {"profile": profile, "changes": trace.changes}}


def _weblog(log: Weblog) -> dict[str, Any]:
    paths = {key: path for key in ("replay", "objects", "tree") if (path := getattr(log, key)) is not None}
    return {
        **{key: str(path.absolute()) for key, path in paths.items()},
        **_said(
            spread_bytes=log.spread,
            fragment_bytes=log.fragment,
            memory_bytes=log.memory,
            read_bytes=log.read,
            reads_ahead=log.reads_ahead,
            metadata=log.metadata,
            access_times_ns=_optional_ns(log.access_times),
        ),
    }


def _said(**keys: Any) -> dict[str, Any]:
    """The keys that were given."""
    return {key: value for key, value in keys.items() if value is not None}


def _devices(given: Any) -> Any:
    if isinstance(given, str):
        return given
    try:
        return {"sizes": {str(int(device, 0)): size for device, size in given.items()}}
    except ValueError:
        raise ConfigError("devices: a table of sizes has device numbers as keys", key="trace.devices") from None


def _sectors(size: int, key: str) -> int:
    if size <= 0 or size % SECTOR:
        raise ConfigError(f"{key}: {size} B are not whole sectors of {SECTOR} B", key=key)
    return size // SECTOR


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def _optional_ns(seconds: float | None) -> int | None:
    return None if seconds is None else _ns(seconds)
