"""Every key of fio 3.33 and what becomes of it here, as data: taken over, without effect, or not understood.

1. ``TAKEN``      key -> our keys it becomes and how its value is read (``become`` puts them together)
2. ``NO_EFFECT``  key -> why nothing of the load is lost without it
3. ``REFUSED``    key -> what is missing here, and the values at which nothing is

What stands in none of them is not a key of fio's that is known here. All names are fio's own; ``ALIASES`` brings its
synonyms to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from iojoule.workloads.fio import values

ALIASES = {
    "blockalign": "ba", "blocksize": "bs", "blocksize_range": "bsrange", "blocksize_unaligned": "bs_unaligned",
    "disable_bw": "disable_bw_measurement", "fill_fs": "fill_device", "fileoffset": "offset", "io_limit": "io_size",
    "iodepth_batch_complete": "iodepth_batch_complete_min", "iodepth_batch_submit": "iodepth_batch", "iomem": "mem",
    "nr_files": "nrfiles", "ratecycle": "rate_cycle", "ratemin": "rate_min", "readwrite": "rw", "ss": "steadystate",
    "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time", "timeout": "runtime",
    "wait_for_previous": "stonewall",
}  # fmt: skip


@dataclass(frozen=True)
class Taken:
    """What a key becomes: the names of our keys, for the reader, and the function that reads its value."""

    becomes: str
    read: Callable[[str], Any]


def _text(value: str) -> str:
    return value.strip()


TAKEN = {
    "bs": Taken("block_size", values.per_direction),
    "bssplit": Taken("sizes", _text),
    "buffer_compress_percentage": Taken("compression", float),
    "buffered": Taken("direct, inverted", values.flag),
    "dedupe_percentage": Taken("deduplication", float),
    "description": Taken("experiment.description", _text),
    "direct": Taken("direct", values.flag),
    "directory": Taken("target.path", _text),
    "do_verify": Taken("verify.read_back", values.flag),
    "fdatasync": Taken("fdatasync", values.integer),
    "filename": Taken("target.path", values.paths),
    "filesize": Taken("target.size", _text),
    "fsync": Taken("fsync", values.integer),
    "invalidate": Taken("target.drop_caches", values.flag),
    "io_size": Taken("requests", _text),
    "iodepth": Taken("queue_depth", values.integer),
    "ioengine": Taken("engine", _text),
    "ioscheduler": Taken("target.scheduler", _text),
    "kb_base": Taken("how sizes are read", int),
    "loops": Taken("requests, multiplied", values.integer),
    "norandommap": Taken("nothing: every place is drawn anew here", values.flag),
    "nrfiles": Taken("target.files", values.integer),
    "number_ios": Taken("requests", values.integer),
    "numjobs": Taken("jobs", values.integer),
    "offset": Taken("offset", _text),
    "ramp_time": Taken("ramp", values.seconds),
    "random_distribution": Taken("pattern, with theta, h or bands", _text),
    "randseed": Taken("experiment.seed", values.integer),
    "rate": Taken("rate, divided by block_size", _text),
    "rate_iops": Taken("rate, times jobs", _text),
    "rate_process": Taken("arrivals", _text),
    "runtime": Taken("duration", values.seconds),
    "read_iolog": Taken("a workload block_replay of this trace", values.paths),
    "replay_no_stall": Taken("as_fast_as_possible", values.flag),
    "replay_redirect": Taken("target.path", _text),
    "replay_time_scale": Taken("speedup", values.integer),
    "rw": Taken("pattern, write, trim", _text),
    "rwmixread": Taken("write", values.integer),
    "rwmixwrite": Taken("write", values.integer),
    "size": Taken("size, target.size", _text),
    "steadystate": Taken("steady_state.metric with slope or excursion", _text),
    "steadystate_duration": Taken("steady_state.window", values.seconds),
    "steadystate_ramp_time": Taken("ramp", values.seconds),
    "time_based": Taken("requests is left out", values.flag),
    "verify": Taken("verify", _text),
}

_LOGS = "every request is recorded anyway"
_LAYOUT = "files are made, filled and flushed before anything is measured"
_CLOCKS = "every request is timed by CLOCK_MONOTONIC"
_ORDER = "steps always run one after another"
_SEEDED = "every random choice follows from experiment.seed"
_TABLES = "percentiles are computed from the recorded requests"

NO_EFFECT = {
    "allrandrepeat": _SEEDED,
    "block_error_percentiles": _TABLES,
    "buffer_compress_chunk": "the ratio is that of a compressor of 4 KiB blocks",
    "bwavgtime": _LOGS,
    "clat_percentiles": _TABLES,
    "clocksource": _CLOCKS,
    "create_fsync": _LAYOUT,
    "create_on_open": _LAYOUT,
    "create_serialize": _LAYOUT,
    "disable_bw_measurement": _LOGS,
    "disable_clat": _LOGS,
    "disable_lat": _LOGS,
    "disable_slat": _LOGS,
    "disk_util": "the requests tell how busy the device was",
    "error_dump": "errors are rows of the table",
    "exitall": _ORDER,
    "exit_what": _ORDER,
    "fadvise_hint": "no hints are given; caches are dropped before each step",
    "fallocate": _LAYOUT,
    "fixedbufs": "buffers are registered where that helps",
    "group_reporting": "every job is reported, and all together",
    "gtod_cpu": _CLOCKS,
    "gtod_reduce": _CLOCKS,
    "hugepage-size": "buffers are the engine's",
    "iopsavgtime": _LOGS,
    "lat_percentiles": _TABLES,
    "log_alternate_epoch": _CLOCKS,
    "log_alternate_epoch_clock_id": _CLOCKS,
    "log_avg_msec": _LOGS,
    "log_compression": _LOGS,
    "log_compression_cpus": _LOGS,
    "log_entries": _LOGS,
    "log_hist_coarseness": _LOGS,
    "log_hist_msec": _LOGS,
    "log_max_value": _LOGS,
    "log_offset": _LOGS,
    "log_prio": _LOGS,
    "log_store_compressed": _LOGS,
    "log_unix_epoch": _CLOCKS,
    "mem": "buffers are the engine's, aligned to pages",
    "new_group": _ORDER,
    "nonvectored": "requests are one buffer each",
    "openfiles": "every file is opened before the load",
    "overwrite": _LAYOUT,
    "per_job_logs": _LOGS,
    "percentile_list": _TABLES,
    "random_generator": _SEEDED,
    "randrepeat": _SEEDED,
    "read_iolog_chunked": "a trace is always read ahead, not loaded",
    "refill_buffers": "what is written does not repeat, but for deduplication",
    "registerfiles": "files are registered where that helps",
    "scramble_buffers": "what is written is different in every block",
    "significant_figures": _TABLES,
    "slat_percentiles": _TABLES,
    "startdelay": _ORDER,
    "stats": _LOGS,
    "stonewall": _ORDER,
    "thread": "jobs are threads",
    "unified_rw_reporting": "reads and writes are reported each and together",
    "unit_base": "units are named in every figure",
    "unique_filename": "it is for clients over a network",
    "userspace_reap": "completions are always taken from the ring",
    "verify_async": "blocks are checked by the engine's threads",
    "verify_state_load": "generations are kept by the campaign",
    "verify_state_save": "generations are kept by the campaign",
    "wait_for": _ORDER,
    "write_bw_log": _LOGS,
    "write_hist_log": _LOGS,
    "write_iops_log": _LOGS,
    "write_lat_log": _LOGS,
}


@dataclass(frozen=True)
class Refused:
    """Why a key is not understood, and the values (fio's default among them) at which it says nothing."""

    reason: str
    harmless: tuple[str, ...] = ()


_OFF = ("0",)
_BATCH = "the queue is kept full, request by request"
_CONTENT = "content is random, by compression and deduplication"
_ELSEWHERE = "set it for the command, for example with taskset, chrt or numactl"
_LIMITS = "a load is not ended or held to a limit by its own figures"
_THINK = "there is no thinking between requests; rate plans them"
_TRIM = "trims are a share of the requests"
_VERIFY = "verification is of whole stamped blocks"
_ZONED = "zoned devices are not driven"

REFUSED = {
    "allow_file_create": Refused("whether a file is made is the target's business", ("1",)),
    "allow_mounted_write": Refused("a mounted device is never written", _OFF),
    "atomic": Refused("atomic writes are not asked for", _OFF),
    "ba": Refused("requests are aligned to their size"),
    "bs_unaligned": Refused("requests are aligned to their size", _OFF),
    "bsrange": Refused("write the sizes with their shares as bssplit"),
    "buffer_pattern": Refused(_CONTENT),
    "cgroup": Refused(_ELSEWHERE),
    "cgroup_nodelete": Refused(_ELSEWHERE, _OFF),
    "cgroup_weight": Refused(_ELSEWHERE),
    "continue_on_error": Refused("a load goes on after a failed request, and counts it"),
    "cpumask": Refused(_ELSEWHERE),
    "cpus_allowed": Refused(_ELSEWHERE),
    "cpus_allowed_policy": Refused(_ELSEWHERE),
    "create_only": Refused("nothing would be measured", _OFF),
    "dedupe_global": Refused(_CONTENT, _OFF),
    "dedupe_mode": Refused(_CONTENT, ("repeat",)),
    "dedupe_working_set_percentage": Refused(_CONTENT),
    "end_fsync": Refused("no fsync ends a load; fsync after every n writes is understood", _OFF),
    "exec_postrun": Refused("commands are run by whoever runs iojoule"),
    "exec_prerun": Refused("commands are run by whoever runs iojoule"),
    "exitall_on_error": Refused("a load goes on after a failed request, and counts it", _OFF),
    "experimental_verify": Refused(_VERIFY, _OFF),
    "file_append": Refused("requests stay inside the file", _OFF),
    "file_service_type": Refused("several files are one address space", ("roundrobin",)),
    "filename_format": Refused("the target names the files"),
    "fill_device": Refused("requests stay inside the target", _OFF),
    "flow": Refused("jobs do not wait for each other", _OFF),
    "flow_id": Refused("jobs do not wait for each other", _OFF),
    "flow_sleep": Refused("jobs do not wait for each other", _OFF),
    "force_async": Refused("requests are handed over inline", _OFF),
    "fsync_on_close": Refused("no fsync ends a load; fsync after every n writes is understood", _OFF),
    "gid": Refused(_ELSEWHERE),
    "hipri": Refused("completions are not polled", _OFF),
    "ignore_error": Refused("a load goes on after a failed request, and counts it"),
    "ignore_zone_limits": Refused(_ZONED, _OFF),
    "io_submit_mode": Refused("requests are handed over by the thread that plans them", ("inline",)),
    "iodepth_batch": Refused(_BATCH, ("0", "1")),
    "iodepth_batch_complete_max": Refused(_BATCH, ("0", "1")),
    "iodepth_batch_complete_min": Refused(_BATCH, ("0", "1")),
    "iodepth_low": Refused(_BATCH),
    "job_max_open_zones": Refused(_ZONED, _OFF),
    "latency_percentile": Refused(_LIMITS),
    "latency_run": Refused(_LIMITS, _OFF),
    "latency_target": Refused(_LIMITS, _OFF),
    "latency_window": Refused(_LIMITS, _OFF),
    "lockfile": Refused("files are not locked", ("none",)),
    "lockmem": Refused("no memory is taken from the page cache", _OFF),
    "max_latency": Refused(_LIMITS, _OFF),
    "max_open_zones": Refused(_ZONED, _OFF),
    "merge_blktrace_file": Refused("merge with iojoule trace convert"),
    "merge_blktrace_iters": Refused("merge with iojoule trace convert"),
    "merge_blktrace_scalars": Refused("merge with iojoule trace convert"),
    "name": Refused("the [section] is the name"),
    "nice": Refused(_ELSEWHERE, _OFF),
    "nowait": Refused("RWF_NOWAIT is not used", _OFF),
    "numa_cpu_nodes": Refused(_ELSEWHERE),
    "numa_mem_policy": Refused(_ELSEWHERE),
    "offset_align": Refused("requests are aligned to their size", _OFF),
    "offset_increment": Refused("all jobs share one region", _OFF),
    "opendir": Refused("a directory is a target of its own"),
    "percentage_random": Refused("a pattern is random or sequential", ("100", "100,100", "100,100,100")),
    "pre_read": Refused("caches are dropped, not warmed; a first step can warm them", _OFF),
    "prio": Refused(_ELSEWHERE),
    "prioclass": Refused(_ELSEWHERE),
    "profile": Refused("a profile is a program inside fio"),
    "rate_cycle": Refused("a rate is a plan, not an average"),
    "rate_ignore_thinktime": Refused(_THINK, _OFF),
    "rate_iops_min": Refused(_LIMITS),
    "rate_min": Refused(_LIMITS),
    "read_beyond_wp": Refused(_ZONED, _OFF),
    "replay_align": Refused("the addresses of a log are kept, or brought onto the target by remap"),
    "replay_scale": Refused("the addresses of a log are kept, or brought onto the target by remap", ("1",)),
    "replay_skip": Refused("what writes is left out with workload.writes=false, and only that"),
    "rw_sequencer": Refused("a pattern has no sequencer", ("sequential",)),
    "serialize_overlap": Refused("overlapping requests are not held back", _OFF),
    "sqthread_poll": Refused("no kernel thread polls the ring", _OFF),
    "sqthread_poll_cpu": Refused("no kernel thread polls the ring"),
    "sync": Refused("O_SYNC is not used; fsync=1 flushes after every write", ("none", "0")),
    "sync_file_range": Refused("only fsync and fdatasync are known"),
    "thinktime": Refused(_THINK, _OFF),
    "thinktime_blocks": Refused(_THINK, ("1",)),
    "thinktime_blocks_type": Refused(_THINK, ("complete",)),
    "thinktime_iotime": Refused(_THINK, _OFF),
    "thinktime_spin": Refused(_THINK, _OFF),
    "trim_backlog": Refused(_TRIM, _OFF),
    "trim_backlog_batch": Refused(_TRIM, _OFF),
    "trim_percentage": Refused(_TRIM, _OFF),
    "trim_verify_zero": Refused(_TRIM, ("1",)),
    "uid": Refused(_ELSEWHERE),
    "uncached": Refused("RWF_UNCACHED is not used", _OFF),
    "unlink": Refused("what becomes of a file is the target's business", _OFF),
    "unlink_each_loop": Refused("what becomes of a file is the target's business", _OFF),
    "verify_backlog": Refused(_VERIFY, _OFF),
    "verify_backlog_batch": Refused(_VERIFY, _OFF),
    "verify_dump": Refused(_VERIFY, _OFF),
    "verify_fatal": Refused("all blocks are checked, and all wrong ones counted", _OFF),
    "verify_interval": Refused(_VERIFY, _OFF),
    "verify_offset": Refused(_VERIFY, _OFF),
    "verify_only": Refused("fio's stamps are not ours", _OFF),
    "verify_pattern": Refused(_VERIFY),
    "write_barrier": Refused("only fsync and fdatasync are known", _OFF),
    "write_hint": Refused("no hints are given", ("none",)),
    "write_iolog": Refused("the table of requests is the log; iojoule trace convert makes others of it"),
    "zero_buffers": Refused(_CONTENT, _OFF),
    "zone_reset_frequency": Refused(_ZONED),
    "zone_reset_threshold": Refused(_ZONED),
    "zonecapacity": Refused(_ZONED, _OFF),
    "zonemode": Refused(_ZONED, ("none",)),
    "zonerange": Refused(_ZONED, _OFF),
    "zonesize": Refused(_ZONED, _OFF),
    "zoneskip": Refused(_ZONED, _OFF),
}


def canonical(key: str) -> str:
    """fio's main name of a key."""
    return ALIASES.get(key, key)
