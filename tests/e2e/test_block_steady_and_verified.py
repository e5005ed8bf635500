"""Steady states that are reached, missed and left; contents that are checked over restarts."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from e2e.block_bench import BlockBench, engine, measured
from iojoule.store.reader import open_campaign, open_run

pytestmark = pytest.mark.e2e

NULL = 'kind = "null"\nsize = "1GiB"'
# As wide as a machine that others use may need; the rule itself has its own tests.
WIDE = "slope = 150, excursion = 180"


def test_the_load_is_measured_when_it_is_steady(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path,
        NULL,
        f'rate = "2000/s"\nduration = "1s"\nsteady_state = {{round = "200ms", {WIDE}, on_leaving = "mark"}}\n'
        'limits = {stretch = 9, lateness_p99 = "9s"}',
    )
    done = bench.run()
    assert done.returncode == 0, done.stderr
    run = bench.only_run()
    found = engine(run)["steady_state"]
    assert found["steady"], found["reason"]
    assert found["reached_round"] >= 5
    warmup, measure = (span for span in run.phases() if span.phase in ("warmup", "measure"))
    assert (warmup.end_ns - warmup.begin_ns) / 1e9 >= 1.0
    assert measure.begin_ns >= found["rounds"][found["reached_round"] - 1]["end_ns"]
    assert len(measured(run)) == pytest.approx(2000, abs=2)


def test_a_load_that_is_never_steady_is_measured_and_does_not_pass_the_check(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path,
        NULL,
        'rate = "2000/s"\narrivals = "poisson"\nduration = "500ms"\nlimits = {stretch = 9, lateness_p99 = "9s"}\n'
        'steady_state = {round = "200ms", slope = 0.0001, excursion = 0.0001, max_rounds = 6}',
    )
    assert bench.run().returncode == 0
    found = engine(bench.only_run())["steady_state"]
    assert not found["steady"]
    assert len(measured(bench.only_run())) > 0
    checked = bench.call("check", str(bench.campaigns[0]))
    assert checked.returncode == 1
    assert "not steady within" in checked.stdout


def test_a_load_that_is_never_steady_fails_where_that_was_asked_for(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path,
        NULL,
        'rate = "2000/s"\narrivals = "poisson"\n'
        'steady_state = {round = "100ms", slope = 0.0001, excursion = 0.0001, max_rounds = 6, otherwise = "fail"}',
    )
    assert bench.run().returncode == 4
    assert "not steady within 6 rounds" in json.dumps(bench.only_run().manifest["error"])


def verified(folder: Path, path: Path, *, read_back: str = "false") -> BlockBench:
    """3000 verified writes all over a file of one's own."""
    return BlockBench.make(
        folder,
        f'kind = "file"\npath = "{path}"',
        f"write = 100\nrequests = 3000\nqueue_depth = 4\nverify = {{read_back = {read_back}}}",
        f'destroy = ["{path}"]',
    )


def own_file(folder: Path) -> Path:
    path = folder / "own.img"
    path.write_bytes(os.urandom(4 << 20))
    return path


def test_what_one_step_wrote_the_next_one_checks(tmp_path: Path) -> None:
    bench = verified(tmp_path, own_file(tmp_path))
    with (tmp_path / "block.toml").open("a") as file:
        file.write('[[workload]]\nname = "read"\nkind = "block"\nrequests = 500\nverify = true\n')
    done = bench.run()
    assert done.returncode == 0, done.stderr
    wrote, read = (open_run(run) for run in bench.runs)
    assert (wrote.manifest["workload"]["name"], read.manifest["workload"]["name"]) == ("load", "read")
    assert engine(read)["verified"] > 400
    assert engine(read)["corrupt"] == 0


def test_everything_that_was_written_is_read_back(tmp_path: Path) -> None:
    bench = verified(tmp_path, own_file(tmp_path), read_back="true")
    done = bench.run()
    assert done.returncode == 0, done.stderr
    found = engine(bench.only_run())["read_back"]
    written = len(set(measured(bench.only_run(), "offset")["offset"].to_pylist()))
    assert (found["verified"], found["corrupt"], found["complete"]) == (written, 0, True)


