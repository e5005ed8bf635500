"""Real block traces on real files: what is in the requests table is what the trace says, row by row. The traces are
decoded here by themselves, so that our reader of their formats is checked along with the replay."""

from __future__ import annotations

import csv
import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from e2e.block_bench import BlockBench, engine, measured, problem

pytestmark = pytest.mark.e2e

SPARSE = 'kind = "file"\nsize = "32GiB"\nfill = "sparse"'
LAX = 'limits = {stretch = 9, lateness_p99 = "9s"}'

Rows = list[tuple[int, str, int, int]]
"""Time in ns after the first, operation, offset, bytes."""


def cloudphysics(data: Path) -> tuple[Path, Rows]:
    """Records of 32 bytes, little-endian; command 0x28 is READ(10), 0x2a WRITE(10); blocks of 512 bytes; µs."""
    path = data / "blocktraces" / "cloudphysics" / "cloudPhysicsIO.vscsi"
    layout = [("serial", "<u4"), ("bytes", "<u4"), ("segments", "<u4"), ("command", "<u2"), ("version", "<u2")]
    found = np.fromfile(path, dtype=[*layout, ("block", "<u8"), ("us", "<u8")])
    ops = {0x28: "read", 0x2A: "write"}
    at = (found["us"] - found["us"][0]) * 1000
    columns = (at, found["command"], found["block"] * 512, found["bytes"])
    return path, [(int(t), ops[int(c)], int(o), int(b)) for t, c, o, b in zip(*columns, strict=True)]


def msr(data: Path) -> tuple[Path, Rows]:
    """Time in units of 100 ns since 1601, host, disk, operation, offset, bytes, response."""
    path = data / "blocktraces" / "caffeine_samples" / "msr-cambridge1-sample.csv"
    with path.open() as file:
        lines = [(int(row[0]), row[3].lower(), int(row[4]), int(row[5])) for row in csv.reader(file)]
    lines.sort(key=lambda line: line[0])  # those of the same instant stay in the order of the file
    return path, [((t - lines[0][0]) * 100, op, offset, size) for t, op, offset, size in lines]


TRACES = {"cloudphysics": cloudphysics, "msr": msr}


def table(path: Path, rows: Rows, devices: list[int] | None = None) -> Path:
    """A canonical table."""
    at, ops, offsets, sizes = zip(*rows, strict=True)
    columns: dict[str, Any] = {
        "at_ns": pa.array(at, pa.int64()),
        "device": pa.array(devices or [0] * len(rows), pa.uint32()),
        "op": pa.array(ops).dictionary_encode(),
        "offset": pa.array(offsets, pa.uint64()),
        "bytes": pa.array(sizes, pa.uint64()),
    }
    pq.write_table(pa.table(columns), path)
    return path


def played(bench: BlockBench) -> list[tuple[str, int, int, str]]:
    """Operation, offset, bytes and error of each request, in the order of the trace."""
    rows = measured(bench.only_run(), "op", "offset", "bytes", "error").to_pylist()
    return [(str(row["op"]), row["offset"], row["bytes"], str(row["error"])) for row in rows]


@pytest.mark.parametrize("name", TRACES)
def test_all_reads_of_a_real_trace_are_played_row_by_row(tmp_path: Path, reference_data: Path, name: str) -> None:
    path, rows = TRACES[name](reference_data)
    replay = f'kind = "block_replay"\ntrace = "{path}"\nas_fast_as_possible = true\noutstanding = 64\n{LAX}'
    bench = BlockBench.make(tmp_path, SPARSE, replay)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    reads = [(op, offset, size, "") for _, op, offset, size in rows if op == "read"]
    assert played(bench) == reads
    said = engine(bench.only_run())
    assert said["replay"]["requests"] == len(reads)
    assert said["left_out"] == len(rows) - len(reads)
    assert said["bytes"] == sum(size for _, _, size, _ in reads)


@pytest.mark.parametrize("name", TRACES)
def test_with_writes_every_request_is_played_at_its_time(tmp_path: Path, reference_data: Path, name: str) -> None:
    path, rows = TRACES[name](reference_data)
    rows = rows[:1000]
    replay = f'kind = "block_replay"\ntrace = "{path}"\nwrites = true\nmax_requests = 1000\nfit = "2s"\n{LAX}'
    bench = BlockBench.make(tmp_path, SPARSE, replay)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert played(bench) == [(op, offset, size, "") for _, op, offset, size in rows]
    planned = measured(bench.only_run(), "planned_ns")["planned_ns"].to_pylist()
    span = rows[-1][0] - rows[0][0]
    exact = [(at - rows[0][0]) * 2e9 / span for at, *_ in rows]
    assert all(abs(at - planned[0] - wanted) <= 1 for at, wanted in zip(planned, exact, strict=True))


