"""A run through everything that can go wrong around it: what was recorded is kept, and what happened is said."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conftest import lacking
from e2e.bench import Bench
from iojoule.store.reader import open_campaign, open_run
from iojoule.targets.base import Opening
from iojoule.targets.http import HttpTarget
from iojoule.targets.running import open_http

pytestmark = pytest.mark.e2e


def wait_for(what: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def begun(bench: Bench) -> bool:
    """Whether some workload is under way and something of it is on disk."""
    return any(
        "workload" in (run / "events.jsonl").read_text() for run in bench.runs if (run / "events.jsonl").exists()
    )


def children_of(pid: int) -> set[int]:
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            for child in (task / "children").read_text().split():
                found |= {int(child), *children_of(int(child))}
    return found


def test_the_main_job_ends_with_every_request_recorded_and_a_report(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, extra='warmup = "1s"\nconnection_mode = "per_client"')
    done = bench.run("experiment.repeats=2", "experiment.idle=1s")
    assert done.returncode == 0, done.stderr
    assert len(bench.runs) == 2
    for folder in bench.runs:
        run = open_run(folder)
        assert run.status == "complete"
        assert run.requests(["seq"])["seq"].to_pylist().__len__() == bench.requests
        assert [span.phase for span in run.phases()] == ["prepare", "idle", "warmup", "measure"]
        assert set(run.requests(["error"])["error"].to_pylist()) == {""}
        assert run.readings().num_rows > 5
        assert run.verify() == []
        seconds = pq.read_table(folder / "tables" / "intervals.parquet")
        assert sum(seconds["requests"].to_pylist()) + sum(seconds["errors"].to_pylist()) == bench.requests
        assert set(seconds["boundary"].to_pylist()) == {"modelled"}
        watts = [one for one in seconds["watts"].to_pylist() if one is not None]
        # Busy time that the kernel books late is in a later second, which may then exceed what the model can draw.
        assert all(one >= 20 for one in watts) and sum(watts) / len(watts) <= 50
    campaign = bench.campaigns[0]
    assert "report: " in done.stdout
    assert (campaign / "report.html").stat().st_size > 100_000
    shown = json.loads(bench.call("show", str(campaign), "--json").stdout)
    energy = [m for m in shown["groups"][0]["metrics"] if m["name"] == "energy" and m["scope"] == "system"]
    assert energy[0]["boundary"] == "modelled"
    assert 20 * 2.5 < energy[0]["mean"] < 60 * 4
    assert bench.call("check", str(campaign)).returncode == 0


def test_a_modelled_watt_is_marked_wherever_it_is_shown(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=2)
    assert bench.run().returncode == 0
    shown = bench.call("show", str(bench.campaigns[0]))
    assert all("modelled" in line for line in shown.stdout.splitlines() if " W " in line or " J " in line)
    assert "modelled" in (bench.campaigns[0] / "report.html").read_text()


def test_an_old_folder_gives_the_same_numbers_again(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=2)
    assert bench.run().returncode == 0
    one, two = (bench.call("show", str(bench.campaigns[0]), "--json").stdout for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no lines"),
        (bytes(range(256)) * 40, "binary"),
        (gzip.compress(b"a line\n" * 5000)[:40], "truncated"),
    ],
    ids=["empty", "binary", "truncated-gzip"],
)
def test_a_log_that_is_none_is_refused_before_anything_runs(tmp_path: Path, content: bytes, words: str) -> None:
    bench = Bench.make(tmp_path)
    (tmp_path / "access.log").write_bytes(content)
    done = bench.run()
    assert done.returncode == 2, done.stderr
    assert "access.log" in done.stderr
    assert words in done.stderr
    assert bench.runs == []


def test_a_log_that_is_not_there_is_refused(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path)
    (tmp_path / "access.log").unlink()
    done = bench.run()
    assert done.returncode == 2
    assert "access.log" in done.stderr


def test_a_server_that_is_not_there_fails_the_run_and_says_so(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, target='url = "http://127.0.0.1:9/"')
    done = bench.run()
    assert done.returncode == 4
    assert "127.0.0.1:9" in done.stderr
    assert bench.manifest(bench.runs[0])["status"] == "failed"


def test_an_unknown_key_is_refused_with_one_json_document(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, extra="speedupp = 2")
    done = bench.call("run", str(tmp_path / "web.toml"), "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["nearest"], error["key"]) == (2, "speedup", "workload.speedupp")


def test_a_killed_run_stays_readable_and_leaves_nothing_running(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=60)
    child = bench.begin()
    try:
        wait_for(lambda: begun(bench))
        time.sleep(4)
        started = children_of(child.pid)
        assert started
        child.send_signal(signal.SIGKILL)
    finally:
        child.kill()
        child.wait()
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), 10)
    run = open_run(bench.runs[0])
    assert run.status == "killed"
    requests = run.requests(["seq", "error"])
    assert requests.num_rows >= 100
    assert run.readings().num_rows > 5
    shown = bench.call("show", str(bench.campaigns[0]))
    assert shown.returncode == 0, shown.stderr
    assert "incomplete (killed)" in shown.stdout
    assert bench.call("check", str(bench.campaigns[0])).returncode == 1


def test_the_first_interrupt_ends_after_the_step(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=4)
    child = bench.begin("experiment.repeats=3")
    wait_for(lambda: begun(bench))
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    assert [open_run(run).status for run in bench.runs] == ["complete"]
    assert bench.manifest(bench.campaigns[0])["status"] == "interrupted"


def test_the_second_interrupt_stops_now_and_resume_runs_what_is_missing(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=20)
    child = bench.begin("experiment.repeats=2", "workload.speedup=4")
    wait_for(lambda: begun(bench))
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 130
    assert [open_run(run).status for run in bench.runs] == ["interrupted"]
    resumed = bench.call("run", "--resume", str(bench.campaigns[0]))
    assert resumed.returncode == 0, resumed.stderr
    campaign = open_campaign(bench.campaigns[0])
    assert sorted(r.manifest["step"]["repeat"] for r in campaign.runs if r.status == "complete") == [1, 2]
    assert len(campaign.runs) == 3


def test_a_deadline_stops_the_run_with_its_own_exit_code(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=30)
    done = bench.call("run", str(tmp_path / "web.toml"), "--timeout", "3s")
    assert done.returncode == 124
    assert open_run(bench.runs[0]).status == "interrupted"


def test_a_server_killed_and_restarted_mid_replay_costs_requests_and_not_the_run(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.mkdir()
    config = HttpTarget(name="server", server="builtin")
    bench = Bench.make(tmp_path, seconds=6, extra='connection_mode = "per_client"\nprepare.names = "plain"')
    for number in range(20):
        place = content / "files" / f"{number}.html"
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"x" * 500)
    (tmp_path / "server").mkdir()
    with open_http(config, Opening(tmp_path / "server", content)) as server:
        experiment = (tmp_path / "web.toml").read_text().replace('server = "builtin"', f'url = "{server.url}"')
        (tmp_path / "web.toml").write_text(experiment)
        child = bench.begin()
        wait_for(lambda: begun(bench))
        time.sleep(2)
        server.kill()
        time.sleep(1)
        server.start()
        _, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    run = open_run(bench.runs[0])
    rows = run.requests(["planned_ns", "error"]).sort_by("planned_ns")["error"].to_pylist()
    assert len(rows) == bench.requests
    assert {"connect"} <= set(rows) <= {"", "connect", "reset"}
    failed = [index for index, error in enumerate(rows) if error]
    assert failed[0] > 50
    assert rows[-40:] == [""] * 40


def test_a_meter_killed_mid_run_leaves_a_gap_and_does_not_stop_the_load(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=8)
    child = bench.begin()
    wait_for(lambda: begun(bench))
    time.sleep(2)
    meters = [pid for pid in children_of(child.pid) if b"meters.sampler" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(meters) == 1
    os.kill(meters[0], signal.SIGKILL)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 0, errors
    run = open_run(bench.runs[0])
    assert run.requests(["seq"]).num_rows == bench.requests
    events = [event["event"] for event in run.events()]
    assert events.index("meter_lost") < events.index("meter_back")
    flags = run.readings()["quality"].to_pylist()
    assert any("gap_before" in flag for flag in flags)
    assert all("modelled" in flag for flag in flags)


def test_two_runs_at_once_do_not_touch_each_other(tmp_path: Path) -> None:
    bench = Bench.make(tmp_path, seconds=3)
    children = [bench.begin() for _ in range(2)]
    for child in children:
        _, errors = child.communicate(timeout=90)
        assert child.returncode == 0, errors
    assert len(bench.campaigns) == 2
    assert [open_run(run).requests(["seq"]).num_rows for run in bench.runs] == [bench.requests] * 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    if os.geteuid() != 0:
        lacking("the right to mount a small disk", "run as root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_fails_the_run_and_keeps_what_was_written(tmp_path: Path, small_disk: Path) -> None:
    bench = Bench.make(tmp_path, seconds=40, per_second=50)
    # The content lies elsewhere, so that it is the tables that meet the end of the disk.
    child = bench.begin(f"experiment.output={small_disk}", f"target.content={tmp_path}/content")
    wait_for(lambda: list(small_disk.glob("*/runs/*/tables/requests.parquet.footer")))
    time.sleep(3)
    free = os.statvfs(small_disk)
    with contextlib.suppress(OSError):
        (small_disk / "ballast").write_bytes(b"\0" * (free.f_bavail * free.f_frsize))
    _, errors = child.communicate(timeout=90)
    assert child.returncode == 4, errors
    assert "No space left" in errors
    (small_disk / "ballast").unlink()
    run = open_run(next(small_disk.glob("*/runs/*")))
    assert run.incomplete
    assert run.requests(["seq"]).num_rows >= 50
