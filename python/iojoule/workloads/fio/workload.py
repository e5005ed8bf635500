"""What the keys of one fio job mean together: a ``block`` workload, or a ``block_replay`` of a log.

The rules are those of fio 3.33's HOWTO. A value that cannot be said here is listed as not understood, not brought near.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any

from iojoule.workloads.fio import values
from iojoule.workloads.fio.draft import Draft

RING = frozenset({"io_uring", "libaio", "posixaio"})
SYNCHRONOUS = frozenset({"psync", "sync", "vsync", "pvsync", "pvsync2"})
PATTERNS = {
    "read": ("sequential", 0), "write": ("sequential", 100), "rw": ("sequential", 50), "readwrite": ("sequential", 50),
    "randread": ("random", 0), "randwrite": ("random", 100), "randrw": ("random", 50),
    "trim": ("sequential", 0), "randtrim": ("random", 0),
}  # fmt: skip
"""fio's ``rw`` -> our pattern, and the per cent that write where ``rwmix`` says nothing else."""


def workload_of(draft: Draft, name: str) -> dict[str, Any]:
    """The ``[[workload]]`` the job is."""
    if "read_iolog" in draft.values:
        return dict(_replay(draft, name))
    found: dict[str, Any] = {"name": name, "kind": "block"}
    found |= dict(_direction(draft))
    writes = found.get("write", 0) > 0
    found |= dict(_sizes(draft, found))
    found |= dict(_places(draft, found))
    found |= dict(_engine(draft))
    found |= dict(_pace(draft, found))
    found |= dict(_content(draft, writes))
    found |= dict(_length(draft, found))
    found |= dict(_steadiness(draft))
    return found


def _direction(draft: Draft) -> Iterator[tuple[str, Any]]:
    rw, _, modifier = draft.get("rw", "read").partition(":")
    if modifier or rw not in PATTERNS:
        draft.refuse(
            "rw", "a skip or a run behind the colon" if modifier else "trims that precede writes, or no such rw"
        )
    pattern, write = PATTERNS.get(rw, ("random", 0))
    yield "pattern", pattern
    if rw in ("trim", "randtrim"):
        yield "trim", 100
    if 0 < write < 100:
        if "rwmixread" in draft.values:
            write = 100 - draft.get("rwmixread")
        # fio: of the two the later one counts, where they do not add up.
        if "rwmixwrite" in draft.values and not _later(draft, "rwmixread", "rwmixwrite"):
            write = draft.get("rwmixwrite")
    if write:
        yield "write", write


def _later(draft: Draft, one: str, other: str) -> bool:
    """Whether ``one`` stands behind ``other``."""
    return one in draft.lines and draft.lines[one].number > draft.lines[other].number


