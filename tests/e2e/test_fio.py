"""Real fio under our meters, and job files run by our engine: as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from conftest import lacking
from iojoule.store.reader import RunFolder, open_campaign

pytestmark = pytest.mark.e2e

MIB = 1 << 20
METER = (
    '[[meter]]\nname = "model"\nkind = "utilisation"\ninterval = "200ms"\nidle_w = 20.0\ncpu_w = 30.0\nu_rel = 0.1\n'
)


@pytest.fixture(autouse=True)
def _fio(require: Callable[[str, str], str]) -> None:
    require("fio", "fio")


def iojoule(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", *map(str, words)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def experiment(folder: Path, workload: str, size: str = "16MiB") -> Path:
    path = folder / "fio.toml"
    path.write_text(
        f'[experiment]\nname = "fio"\noutput = "{folder}/runs"\n\n'
        f'[[target]]\nname = "file"\nkind = "file"\nsize = "{size}"\n\n'
        f'[[workload]]\nname = "load"\nkind = "fio"\n{workload}\n\n{METER}'
    )
    return path


def only_run(folder: Path) -> RunFolder:
    (campaign,) = (folder / "runs").iterdir()
    (run,) = open_campaign(campaign).runs
    return run


def fio_json(run: RunFolder) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run.path / "raw" / "fio" / "fio.json").read_text())
    return found


def test_every_request_of_fio_is_a_row_inside_the_measured_phase(tmp_path: Path) -> None:
    keys = 'write = 25\nqueue_depth = 4\njobs = 2\nduration = "1s"\nramp = "500ms"'
    done = iojoule(tmp_path, "run", experiment(tmp_path, keys), "--no-report")
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    table = run.requests()
    said = fio_json(run)
    # fio counts what completes at the edge of its ramp on one side and logs it on the other.
    counted = sum(job[way]["total_ios"] for job in said["jobs"] for way in ("read", "write"))
    assert table.num_rows == pytest.approx(counted, abs=16)
    assert set(table["op"].to_pylist()) == {"read", "write"}
    assert set(table["stream"].to_pylist()) == {0, 1}
    spans = {span.phase: span for span in run.phases()}
    issued, ended = table["issued_ns"].to_pylist(), table["done_ns"].to_pylist()
    assert spans["measure"].begin_ns == min(issued)
    assert spans["measure"].end_ns == max(ended)
    assert 0.9e9 < max(ended) - min(issued) < 2e9
    assert spans["warmup"].end_ns - spans["warmup"].begin_ns > 0.4e9
    assert max(row % 4096 for row in table["offset"].to_pylist()) == 0
    engine = run.manifest["engine"]
    assert engine["fio"].startswith("fio-")
    assert engine["u_time_ns"] == 1_000_000


def test_latencies_of_the_table_are_those_fio_reports(tmp_path: Path) -> None:
    done = iojoule(tmp_path, "run", experiment(tmp_path, 'duration = "1s"'), "--no-report")
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    table = run.requests(["issued_ns", "done_ns"])
    latency = sorted(
        b - a for a, b in zip(*(table[name].to_pylist() for name in ("issued_ns", "done_ns")), strict=True)
    )
    theirs = fio_json(run)["jobs"][0]["read"]["lat_ns"]
    assert sum(latency) / len(latency) == pytest.approx(theirs["mean"], rel=0.01)
    # A bin of fio's histogram is 1/64 wide.
    assert latency[len(latency) // 2] == pytest.approx(theirs["percentile"]["50.000000"], rel=0.03)


def test_a_job_file_is_run_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "my.fio").write_text(
        "[global]\nbs=8k\nruntime=1\ntime_based\n[one]\nrw=read\n[two]\nstonewall\nrw=randread\n"
    )
    done = iojoule(tmp_path, "run", experiment(tmp_path, 'job = "my.fio"'))
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert [job["name"] for job in run.manifest["engine"]["fio_jobs"]] == ["one", "two"]
    assert set(run.requests(["bytes"])["bytes"].to_pylist()) == {8192}
    assert (run.path.parents[1] / "report.html").exists()


@pytest.mark.parametrize("log", ["interval", "none"])
def test_without_a_log_of_requests_the_run_still_has_its_phases_and_figures(tmp_path: Path, log: str) -> None:
    done = iojoule(tmp_path, "run", experiment(tmp_path, f'duration = "1s"\nlog = "{log}"'))
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert [span.phase for span in run.phases()][-1] == "measure"
    assert run.manifest["engine"]["iops"] > 0
    assert not (run.path / "tables" / "requests.parquet").exists()


def test_fio_that_does_not_end_is_killed_and_the_run_failed(tmp_path: Path) -> None:
    done = iojoule(tmp_path, "run", experiment(tmp_path, 'duration = "1min"\ntimeout = "1s"'), "--no-report")
    assert done.returncode == 4
    assert "had not ended after 1 s and was killed" in done.stderr
    assert (only_run(tmp_path).path / "raw" / "fio" / "job.fio").exists()


def test_a_run_that_is_stopped_keeps_what_fio_had_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "iojoule", "run", str(experiment(tmp_path, 'duration = "1min"')), "--no-report"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
        deadline = time.monotonic() + 60
        while not (log := list(tmp_path.glob("runs/*/runs/*/raw/fio/job.fio"))):
            assert time.monotonic() < deadline, "fio was not started"
            time.sleep(0.05)
        time.sleep(2)
        running.send_signal(signal.SIGINT)
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    assert log
    run = only_run(tmp_path)
    assert run.status == "interrupted"
    assert run.requests(["seq"]).num_rows > 100


def test_what_fio_says_when_it_fails_is_the_error(tmp_path: Path) -> None:
    done = iojoule(tmp_path, "run", experiment(tmp_path, "options = { no_such_option = 1 }"), "--no-report")
    assert done.returncode == 4
    assert "no_such_option" in done.stderr


def test_a_file_of_the_user_is_not_written_by_fio_unless_named_in_destroy(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"x" * MIB)
    path = experiment(tmp_path, 'write = 100\nduration = "1s"')
    path.write_text(path.read_text().replace('size = "16MiB"', f'path = "{kept}"'))
    done = iojoule(tmp_path, "run", path, "--no-report")
    assert done.returncode != 0
    assert "destroy" in done.stderr
    assert kept.read_bytes() == b"x" * MIB


def test_fio_writes_a_loop_device_that_is_held_for_it(tmp_path: Path) -> None:
    if os.geteuid():
        lacking("root", "loop devices are made by root")
    path = experiment(tmp_path, 'write = 100\nduration = "1s"')
    path.write_text(path.read_text().replace('kind = "file"', 'kind = "loop"'))
    done = iojoule(tmp_path, "run", path, "--no-report")
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert run.manifest["target"]["paths"][0].startswith("/dev/loop")
    assert set(run.requests(["op"])["op"].to_pylist()) == {"write"}


JOB = """[global]
filename=data
size=16m
bs=4k
direct=1
ioengine=io_uring
iodepth=4
norandommap
group_reporting
runtime=1
time_based

