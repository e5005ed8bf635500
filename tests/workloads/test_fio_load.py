"""What real fio is given and what is made of what it leaves: job files, JSON, logs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from iojoule.errors import ConfigError
from iojoule.store.schema import REQUESTS
from iojoule.workloads.fio import job as jobs
from iojoule.workloads.fio.load import Fio
from iojoule.workloads.fio.logs import latency_logs, write_requests
from iojoule.workloads.fio.output import failures_of, read_output
from iojoule.workloads.fio.process import run_fio


def job_file(folder: Path, text: str) -> Path:
    path = folder / "job.fio"
    path.write_text(text)
    return path


# The job file.


def test_the_target_is_put_into_a_job_file_that_names_none(tmp_path: Path) -> None:
    path = job_file(tmp_path, "[global]\nbs=8k\n[a]\nrw=randread\n")
    text, left_out = jobs.pointed(path, [Path("/data/file:1")], "every", tmp_path)
    assert "filename=/data/file\\:1\n" in text
    assert text.endswith("[global]\nbs=8k\n[a]\nrw=randread\n")
    assert left_out == []


@pytest.mark.parametrize("line", ["filename=/dev/sda", "filename=/data/file:/etc/passwd", "directory=/etc"])
def test_a_job_file_that_names_another_target_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError, match="is not the target") as refused:
        jobs.pointed(job_file(tmp_path, f"[a]\nrw=write\n{line}\n"), [Path("/data/file")], "every", tmp_path)
    assert refused.value.line == 3


def test_a_job_file_that_names_the_target_itself_is_run(tmp_path: Path) -> None:
    path = job_file(tmp_path, "[a]\nrw=read\nfilename=/data/../data/file\n")
    assert "[a]\nrw=read\n" in jobs.pointed(path, [Path("/data/file")], "every", tmp_path)[0]


def test_names_of_files_are_below_the_directory_in_force(tmp_path: Path) -> None:
    path = job_file(tmp_path, "[global]\ndirectory=/mnt\n[a]\nfilename=file\n[b]\ndirectory=/data\nfilename=file\n")
    with pytest.raises(ConfigError, match="directory=/data"):
        jobs.pointed(path, [Path("/mnt/file")], "every", tmp_path)
    path = job_file(tmp_path, "[global]\ndirectory=/mnt\n[a]\nfilename=file\n")
    assert "directory" not in jobs.pointed(path, [Path("/mnt/file")], "every", tmp_path)[0]


@pytest.mark.parametrize(("write", "limits"), [(0, "1000,"), (100, ",1000"), (25, "750,250")])
def test_a_rate_is_of_all_requests_and_all_jobs(tmp_path: Path, write: int, limits: str) -> None:
    """fio holds the reads and the writes of each job to a rate of their own."""
    workload = Fio.model_validate({"name": "f", "kind": "fio", "rate": "4000/s", "jobs": 4, "write": write})
    text, _ = workload._job_text([Path("/data/file")], tmp_path, 1)
    assert f"rate_iops={limits}\n" in text


@pytest.mark.parametrize(
    "line",
    [
        "exec_prerun=rm -rf x", "ioscheduler=none", "replay_redirect=/dev/sda", "unlink=1", "ioengine=http",
        "read_iolog=log.of.another.file", "fill_device=1", "mem=mmap:/etc/passwd",
    ],
)  # fmt: skip
def test_what_reaches_beyond_the_target_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError):
        jobs.pointed(job_file(tmp_path, f"[a]\n{line}\n"), [Path("/data/file")], "every", tmp_path)
    key, _, value = line.partition("=")
    with pytest.raises(ConfigError):
        jobs.made("a", {key: value}, [Path("/data/file")], "every", tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [("filename", "/dev/sda"), ("directory", "/etc"), ("include", "x.fio"), ("write_lat_log", "/etc/x"),
     ("bs", "4k\nfilename=/dev/sda"), ("[b]\nfilename", "/dev/sda")],
)  # fmt: skip
def test_options_name_neither_target_nor_logs(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match="may not stand in options"):
        jobs.made("a", {key: value}, [Path("/data/file")], "every", tmp_path)


def test_logs_of_the_job_files_own_are_left_out_and_said(tmp_path: Path) -> None:
    path = job_file(tmp_path, "[a]\nwrite_lat_log=mine\nlog_avg_msec=100\n")
    text, left_out = jobs.pointed(path, [Path("/data/file")], "every", tmp_path)
    assert "mine" not in text
    assert len(left_out) == 2


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("[a]\nbs=4k\n", False), ("[a]\nrw=randread\n", False), ("[a]\nrw=randread\n[b]\nreadwrite=randrw\n", True),
        ("[a]\nrw=randread:8\n", False), ("[global]\nrw=trim\n[a]\n", True), ("[a]\nread_iolog=x\n", True),
    ],
)  # fmt: skip
def test_a_job_file_writes_where_one_job_does(tmp_path: Path, text: str, writes: bool) -> None:
    workload = Fio.model_validate({"name": "f", "kind": "fio", "job": job_file(tmp_path, text)})
    assert workload.writes is writes


def test_only_the_jobs_that_are_run_count(tmp_path: Path) -> None:
    path = job_file(tmp_path, "[a]\nrw=write\nruntime=100\n[b]\nrw=read\nruntime=3\n")
    workload = Fio.model_validate({"name": "f", "kind": "fio", "job": path, "sections": ["b"]})
    assert (workload.writes, workload.longest_s()) == (False, 3)


def test_jobs_behind_a_stonewall_take_their_time_in_turn(tmp_path: Path) -> None:
    text = "[global]\nruntime=10\n[a]\n[b]\nruntime=1m\nramp_time=5\n[c]\nstonewall\nstartdelay=2\n"
    assert jobs.longest_s(jobs.jobs_in(job_file(tmp_path, text))) == 65 + 12


def test_a_job_without_an_end_needs_a_timeout(tmp_path: Path, require: Callable[[str, str], str]) -> None:
    require("fio", "fio")
    path = job_file(tmp_path, "[a]\nrw=read\n")
    with pytest.raises(ConfigError, match="timeout"):
        Fio.model_validate({"name": "f", "kind": "fio", "job": path}).prepare(tmp_path, 1)
    Fio.model_validate({"name": "f", "kind": "fio", "job": path, "timeout": "1min"}).prepare(tmp_path, 1)


def test_a_job_file_and_keys_of_a_job_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="either the job file or the keys"):
        Fio.model_validate({"name": "f", "kind": "fio", "job": tmp_path / "job.fio", "queue_depth": 4})


# What fio leaves.


def test_the_result_is_found_among_what_else_fio_prints_into_it() -> None:
    first, second = ({"jobs": [{"jobname": name, "error": 0}]} for name in "ab")
    text = f"fio: this platform {{is}} odd\n{json.dumps(first, indent=1)}\n{json.dumps(second)}\nfio: last words\n"
    found = read_output(text)
    assert found is not None
    assert found.document == second
    assert found.around == ["fio: this platform {is} odd", "fio: last words"]


@pytest.mark.parametrize("text", ["", "fio: nothing\n", '{"jobs": [', '\n{"fio version": 1}\n'])
def test_without_a_whole_result_there_is_none(text: str) -> None:
    assert read_output(text) is None


def test_failures_are_named_by_their_errno() -> None:
    document = {"jobs": [{"jobname": "a", "error": 0}, {"jobname": "b", "error": 5}]}
    assert failures_of(document) == ["job b: EIO"]


def test_a_line_of_the_log_becomes_a_request(tmp_path: Path) -> None:
    """A completion logged at t lies in [t, t + 2) ms, and began its latency before."""
    (tmp_path / "log_lat.1.log").write_text("5000, 250000, 0, 4096, 8192, 0\n5001, 1000, 1, 512, 0, 0\n")
    (tmp_path / "log_lat.10.log").write_text("5003, 1000000, 2, 65536, 1048576, 0\n")
    (tmp_path / "log_lat.2.log").write_text("")
    (tmp_path / "log_clat.1.log").write_text("5000, 1, 0, 4096, 8192, 0\n")
    logs = latency_logs(tmp_path, "log")
    assert [log.name for log in logs] == ["log_lat.1.log", "log_lat.2.log", "log_lat.10.log"]
    found = write_requests(logs, tmp_path / "requests.parquet")
    table = pq.read_table(tmp_path / "requests.parquet")
    assert found == {"requests": 3, "bytes": 70144, "begin_ns": 5_000_750_000, "end_ns": 5_004_000_000}
    assert table.schema.equals(REQUESTS)
    rows = table.to_pylist()
    assert [row["seq"] for row in rows] == [0, 1, 2]
    assert [row["op"] for row in rows] == ["read", "write", "trim"]
    assert [row["stream"] for row in rows] == [0, 0, 2]
    assert [(row["issued_ns"], row["done_ns"]) for row in rows[:1]] == [(5_000_750_000, 5_001_000_000)]
    assert {row["phase"] for row in rows} == {"measure"}


# The process.


def test_a_program_that_ignores_every_wish_is_killed_with_all_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iojoule.workloads.fio.process._PATIENCE_S", 0.2)
    script = "trap '' INT TERM; sleep 600 & echo $! > child; while :; do sleep 1; done"
    ended = run_fio(["/bin/sh", "-c", f"cd {tmp_path}; {script}"], tmp_path, 0.5, lambda: False)
    assert ended.timed_out
    assert ended.status is None
    wait_until_gone(int((tmp_path / "child").read_text()))


def test_the_exit_status_and_the_output_are_kept(tmp_path: Path) -> None:
    ended = run_fio(["/bin/sh", "-c", "echo said; echo wrong >&2; exit 3"], tmp_path, 10, lambda: False)
    assert (ended.status, ended.timed_out, ended.stopped) == (3, False, False)
    assert (tmp_path / "fio.out").read_text() == "said\nwrong\n"


def test_what_was_started_is_gone_when_we_are_killed(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", f"echo $$ > {tmp_path}/pid; exec sleep 600"]
    code = (
        "from pathlib import Path; from iojoule.workloads.fio.process import run_fio\n"
        f"run_fio({command!r}, Path({str(tmp_path)!r}), 600, lambda: False)"
    )
    runner = subprocess.Popen([sys.executable, "-c", code])
    deadline = time.monotonic() + 30
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().strip():
        assert time.monotonic() < deadline, "it did not start"
        time.sleep(0.05)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    wait_until_gone(int((tmp_path / "pid").read_text()))


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and " Z " not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline, f"process {pid} still runs"
        time.sleep(0.05)