def _sizes(draft: Draft, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if "bssplit" in draft.values:
        text = draft.get("bssplit")
        if "," in text:
            draft.refuse("bssplit", "reads and writes have the same sizes")
        try:
            shares = values.shares(text.split(",")[0])
        except ValueError as error:
            draft.refuse("bssplit", str(error))
            return
        sizes = [(draft.number("bssplit", size), share) for size, share in shares]
        yield "sizes", [{"bytes": size, "weight": share} for size, share in sizes if share]
        return
    text = _of_direction(draft, "bs", draft.get("bs", ("4k", "4k", "4k")), found)
    size = draft.number("bs", text)
    if size == 0:
        draft.refuse("bs", "a request has bytes")
    yield "block_size", size or 4096


def _of_direction(draft: Draft, key: str, parts: tuple[str, str, str], found: dict[str, Any]) -> str:
    """The part for what the job does, of a value given for reads, writes, trims."""
    if found.get("trim"):
        return parts[2]
    write = found.get("write", 0)
    if 0 < write < 100 and parts[0] != parts[1]:
        draft.refuse(key, "reads and writes of a mix have the same value")
    return parts[1] if write == 100 else parts[0]


def _places(draft: Draft, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    offset, size = draft.size("offset"), draft.size("size")
    if offset:
        yield "offset", offset
    if size and draft.get("nrfiles", 1) == 1:
        yield "size", size
    if found["pattern"] != "random":
        return
    try:
        yield from _distribution(draft)
    except ValueError as error:
        draft.refuse("random_distribution", str(error))


def _distribution(draft: Draft) -> Iterator[tuple[str, Any]]:
    """The pattern of random places. ValueError where a number in it is none."""
    name, _, given = draft.get("random_distribution", "random").partition(":")
    match name:
        case "random":
            if not draft.get("norandommap", False):
                draft.differ(
                    "without norandommap fio visits every block once before any twice; here every place is drawn anew"
                )
        case "zipf" | "pareto" if "," in given or ":" in given:
            draft.refuse("random_distribution", "no centre, and the same for reads and writes")
        case "zipf":
            yield from (("pattern", "zipf"), ("theta", float(given or 1.1)))
        case "pareto" if float(given or 0.2) < 0.5:
            # fio's h is the share of the blocks, ours that of the requests: 80/20 is 0.2 there and 0.8 here.
            yield from (("pattern", "pareto"), ("h", 1 - float(given or 0.2)))
        case "zoned" if "," not in given:
            yield from (("pattern", "hot_band"), ("bands", list(_bands(given))))
        case _:
            draft.refuse("random_distribution", "random, zipf:THETA, pareto:H below 0.5 and zoned are understood")


def _bands(text: str) -> Iterator[dict[str, float]]:
    """``60/10:40/90``: 60 % of the accesses on the first 10 % of the space, and so on."""
    begin = 0.0
    for part in text.split(":"):
        share, _, width = part.partition("/")
        end = begin + float(width)
        if float(share):
            yield {"share": float(share), "from": begin, "to": min(end, 100.0)}
        begin = end


def _engine(draft: Draft) -> Iterator[tuple[str, Any]]:
    name = draft.get("ioengine", "psync")  # fio's default
    depth = draft.get("iodepth", 1)
    if name in SYNCHRONOUS:
        yield "engine", "threads"
        if depth > 1:
            draft.differ(
                f"ioengine={name} is synchronous: fio has one request in flight whatever iodepth says, and so here"
            )
        depth = 1
    elif name not in RING:
        draft.refuse("ioengine", f"{', '.join(sorted(RING | SYNCHRONOUS))} are understood")
    elif name != "io_uring":
        draft.differ(f"ioengine={name} becomes io_uring")
    yield "queue_depth", depth
    if draft.get("numjobs", 1) > 1:
        yield "jobs", draft.get("numjobs")
    direct = draft.get("direct", False)
    if "buffered" in draft.values and not _later(draft, "direct", "buffered"):
        direct = not draft.get("buffered")
    yield "direct", direct


def _pace(draft: Draft, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    rates = [both for key in ("rate", "rate_iops") if (both := _rates(draft, key, found)) is not None]
    if not rates:
        return
    read, write = rates[-1]
    if not read + write:
        return  # as fio has it: without a limit
    if 0 < found.get("write", 0) < 100:
        yield "write", round(100 * write / (read + write), 6)
        draft.differ("fio holds reads and writes each to the rate, whatever rwmix says; write is what comes of it")
        rate = read + write
    else:
        rate = write if found.get("write") else read
    yield "rate", rate * draft.get("numjobs", 1)
    if (process := draft.get("rate_process", "linear")) not in ("linear", "poisson"):
        draft.refuse("rate_process", "linear and poisson are understood")
    yield "arrivals", "poisson" if process == "poisson" else "constant"
    draft.differ("fio's rate is a limit; here it is a plan: what is late stays late, and is timed from when it was due")


def _rates(draft: Draft, key: str, found: dict[str, Any]) -> tuple[float, float] | None:
    """Requests per second of reads and of writes of one job; None where the key is not given or cannot be said."""
    if key not in draft.values:
        return None
    if key == "rate" and "block_size" not in found:
        draft.refuse(key, "a rate in bytes needs one block size; rate_iops is understood")
        return None
    read, write, _ = values.per_direction(draft.get(key))
    mixed, writes = 0 < found.get("write", 0) < 100, found.get("write") == 100
    if not (read or (writes and not mixed)) or not (write or not (writes or mixed)):
        draft.refuse(key, "it leaves reads or writes without a rate")
        return None
    size = found["block_size"] if key == "rate" else 1
    numbers = [(draft.number(key, part) or 0) / size if part else 0.0 for part in (read, write)]
    return numbers[0], numbers[1]


def _content(draft: Draft, writes: bool) -> Iterator[tuple[str, Any]]:
    # A ratio of 50 is the most that blocks of 4 KiB are made to.
    for key, ours, most in (
        ("buffer_compress_percentage", "compression", 98),
        ("dedupe_percentage", "deduplication", 99),
    ):
        share = draft.get(key, 0)
        if not 0 <= share <= most:
            draft.refuse(key, f"0 to {most} per cent are understood")
        elif share and writes:
            yield ours, round(100 / (100 - share), 6)
    for key in ("fsync", "fdatasync"):
        if draft.get(key, 0) and writes:
            yield key, draft.get(key)
    if draft.get("verify", "0") in ("0", "null"):
        return
    if writes:
        if draft.get("verify") not in ("crc32c", "crc32c-intel"):
            draft.differ(
                f"verify={draft.get('verify')} becomes our own stamp: place, generation and checksum in every block"
            )
        yield "verify", {"read_back": draft.get("do_verify", True)}
    else:
        draft.refuse("verify", "only what was written here can be checked: fio's stamps are not ours")


def _length(draft: Draft, found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """How long: runtime, or as many requests as cover the size, whichever fio would reach first."""
    ramp = draft.get("ramp_time", 0.0) + draft.get("steadystate_ramp_time", 0.0)
    if ramp:
        yield "ramp", ramp
    runtime = draft.get("runtime", 0.0)
    if runtime:
        yield "duration", runtime
    if runtime and draft.get("time_based", False):
        return
    requests = _requests(draft, found)
    if requests:
        yield "requests", requests
    elif not runtime:
        draft.refuse("runtime", "nothing says when it ends: give runtime, size or number_ios")


def _requests(draft: Draft, found: dict[str, Any]) -> int | None:
    """Requests of all jobs: each of fio's jobs does its ``io_size`` (or ``size``) once for each of its loops."""
    many: int = draft.get("numjobs", 1) * draft.get("loops", 1)
    if "number_ios" in draft.values:
        return int(draft.get("number_ios") * many)
    size = draft.size("io_size") or draft.size("size")
    if size is None:
        return None
    shares = found.get("sizes") or [{"bytes": found["block_size"], "weight": 1}]
    mean = sum(s["bytes"] * s["weight"] for s in shares) / sum(s["weight"] for s in shares)
    return int(ceil(size / mean) * many)


def _replay(draft: Draft, name: str) -> Iterator[tuple[str, Any]]:
    """A job that plays a log: the log's own times, places and operations."""
    yield from (("name", name), ("kind", "block_replay"))
    yield "trace", [str(Path(path).resolve()) for path in draft.get("read_iolog")]
    if "replay_redirect" not in draft.values:
        draft.refuse("read_iolog", "the files the log names are not driven; name the target with replay_redirect")
    speedup = draft.get("replay_time_scale", 100) / 100
    engine = dict(_engine(draft))
    if draft.get("replay_no_stall", False):
        yield "as_fast_as_possible", True
    elif speedup != 1:
        yield "speedup", speedup
    if draft.get("runtime", 0):
        yield "until", draft.get("runtime") * speedup
    yield "outstanding", engine["queue_depth"]
    yield "direct", engine["direct"]
    if "engine" in engine:
        yield "engine", engine["engine"]
    yield "writes", True
    draft.differ("fio waits from one request to the next and falls behind; here every request has its own deadline")
    draft.differ("what the log writes is written, as by fio; -S workload.writes=false leaves it out")


def _steadiness(draft: Draft) -> Iterator[tuple[str, Any]]:
    window = round(draft.get("steadystate_duration", 0.0))
    if "steadystate" not in draft.values or not window:
        return
    criterion, _, limit = draft.get("steadystate").partition(":")
    metric = {"iops": "iops", "bw": "mb_s"}.get(criterion.removesuffix("_slope"))
    if metric is None or not limit.endswith("%"):
        draft.refuse("steadystate", "iops, bw, iops_slope and bw_slope with a limit in % are understood")
        return
    try:
        percent = float(limit.removesuffix("%"))
    except ValueError as error:
        draft.refuse("steadystate", str(error))
        return
    most = max(window, round(draft.get("runtime", 0.0)) or 10 * window)
    rule = {"metric": metric, "round": "1s", "window": window, "max_rounds": most}
    # One of our two conditions is fio's, the other is set so wide that it never decides.
    if criterion.endswith("_slope"):
        rule |= {"slope": percent * (window - 1), "excursion": 1e6}
    else:
        rule |= {"slope": 1e6, "excursion": 2 * percent}
    yield "steady_state", rule
    yield "duration", float(window)
    draft.differ(
        "fio measures until the load is steady and stops; here measuring begins then, and lasts steadystate_duration"
    )
    if not criterion.endswith("_slope"):
        draft.differ("fio's limit is the distance from the mean; here the extremes may lie twice that apart")