[rand]
rw=randread

[seq]
stonewall
rw=read
bs=64k
"""


def test_a_job_file_is_run_by_our_engine_step_by_step(tmp_path: Path) -> None:
    (tmp_path / "my.fio").write_text(JOB)
    done = iojoule(tmp_path, "run", "my.fio")
    assert done.returncode == 0, done.stderr
    assert "my.fio:9: group_reporting has no effect here" in done.stderr
    (campaign,) = (tmp_path / "runs").iterdir()
    runs = open_campaign(campaign).runs
    sizes = [set(run.requests(["bytes"])["bytes"].to_pylist()) for run in runs]
    assert sizes == [{4096}, {65536}]
    assert [run.manifest["workload"]["kind"] for run in runs] == ["block", "block"]
    assert "group_reporting" in (campaign / "experiment.toml").read_text()


def test_the_same_job_file_is_run_by_fio_where_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "my.fio").write_text(JOB)
    done = iojoule(tmp_path, "run", "my.fio", "--with-fio")
    assert done.returncode == 0, done.stderr
    run = only_run(tmp_path)
    assert run.manifest["workload"]["kind"] == "fio"
    assert set(pq.read_table(run.path / "tables" / "requests.parquet")["bytes"].to_pylist()) == {4096, 65536}


def test_one_job_of_a_file_is_run_by_fio_in_its_directory(tmp_path: Path) -> None:
    text = JOB.replace("filename=data", f"directory={tmp_path}\nfilename=data")
    (tmp_path / "my.fio").write_text(text)
    done = iojoule(tmp_path, "run", "my.fio", "--with-fio", "--section", "seq", "--no-report")
    assert done.returncode == 0, done.stderr
    assert set(only_run(tmp_path).requests(["bytes"])["bytes"].to_pylist()) == {65536}


def test_lines_that_are_not_understood_refuse_the_run_unless_they_are_to_be_ignored(tmp_path: Path) -> None:
    (tmp_path / "my.fio").write_text(JOB + "thinktime=10\n")
    refused = iojoule(tmp_path, "run", "my.fio")
    assert refused.returncode == 2
    assert "my.fio:20: thinktime=10 is not understood" in refused.stderr
    assert not (tmp_path / "runs").exists()
    done = iojoule(tmp_path, "run", "my.fio", "--ignore-unknown", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "left out" in done.stderr
