"""Block load from the experiment file to the table: what was asked for is what was done to real files and devices."""

from __future__ import annotations

import json
import os
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import lacking
from e2e.block_bench import BlockBench, engine, measured
from iojoule.store.reader import open_campaign, open_run

pytestmark = pytest.mark.e2e

FILE = 'kind = "file"\nsize = "16MiB"'
NULL = 'kind = "null"\nsize = "1GiB"'


def own_file(folder: Path, size: int = 8 << 20) -> Path:
    path = folder / "own.img"
    path.write_bytes(os.urandom(size))
    return path


def test_a_sweep_runs_every_combination_and_each_does_what_it_says(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path,
        FILE,
        'pattern = ["random", "sequential"]\nblock_size = ["4KiB", "64KiB"]\nwrite = 50\nrequests = 200\nqueue_depth=4',
        'order = "random"',
    )
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert len(bench.runs) == 4
    for folder in bench.runs:
        run = open_run(folder)
        workload = run.manifest["workload"]
        rows = measured(run, "op", "offset", "bytes", "error").to_pylist()
        assert len(rows) == 200
        assert {row["bytes"] for row in rows} == {workload["block_size"]}
        assert {str(row["op"]) for row in rows} == {"read", "write"}
        assert {row["error"] for row in rows} == {""}
        assert all(row["offset"] % workload["block_size"] == 0 for row in rows)
        steps = {b["offset"] - a["offset"] for a, b in pairwise(rows)}
        in_a_row = {workload["block_size"], workload["block_size"] - (16 << 20)}
        assert (steps <= in_a_row) == (workload["pattern"] == "sequential")
        assert engine(run)["max_in_flight"] <= 4
    assert not list(bench.campaigns[0].glob("targets/*.img")), "the file made for the campaign is removed at its end"


def test_an_open_loop_plans_at_its_rate_whatever_the_device_does(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path, FILE, 'rate = "2000/s"\nduration = "2s"\nlimits = {stretch = 9, lateness_p99 = "9s"}'
    )
    assert bench.run().returncode == 0
    planned = measured(bench.only_run(), "planned_ns")["planned_ns"].to_pylist()
    assert len(planned) == 4000
    gaps = {b - a for a, b in pairwise(planned)}
    assert gaps == {500_000}


def test_poisson_arrivals_have_the_spread_of_exponential_gaps(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path,
        NULL,
        'rate = "5000/s"\narrivals = "poisson"\nrequests = 5000\nlimits = {stretch = 9, lateness_p99 = "9s"}',
    )
    assert bench.run().returncode == 0
    planned = measured(bench.only_run(), "planned_ns")["planned_ns"].to_pylist()
    gaps = [b - a for a, b in pairwise(planned)]
    mean = sum(gaps) / len(gaps)
    deviation = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    # The gap's standard deviation equals its mean; six sigma of 5000 draws is 0.085 of the mean.
    assert mean == pytest.approx(200_000, rel=0.085)
    assert deviation / mean == pytest.approx(1, abs=0.15)


def test_the_same_seed_asks_for_the_same_places_and_another_repeat_for_others(tmp_path: Path) -> None:
    bench = BlockBench.make(tmp_path, NULL, "requests = 1000", "repeats = 2")
    assert bench.run().returncode == 0
    assert bench.run().returncode == 0
    assert bench.run("experiment.seed=2").returncode == 0
    places = [
        [measured(run, "offset")["offset"].to_pylist() for run in open_campaign(campaign).runs]
        for campaign in bench.campaigns
    ]
    assert places[0] == places[1]
    assert places[0][0] != places[0][1]
    assert places[2] != places[0]


def test_ramp_and_idle_stand_around_what_is_measured(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path, NULL, 'ramp = "300ms"\nduration = "500ms"', 'idle = "400ms"\nidle_after = "200ms"'
    )
    assert bench.run().returncode == 0
    spans = bench.only_run().phases()
    assert [span.phase for span in spans] == ["prepare", "idle", "warmup", "measure", "idle"]
    lengths = [(span.end_ns - span.begin_ns) / 1e9 for span in spans]
    assert lengths[1] >= 0.4
    assert lengths[2] == pytest.approx(0.3, abs=0.05)
    assert lengths[3] >= 0.5
    assert lengths[4] >= 0.2


def test_what_is_loaded_is_described_with_how_it_was_reached(tmp_path: Path) -> None:
    bench = BlockBench.make(tmp_path, FILE, 'requests = 50\nengine = "threads"\ndirect = false')
    assert bench.run().returncode == 0
    run = bench.only_run()
    assert (engine(run)["engine"], engine(run)["direct"]) == ("threads", False)
    assert run.manifest["target"]["size_bytes"] == 16 << 20
    assert run.manifest["procedure"]["caches"]["dropped"][0] == "target"


