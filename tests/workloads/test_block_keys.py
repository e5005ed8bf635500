"""What the keys of a block workload become for the engine, and which of them cannot stand together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from iojoule.errors import ConfigError
from iojoule.targets.storage import Storage
from iojoule.workloads.block import Block
from iojoule.workloads.block_run import configuration, refuse_what_cannot_be
from iojoule.workloads.verification import largest_block, stamps_in

DISK = Storage("disk", "device", [Path("/dev/disk")], 1 << 30, 4096, writable=True)
NULL = Storage("null", "null", [], 1 << 30, 512, writable=True)


def load(**keys: Any) -> Block:
    return Block.model_validate({"name": "b", "kind": "block", **keys})


def native(target: Storage = DISK, **keys: Any) -> dict[str, Any]:
    return configuration(load(**keys), target, Path("/campaign/runs/000"), 7)


def test_a_bare_section_is_ten_seconds_of_direct_random_reads_of_4_kib_one_at_a_time() -> None:
    config = native()
    work = config["work"]
    assert (work["pattern"], work["mix"], work["sizes"]) == (
        {"kind": "random"},
        {"write": 0.0, "trim": 0.0},
        [{"bytes": 4096}],
    )
    assert (work["queue_depth"], work["jobs"], work["arrivals"]) == (1, 1, {"kind": "closed"})
    assert (config["duration_ns"], config["requests"], config["seed"]) == (10_000_000_000, None, 7)
    assert config["target"] == {"kind": "files", "files": [{"path": "/dev/disk"}], "direct": True, "writable": False}


@pytest.mark.parametrize(
    ("keys", "pattern"),
    [
        ({"pattern": "zipf", "theta": 1.2}, {"kind": "zipf", "theta": 1.2}),
        ({"pattern": "pareto", "h": 0.9}, {"kind": "pareto", "h": 0.9}),
        ({"pattern": "strided", "stride": "1MiB"}, {"kind": "strided", "stride_bytes": 1 << 20}),
        (
            {"pattern": "hot_band", "bands": [{"share": 28, "from": 10, "to": 18, "skewed": True}]},
            {"kind": "hot_band", "bands": [{"share": 0.28, "from": 0.10, "to": 0.18, "skewed": True}]},
        ),
    ],
)
def test_a_pattern_takes_its_own_keys(keys: dict[str, Any], pattern: dict[str, Any]) -> None:
    assert native(**keys)["work"]["pattern"] == pattern


def test_shares_are_written_in_per_cent_and_sizes_with_units() -> None:
    work = native(write=30, trim=10, sizes=[{"bytes": "4KiB", "weight": 3}, {"bytes": "64KiB"}])["work"]
    assert work["mix"] == {"write": 0.3, "trim": 0.1}
    assert work["sizes"] == [{"bytes": 4096, "weight": 3.0}, {"bytes": 65536, "weight": 1.0}]


def test_a_rate_opens_the_loop_under_a_cap_that_a_sound_device_does_not_reach() -> None:
    work = native(rate="5000/s", arrivals="poisson")["work"]
    assert work["arrivals"] == {"kind": "poisson", "rate_per_s": 5000.0}
    assert work["queue_depth"] == 128
    assert native(rate=10, queue_depth=4)["work"]["queue_depth"] == 4


def test_the_times_of_a_trace_are_played_to_their_end() -> None:
    config = native(arrival_trace="t.parquet", speedup=2)
    assert config["work"]["arrivals"] == {"kind": "trace", "trace": "t.parquet", "speedup": 2.0}
    assert config["duration_ns"] is None


def test_flushes_follow_writes() -> None:
    assert native(write=100, fdatasync=8)["work"]["flush"] == {"every": 8, "data_only": True}
    assert native(write=100, fsync=1)["work"]["flush"] == {"every": 1, "data_only": False}
    assert native(write=100)["work"]["flush"] is None


def test_only_what_writes_opens_for_writing() -> None:
    assert native(trim=1)["target"]["writable"]
    assert not native(write=0)["target"]["writable"]


def test_the_stamps_of_a_verifying_load_fit_its_smallest_request(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "000"
    config = configuration(load(write=100, verify=True, block_size=512), NULL, run, 1)
    assert config["verify"]["block_bytes"] == 512
    config = configuration(load(write=100, verify=True, block_size="1MiB"), DISK, run, 1)
    assert config["verify"]["block_bytes"] == 4096
    assert Path(config["verify"]["state"]).is_relative_to(tmp_path / "prepared")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"theta": 1.0}, 'theta is only read with pattern = "zipf"'),
        ({"pattern": "hot_band"}, "needs bands"),
        ({"pattern": "hot_band", "bands": [{"share": 50, "from": 20, "to": 10}]}, "ends behind its beginning"),
        ({"pattern": "hot_band", "bands": [{"share": 60, "from": 0, "to": 50}] * 2}, "120 %"),
        ({"pattern": "strided"}, "needs stride"),
        ({"write": 80, "trim": 30}, "110 %"),
        ({"block_size": 4096, "sizes": [{"bytes": 4096}]}, "either block_size or sizes"),
        ({"rate": 5, "arrival_trace": "t"}, "either rate or arrival_trace"),
        ({"arrivals": "poisson"}, "arrivals needs rate"),
        ({"at_cap": "drop"}, "only read in an open loop"),
        ({"speedup": 2}, "only read with arrival_trace"),
        ({"write": 1, "fsync": 1, "fdatasync": 1}, "either fsync or fdatasync"),
        ({"fsync": 1}, "needs write"),
        ({"compression": 2}, "needs write"),
        ({"steady_state": {"window": 5, "max_rounds": 4}}, "no window would ever be full"),
        ({"block_size": 0}, "greater than or equal to 512"),
    ],
)
def test_keys_that_cannot_stand_together_are_refused_by_name(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        load(**keys)


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"block_size": 512}, "workload.block_size"),
        ({"offset": "1KiB"}, "workload.offset"),
        ({"size": "2GiB"}, "workload.size"),
        ({"offset": "1GiB"}, "workload.offset"),
        ({"size": "1MiB", "block_size": "2MiB"}, "workload.block_size"),
        ({"pattern": "strided", "stride": 5000}, "workload.stride"),
        ({"block_size": "8KiB", "verify": {"block_size": "16KiB"}, "write": 100}, "workload.verify.block_size"),
        ({"queue_depth": 32767, "jobs": 1024, "block_size": "1MiB"}, "workload.queue_depth"),
    ],
)
def test_a_load_that_does_not_fit_the_target_is_refused_before_the_first_request(
    keys: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        refuse_what_cannot_be(load(**keys), DISK)
    assert caught.value.key == key


def test_blocks_that_no_stamp_would_fit_are_refused_and_not_left_unverified() -> None:
    small = Storage("small", "device", [Path("/dev/small")], 1 << 30, 512, writable=True)
    with pytest.raises(ConfigError, match="nothing could be verified"):
        refuse_what_cannot_be(load(write=100, verify=True, offset=512), small)
    refuse_what_cannot_be(load(write=100, verify=True, offset=4096), small)
    refuse_what_cannot_be(load(write=100, offset=512), small)


@pytest.mark.parametrize("files", [[12288] * 4, [5 << 20, 4096, 1 << 20], [10_000, 3000, 40_000], [1 << 30]])
def test_what_is_read_back_is_every_whole_stamp_of_every_file(files: list[int]) -> None:
    stamps = stamps_in(files, 0, None, 4096)
    assert sum(stamps) == sum(size // 4096 for size in files)
    block = largest_block(stamps, 4096)
    # The engine makes requests of this size inside each file and across none.
    assert all(count * 4096 % block == 0 for count in stamps)
    assert block <= 1 << 20


def test_a_region_is_read_back_and_nothing_else() -> None:
    assert stamps_in([8192, 8192, 8192], 4096, 8192, 4096) == [1, 1]


def test_a_buffered_load_may_be_of_any_size() -> None:
    refuse_what_cannot_be(load(block_size=1000, direct=False), DISK)


def test_how_long_it_takes_is_known_beforehand_where_it_can_be() -> None:
    assert load(duration="5s", ramp="1s").expected_s({}) == 6
    assert load(requests=1000).expected_s({}) is None
    assert load(requests=1000, rate=100).expected_s({}) == 10
    assert load(duration="5s", steady_state={"round": "2s"}).expected_s({}) == 15