def test_files_of_a_directory_are_read_back_to_the_end_of_each(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path,
        'kind = "directory"\nfiles = 4\nfile_size = "20KiB"',
        'pattern = "sequential"\nwrite = 100\nrequests = 20\nverify = {read_back = true}',
    )
    done = bench.run()
    assert done.returncode == 0, done.stderr
    found = engine(bench.only_run())["read_back"]
    assert (found["verified"], found["corrupt"], found["bytes"]) == (20, 0, 4 * 20 << 10)


def test_a_byte_that_flips_while_the_campaign_is_interrupted_is_found_when_it_is_resumed(tmp_path: Path) -> None:
    path = own_file(tmp_path)
    bench = verified(tmp_path, path)
    with (tmp_path / "block.toml").open("a") as file:
        file.write(
            '[[workload]]\nname = "read"\nkind = "block"\npattern = "sequential"\nduration = "4s"\nverify = true\n'
        )
    child = bench.begin()
    deadline = time.monotonic() + 60
    while len(bench.runs) < 2 or "workload" not in (bench.runs[1] / "events.jsonl").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    (written,) = {row["offset"] for row in measured(open_run(bench.runs[0]), "offset").slice(0, 1).to_pylist()}
    with path.open("r+b") as file:
        file.seek(written + 2000)
        byte = file.read(1)
        file.seek(written + 2000)
        file.write(bytes([byte[0] ^ 1]))
    resumed = bench.call("run", "--resume", str(bench.campaigns[0]), "--yes", "--no-report")
    run = [run for run in open_campaign(bench.campaigns[0]).runs if run.status == "complete"][-1]
    assert engine(run)["corrupt"] >= 1, resumed.stderr
    assert bench.call("check", str(bench.campaigns[0])).returncode == 1
    errors = set(measured(run, "offset", "error").filter(
        [row == "corrupt" for row in measured(run, "error")["error"].to_pylist()]
    )["offset"].to_pylist())  # fmt: skip
    assert errors == {written}


def test_a_file_made_anew_after_a_kill_is_not_held_against_what_its_forerunner_held(tmp_path: Path) -> None:
    bench = BlockBench.make(
        tmp_path, 'kind = "file"\nsize = "4MiB"', "write = 100\nrequests = 3000\nqueue_depth = 4\nverify = true"
    )
    with (tmp_path / "block.toml").open("a") as file:
        file.write('[[workload]]\nname = "read"\nkind = "block"\nduration = "2s"\nverify = true\n')
    child = bench.begin()
    deadline = time.monotonic() + 60
    while len(bench.runs) < 2 or "workload" not in (bench.runs[1] / "events.jsonl").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.communicate(timeout=60)
    resumed = bench.call("run", "--resume", str(bench.campaigns[0]), "--no-report")
    assert resumed.returncode == 0, resumed.stderr
    run = [run for run in open_campaign(bench.campaigns[0]).runs if run.status == "complete"][-1]
    assert run.manifest["workload"]["name"] == "read"
    assert (engine(run)["corrupt"], engine(run)["errors"], engine(run)["verified"]) == (0, {}, 0)


def test_what_another_load_overwrites_is_no_longer_expected(tmp_path: Path) -> None:
    path = own_file(tmp_path)
    bench = verified(tmp_path, path)
    with (tmp_path / "block.toml").open("a") as file:
        file.write('[[workload]]\nname = "other"\nkind = "block"\nwrite = 100\nrequests = 3000\n')
        file.write('[[workload]]\nname = "read"\nkind = "block"\nrequests = 500\nverify = true\n')
    assert bench.run().returncode == 0
    read = open_run(bench.runs[2])
    assert (read.manifest["workload"]["name"], engine(read)["corrupt"]) == ("read", 0)
