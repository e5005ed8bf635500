"""SIGKILL, at moments drawn by chance from the start of the command on: tables stay readable, settings come back."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path

import pyarrow.compute as pc
import pytest

from e2e.block_bench import BlockBench
from e2e.loops import MIB, Loops, queue
from iojoule.errors import ConfigError
from iojoule.store.reader import open_campaign

pytestmark = pytest.mark.e2e

# From the start of the process: while it imports, sets the device, opens the table, measures.
CHANCE = random.Random(4)
MOMENTS = sorted(round(CHANCE.uniform(0.0, 5.0), 2) for _ in range(6))


def bench_on(device: Path, folder: Path) -> BlockBench:
    wanted = 'read_ahead = "64KiB"\nscheduler = "mq-deadline"\nwrite_cache = "write through"'
    return BlockBench.make(
        folder,
        f'kind = "device"\npath = "{device}"\n{wanted}',
        'write = 50\nqueue_depth = 4\nduration = "60s"',
        f'destroy = ["{device}"]',
    )


def killed(bench: BlockBench, after_s: float) -> None:
    child = bench.begin()
    time.sleep(after_s)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=30)


def rows_left(bench: BlockBench) -> int:
    """Rows that can be read in all tables, each sound."""
    rows = 0
    for folder in bench.folder.glob("runs/*"):
        try:
            campaign = open_campaign(folder)
        except ConfigError:
            # Killed before there was a manifest: then there is no run in it either.
            assert not list(folder.glob("runs/*/tables/*"))
            continue
        assert campaign.manifest["status"] == "killed"
        for run in campaign.runs:
            if not (run.path / "tables/requests.parquet").exists():
                continue
            table = run.requests(["seq", "issued_ns", "done_ns"])
            assert pc.count_distinct(table["seq"]).as_py() == table.num_rows
            assert pc.all(pc.less_equal(table["issued_ns"], table["done_ns"]), min_count=0).as_py()
            rows += table.num_rows
    return rows


def restored(bench: BlockBench) -> None:
    done = bench.call("host", "restore", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    again = bench.call("host", "restore", "--json")
    assert json.loads(again.stdout)["changes"] == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_after_a_kill_tables_are_readable_and_the_device_is_as_it_was(
    loops: Loops, tmp_path: Path, moment: float
) -> None:
    device = loops.device(4 * MIB)
    before = queue(device)
    bench = bench_on(device, tmp_path)
    killed(bench, moment)
    rows_left(bench)
    restored(bench)
    assert queue(device) == before


def test_what_was_committed_before_the_kill_is_there(loops: Loops, tmp_path: Path) -> None:
    device = loops.device(4 * MIB)
    before = queue(device)
    bench = bench_on(device, tmp_path)
    child = bench.begin()
    deadline = time.monotonic() + 60
    # The first row group is committed within a second of the first request; its footer tells.
    while not any(size > 4096 for size in table_sizes(tmp_path)):
        assert time.monotonic() < deadline
        assert child.poll() is None, child.communicate()[1]
        time.sleep(0.05)
    time.sleep(1.2)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=30)
    assert queue(device) != before
    assert rows_left(bench) > 0
    restored(bench)
    assert queue(device) == before


def table_sizes(folder: Path) -> list[int]:
    return [path.stat().st_size for path in folder.glob("runs/*/runs/*/tables/requests.parquet")]