def test_a_replay_that_only_reads_changes_nothing_and_says_what_it_left_out(tmp_path: Path) -> None:
    file = tmp_path / "own.img"
    file.write_bytes(os.urandom(1 << 20))
    before = hashlib.sha256(file.read_bytes()).digest()
    ops = ["read", "write", "trim", "flush"] * 50
    rows = [(i * 1000, op, 0 if op == "flush" else i * 4096, 0 if op == "flush" else 4096) for i, op in enumerate(ops)]
    trace = table(tmp_path / "t.parquet", rows)
    bench = BlockBench.make(
        tmp_path, f'kind = "file"\npath = "{file}"', f'kind = "block_replay"\ntrace = "{trace}"\n{LAX}'
    )
    assert bench.run().returncode == 0
    assert {op for op, *_ in played(bench)} == {"read"}
    said = engine(bench.only_run())
    assert (said["left_out"], said["requests"]) == (150, 50)
    assert any("left out" in warning for warning in said["warnings"])
    assert hashlib.sha256(file.read_bytes()).digest() == before


def test_an_address_beyond_the_target_fails_the_step_before_anything_is_sent(tmp_path: Path) -> None:
    rows = [(i * 1000, "read", i * 4096, 4096) for i in range(1000)]
    trace = table(tmp_path / "t.parquet", rows)
    small = 'kind = "file"\nsize = "1MiB"'
    bench = BlockBench.make(tmp_path, small, f'kind = "block_replay"\ntrace = "{trace}"\n{LAX}')
    assert bench.run().returncode != 0
    said = problem(bench.only_run())
    assert "row 256" in said and "wrap" in said
    assert not list(bench.runs[0].glob("tables/requests.parquet*"))


@pytest.mark.parametrize("how", ["wrap", "scale"])
def test_remapped_requests_lie_on_the_target(tmp_path: Path, how: str) -> None:
    rows = [(i * 1000, "read", i * 512 * 777, 512 * (1 + i % 9)) for i in range(3000)]
    trace = table(tmp_path / "t.parquet", rows)
    replay = f'kind = "block_replay"\ntrace = "{trace}"\nremap = "{how}"\n{LAX}'
    bench = BlockBench.make(tmp_path, 'kind = "file"\nsize = "1MiB"', replay)
    done = bench.run()
    assert done.returncode == 0, done.stderr
    found = played(bench)
    assert [size for _, _, size, _ in found] == [size for *_, size in rows]
    assert all(error == "" and offset + size <= 1 << 20 for _, offset, size, error in found)
    assert engine(bench.only_run())["replay"]["remapped"] > 2000


def test_at_the_cap_a_request_is_dropped_and_counted_or_ends_the_load(tmp_path: Path) -> None:
    rows = [(0, "read", i * 4096, 4096) for i in range(1000)]
    trace = table(tmp_path / "t.parquet", rows)
    replay = f'kind = "block_replay"\ntrace = "{trace}"\noutstanding = 1\n{LAX}\nat_cap = '
    dropping = BlockBench.make(tmp_path, 'kind = "file"\nsize = "4MiB"', replay + '"drop"')
    dropping.run()
    found = played(dropping)
    dropped = sum(error == "dropped" for *_, error in found)
    assert len(found) == 1000
    assert 0 < dropped == engine(dropping.only_run())["dropped"]
    (tmp_path / "stop").mkdir()
    stopping = BlockBench.make(tmp_path / "stop", 'kind = "file"\nsize = "4MiB"', replay + '"stop"')
    stopping.run()
    said = engine(stopping.only_run())
    assert said["unplayed"] > 0 and said["warnings"]


def test_devices_are_played_on_the_files_of_a_directory_in_their_order(tmp_path: Path) -> None:
    rows = [(i * 1000, "read", i * 4096, 4096) for i in range(60)]
    trace = table(tmp_path / "t.parquet", rows, devices=[i % 3 for i in range(60)])
    folder = 'kind = "directory"\nfiles = 2\nfile_size = "1MiB"'
    bench = BlockBench.make(tmp_path, folder, f'kind = "block_replay"\ntrace = "{trace}"\ndevices = [2, 0]\n{LAX}')
    done = bench.run()
    assert done.returncode == 0, done.stderr
    found = measured(bench.only_run(), "object", "offset").to_pylist()
    assert [(row["object"], row["offset"]) for row in found] == [
        ({2: 0, 0: 1}[i % 3], i * 4096) for i in range(60) if i % 3 != 1
    ]
