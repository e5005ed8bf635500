"""The HTTP engine through the door: JSON in, JSON and tables out, progress while it runs, errors as exceptions."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iojoule import _native as native
from iojoule.errors import ConfigError, HostError

PAGE = b"<p>a page"


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The builtin server over a folder with one page."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "page").write_bytes(PAGE)
    server = native.Server(str(root))
    thread = threading.Thread(target=server.run)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.stop()
    thread.join()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    for name in ("tables", "hist"):
        (folder / name).mkdir(parents=True)
    return folder


def trace(folder: Path, requests: int, gap_ns: int) -> str:
    path = folder / "t.replay.parquet"
    columns = {
        "planned_ns": pa.array([i * gap_ns for i in range(requests)], pa.int64()),
        "method": pa.array(["GET"] * requests).dictionary_encode(),
        "object": pa.array([0] * requests, pa.uint32()),
        "path": pa.array(["/page"] * requests).dictionary_encode(),
        "client": pa.array([i % 5 for i in range(requests)], pa.uint32()),
    }
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_a_replay_records_each_request_once_and_sums_up(url: str, run: Path) -> None:
    config = {"replay": trace(run, 200, 1_000_000), "url": url, "run": str(run)}
    summary: dict[str, Any] = json.loads(native.http_replay(json.dumps(config), native.Progress()))
    table = pq.read_table(run / "tables" / "requests.parquet")
    assert sorted(table["seq"].to_pylist()) == list(range(200))
    assert summary["requests"] == summary["succeeded"] == 200
    assert summary["bytes"] == 200 * len(PAGE)
    assert set(table["error"].to_pylist()) == {""}
    assert [span["phase"] for span in summary["phases"]] == ["measure"]


def test_a_closed_loop_fetches_as_often_as_asked(url: str, run: Path) -> None:
    config = {"url": url, "run": str(run), "paths": ["/page"], "connections": 3, "fetches": 100, "duration_ns": None}
    summary = json.loads(native.http_closed(json.dumps(config), native.Progress()))
    assert summary["succeeded"] == 100


def test_progress_is_seen_while_the_load_runs_and_ends_it(url: str, run: Path) -> None:
    progress = native.Progress()
    config = json.dumps({"replay": trace(run, 100_000, 1_000_000), "url": url, "run": str(run)})
    summaries: list[str] = []
    thread = threading.Thread(target=lambda: summaries.append(native.http_replay(config, progress)))
    thread.start()
    while progress.snapshot()["done"] < 50:
        time.sleep(0.01)
    seen = progress.snapshot()
    progress.stop(now=False)
    thread.join()
    assert seen["planned"] == 100_000
    assert seen["phase"] == "measure"
    summary = json.loads(summaries[0])
    assert summary["requests"] + summary["unplayed"] == 100_000
    assert summary["unplayed"] > 0


def test_a_wrong_configuration_names_the_key(run: Path) -> None:
    unknown = {"replay": "x", "url": "http://h", "run": str(run), "speed_up": 2}
    with pytest.raises(ConfigError, match="speed_up"):
        native.http_replay(json.dumps(unknown), native.Progress())
    with pytest.raises(ConfigError, match="fetches"):
        config = {"url": "http://127.0.0.1:1", "run": str(run), "paths": ["/"], "connections": 1}
        native.http_closed(json.dumps(config), native.Progress())


def test_a_port_in_use_is_the_machines_error(url: str, tmp_path: Path) -> None:
    with pytest.raises(HostError, match="cannot listen"):
        native.Server(str(tmp_path), url.removeprefix("http://"))


def test_content_is_made_once(tmp_path: Path) -> None:
    table = tmp_path / "t.objects.parquet"
    columns = {
        "object": pa.array([0, 1], pa.uint32()),
        "path": pa.array(["/a", "/b/c"]),
        "file": pa.array(["a", "b/c"]),
        "size": pa.array([10, 2_000_000], pa.uint64()),
    }
    pq.write_table(pa.table(columns), table)
    first = json.loads(native.build_content(str(table), str(tmp_path / "tree"), 1))
    again = json.loads(native.build_content(str(table), str(tmp_path / "tree"), 1))
    assert (first["files"], first["bytes"]) == (2, 2_000_010)
    assert (again["files"], again["kept"], again["bytes"]) == (2, 2, 0)
    assert (tmp_path / "tree" / "b" / "c").stat().st_size == 2_000_000


FULL_DISK = """
import json, resource, sys
from iojoule import _native
from iojoule.errors import RunFailed
# Python ignores SIGXFSZ, so that a file at its limit is an error of the write, as a full disk is.
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))
config = {"url": sys.argv[1], "run": sys.argv[2], "paths": ["/page"], "connections": 1, "duration_ns": 60_000_000_000}
try:
    _native.http_closed(json.dumps(config), _native.Progress())
except RunFailed as error:
    print("RunFailed", error)
"""


def test_a_full_disk_ends_the_load_and_keeps_what_was_written(url: str, run: Path) -> None:
    command = [sys.executable, "-c", FULL_DISK, url, str(run)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50)
    assert said.stdout.startswith("RunFailed"), said.stderr
    table = run / "tables" / "requests.parquet"
    native.recover_table(str(table))
    assert pq.read_table(table).num_rows > 0


KILLED = """
import json, sys
from iojoule import _native
config = {"url": sys.argv[1], "run": sys.argv[2], "paths": ["/page"], "connections": 2, "duration_ns": 60_000_000_000}
print("up", flush=True)
_native.http_closed(json.dumps(config), _native.Progress())
"""


def test_a_killed_load_leaves_a_table_that_can_be_mended(url: str, run: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, url, str(run)])
    time.sleep(3)
    process.kill()
    process.wait()
    table = run / "tables" / "requests.parquet"
    assert native.recover_table(str(table))
    assert pq.read_table(table).num_rows > 0


def test_a_signal_whose_handler_raises_ends_the_load(url: str, run: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url, str(run)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in said
    assert pq.read_table(run / "tables" / "requests.parquet").num_rows > 0
