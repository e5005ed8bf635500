"""A sweep keeps every point that finishes, goes on after a kill, and says the same on any number of threads."""

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

Call = Callable[..., subprocess.CompletedProcess[str]]

SWEPT = """
[design]
description = "Two layouts under growing load."

[drive]
preset = "ultrastar-36z15"

[array]
layout = ["raid0", "raid5"]
drives = 4

[trace]
random = "4KiB"
requests = 3000
rate = ["50/s", "100/s", "200/s"]
reads = 0.8
"""


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    file = tmp_path / "swept.toml"
    file.write_text(SWEPT)
    return file


def test_results_have_a_row_per_point_with_parameters_and_figures(swept: Path, tmp_path: Path, iojoule: Call) -> None:
    done = iojoule("sim", "sweep", swept, "-o", "out", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["finished"] == 6
    rows = pq.read_table(tmp_path / "out/results.parquet").to_pylist()
    assert [row["point"] for row in rows] == list(range(6))
    assert {row["array.layout"] for row in rows} == {"raid0", "raid5"}
    assert all(row["requests"] == 3000 and row["response_mean_ms"] > 0 and row["mean_w"] > 40 for row in rows)
    page = (tmp_path / "out/report.html").read_text()
    assert "Two layouts under growing load." in page
    assert "http://" not in page.split("<script", 1)[0]


def test_one_and_eight_threads_give_the_same_bytes(swept: Path, tmp_path: Path, iojoule: Call) -> None:
    for threads in ("1", "8"):
        done = iojoule("sim", "sweep", swept, "-o", f"t{threads}", "--threads", threads)
        assert done.returncode == 0, done.stderr
    one, eight = ((tmp_path / f"t{threads}/results.parquet").read_bytes() for threads in (1, 8))
    assert one == eight


def test_a_killed_sweep_goes_on_with_what_is_left(swept: Path, tmp_path: Path, iojoule: Call) -> None:
    long = ("-S", "trace.requests=60000")
    words = ["sim", "sweep", str(swept), *long, "-o", str(tmp_path / "out"), "--threads", "1"]
    process = subprocess.Popen([sys.executable, "-m", "iojoule", *words], stderr=subprocess.DEVNULL)
    lines = tmp_path / "out/points.jsonl"
    for _ in range(2000):
        if lines.exists() and lines.read_bytes().count(b"\n") >= 2:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    kept = lines.read_bytes().count(b"\n")
    assert 2 <= kept < 6
    with lines.open("ab") as file:
        file.write(b'{"index": 5, "key": "a line that was')
    again = iojoule("sim", "sweep", swept, *long, "-o", "out")
    assert again.returncode == 2 and "--resume" in again.stderr
    done = iojoule("sim", "sweep", swept, *long, "-o", "out", "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"] == 6
    assert lines.read_bytes().count(b"\n") == 6
    iojoule("sim", "sweep", swept, *long, "-o", "whole")
    one, whole = ((tmp_path / name / "results.parquet").read_bytes() for name in ("out", "whole"))
    assert one == whole


def test_an_interrupted_sweep_ends_with_130_and_writes_what_it_has(swept: Path, tmp_path: Path) -> None:
    words = ["sim", "sweep", str(swept), "-S", "trace.requests=100000000", "-o", str(tmp_path / "out")]
    process = subprocess.Popen([sys.executable, "-m", "iojoule", *words], stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "out/points.jsonl").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert json.loads((tmp_path / "out/manifest.json").read_text())["status"] == "interrupted"
    assert pq.read_table(tmp_path / "out/results.parquet").num_rows == 6


def test_a_point_that_cannot_be_is_told_and_the_others_finish(swept: Path, tmp_path: Path, iojoule: Call) -> None:
    done = iojoule("sim", "sweep", swept, "-S", "array.drives=2", "-o", "out")
    assert done.returncode == 4
    assert "3 or more" in done.stdout
    rows = pq.read_table(tmp_path / "out/results.parquet").to_pylist()
    assert [row["error"] is None for row in rows] == [True] * 3 + [False] * 3


def test_a_folder_that_is_no_sweep_is_left_alone(swept: Path, tmp_path: Path, iojoule: Call) -> None:
    (tmp_path / "out").mkdir()
    done = iojoule("sim", "sweep", swept, "-o", "out", "--resume")
    assert done.returncode == 2 and "not the folder of a sweep" in done.stderr