@pytest.mark.parametrize(
    ("workload", "words"),
    [
        ('size = "1GiB"', ["workload.size", "16777216"]),
        ("block_size = 1000", ["block_size", "1000"]),
    ],
)
def test_what_does_not_fit_a_stated_size_is_named_before_anything_is_made(
    tmp_path: Path, workload: str, words: list[str]
) -> None:
    bench = BlockBench.make(tmp_path, FILE, workload)
    done = bench.call("run", "block.toml", "--yes", "--json")
    assert done.returncode == 2
    assert not bench.campaigns
    assert all(word in done.stdout for word in words)


@pytest.mark.parametrize(
    ("size", "workload", "words"),
    [
        ("", 'size = "1GiB"', ["workload.size", "16777216"]),
        ('size = "16MiB"', "queue_depth = 32767\njobs = 1024\nblock_size = '1MiB'", ["queue_depth"]),
    ],
)
def test_what_does_not_fit_the_target_is_named_and_nothing_is_done(
    tmp_path: Path, size: str, workload: str, words: list[str]
) -> None:
    path = tmp_path / "there.img"
    path.write_bytes(bytes(16 << 20))
    bench = BlockBench.make(tmp_path, f'kind = "file"\npath = "{path}"\n{size}', workload)
    done = bench.run()
    assert done.returncode == 4
    run = bench.only_run()
    assert run.status == "failed"
    assert all(word in json.dumps(run.manifest["error"]) for word in words)


def test_a_file_that_is_not_named_under_destroy_is_not_written(tmp_path: Path) -> None:
    path = own_file(tmp_path)
    before = path.read_bytes()
    bench = BlockBench.make(tmp_path, f'kind = "file"\npath = "{path}"', "write = 100\nrequests = 10")
    done = bench.run()
    assert done.returncode != 0
    assert "destroy" in done.stderr
    assert path.read_bytes() == before


def test_json_is_one_document_on_stdout(tmp_path: Path) -> None:
    bench = BlockBench.make(tmp_path, NULL, "requests = 1000")
    done = bench.call("run", str(tmp_path / "block.toml"), "--no-report", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    metrics = {metric["name"]: metric for metric in result["groups"][0]["metrics"]}
    assert metrics["requests"]["mean"] == 1000
    assert [run["status"] for run in result["runs"]] == ["complete"]


def test_an_interrupted_sweep_is_resumed_where_it_was_stopped(tmp_path: Path) -> None:
    bench = BlockBench.make(tmp_path, FILE, 'queue_depth = [1, 2]\nduration = "3s"')
    child = bench.begin()
    deadline = time.monotonic() + 60
    while not any("workload" in (run / "events.jsonl").read_text() for run in bench.runs):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        time.sleep(0.2)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130, errors
    assert [open_run(run).status for run in bench.runs] == ["interrupted"]
    assert bench.call("run", "--resume", str(bench.campaigns[0]), "--yes", "--no-report").returncode == 0
    complete = [run for run in open_campaign(bench.campaigns[0]).runs if run.status == "complete"]
    assert sorted(run.manifest["step"]["parameters"]["queue_depth"] for run in complete) == [1, 2]


def test_access_time_reads_one_sector_at_a_time_all_over_the_device(tmp_path: Path) -> None:
    if os.geteuid():
        lacking("the right to make a loop device", "run as root")
    bench = BlockBench.make(
        tmp_path, 'kind = "loop"\nsize = "16MiB"\nsector_size = 4096', 'kind = "access_time"\nrequests = 300'
    )
    done = bench.run()
    assert done.returncode == 0, done.stderr
    run = bench.only_run()
    rows = measured(run, "op", "offset", "bytes").to_pylist()
    assert len(rows) == 300
    assert {(str(row["op"]), row["bytes"]) for row in rows} == {("read", 4096)}
    assert engine(run)["max_in_flight"] == 1
    assert engine(run)["direct"] is True
    offsets = sorted(row["offset"] for row in rows)
    assert offsets[0] < 4 << 20
    assert offsets[-1] > 12 << 20


def test_buffered_access_times_are_warned_of(tmp_path: Path) -> None:
    bench = BlockBench.make(tmp_path, FILE, 'kind = "access_time"\nrequests = 20\ndirect = false')
    assert bench.run().returncode == 0
    warnings = [event["text"] for event in bench.only_run().events() if event["event"] == "warning"]
    assert any("page cache" in text for text in warnings)
