"""A prepared web log as the load of an array: what the server reads, what its files take, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iojoule import _native
from iojoule.errors import ConfigError
from iojoule.sim import design
from iojoule.sim.run import run_point


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("day")
    log, replay = folder / "log.gz", folder / "day.parquet"
    made = {"output": str(log), "seed": 5, "requests": 3000, "duration_s": 7200.0, "objects": 300}
    _native.weblog_synth(json.dumps(made))
    _native.weblog_prepare(json.dumps({"paths": [str(log)], "output": str(replay), "names": "plain", "keep": "all"}))
    return replay


def simulated(day: Path, output: Path | None = None, policy: str = "never", **weblog: Any) -> dict[str, Any]:
    raw = {
        "drive": {"preset": "ultrastar-36z15"},
        "array": {"layout": "raid0", "drives": 4},
        "policy": {"kind": policy},
        "trace": {"weblog": {"replay": str(day), **weblog}},
    }
    sweep = design.of(raw)
    return run_point(sweep, sweep.points[0], output)


def test_every_request_of_the_log_is_a_row_with_times_in_order(day: Path, tmp_path: Path) -> None:
    summary = simulated(day, tmp_path / "run", policy="fixed")
    web = summary["web"]
    rows = pq.read_table(tmp_path / "run" / "tables" / "web.parquet").to_pylist()
    assert web["requests"] == len(pq.read_table(day))
    assert len(rows) == web["outcomes"]["data"] + web["outcomes"]["metadata"] == web["latency_ms"]["count"]
    assert all(row["planned_ns"] <= row["first_byte_ns"] <= row["done_ns"] for row in rows)
    assert max(row["first_byte_ns"] - row["planned_ns"] for row in rows) == round(web["latency_ms"]["max"] * 1e6)
    assert sum(row["bytes"] for row in rows) == web["bytes"]
    assert web["reads"] == summary["requests"] and summary["spinups"] > 0


def test_a_run_repeated_is_the_same_to_the_byte(day: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        simulated(day, tmp_path / name, policy="fixed", access_times="30s", reads_ahead=3, fragment="64KiB")
    for table in ("web.parquet", "states.parquet"):
        assert (tmp_path / "one" / "tables" / table).read_bytes() == (tmp_path / "two" / "tables" / table).read_bytes()


def test_files_that_nobody_asks_for_take_their_room_and_the_tree_knows_sizes_better(day: Path, tmp_path: Path) -> None:
    paths = pq.read_table(day.with_name("day.objects.parquet"))["path"].to_pylist()
    tree = tmp_path / "tree.parquet"
    sizes = pa.array([1 << 20, 10_000_000], pa.uint64())
    pq.write_table(pa.table({"path": ["/of/nobody.bin", paths[0]], "size": sizes}), tree)
    plain, grown = simulated(day)["web"], simulated(day, tree=str(tree))["web"]
    assert grown["files"] == plain["files"] + 1
    known = pq.read_table(day.with_name("day.objects.parquet"))["size"].to_pylist()[0]
    blocks = (1 << 20) // 4096 + 1 + -(-10_000_000 // 4096) - -(-known // 4096)
    assert grown["file_bytes"] == plain["file_bytes"] + 4096 * blocks
    # The log says how much was sent: less than the file has now.
    assert grown["bytes"] == plain["bytes"]


def test_memory_for_everything_reads_each_block_once(day: Path) -> None:
    web = simulated(day, memory="8GiB", spread="40GB")["web"]
    assert 0 < web["blocks"] - web["blocks_from_memory"] <= web["file_bytes"] // 4096 * 1.05
    none = simulated(day, memory="0B")["web"]
    assert none["blocks_from_memory"] == 0 and none["outcomes"]["from_memory"] == 0


@pytest.mark.parametrize(
    ("weblog", "says"),
    [
        ({"spread": "4KiB"}, "do not fit into 4096 bytes"),
        ({"spread": "9TB"}, "bytes of an array of"),
        ({"read": "5000B"}, "read_bytes is a multiple of 4096"),
        ({"metadata": False, "access_times": "30s"}, "metadata"),
        ({"objects": "/no/such.parquet"}, "/no/such.parquet"),
    ],
)
def test_a_server_that_cannot_be_is_refused(day: Path, weblog: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        simulated(day, **weblog)
    assert says in str(raised.value)


def test_a_table_that_is_no_replay_table_is_refused_by_name_and_row(day: Path, tmp_path: Path) -> None:
    objects = day.with_name("day.objects.parquet")
    with pytest.raises(ConfigError, match=r"day\.objects\.parquet: has no column `planned_ns`"):
        simulated(objects, objects=str(objects))
    rows = pq.read_table(day)
    late = tmp_path / "late.parquet"
    pq.write_table(pa.concat_tables([rows.slice(100, 5), rows.slice(0, 5)]), late)
    with pytest.raises(ConfigError, match=r"late\.parquet: row 6: planned before"):
        simulated(late, objects=str(objects))
    few = tmp_path / "few.parquet"
    pq.write_table(pq.read_table(objects).slice(0, 3), few)
    with pytest.raises(ConfigError, match=r"the objects table has no object"):
        simulated(day, objects=str(few))
