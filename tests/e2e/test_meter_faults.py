"""A meter that fails in the middle of a real run: nothing is invented, nothing delivered is lost, the run goes on and
says what happened.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from conftest import lacking
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.powercap import PowercapFront
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.store.reader import RunFolder, open_campaign

pytestmark = pytest.mark.e2e

WATTS = 18.0
FILE = """
[experiment]
name = "faults"
output = "OUTPUT"

[[target]]
name = "nothing"
kind = "null"

[[workload]]
name = "reads"
kind = "block"
queue_depth = 1
rate = "200/s"
duration = "4s"
limits = { stretch = 2.0, lateness_p99 = "30s" }
"""
#: The command with a host whose civil clock is set by 10 minutes as soon as a file exists.
STEPPED = """
import os, sys, time
true, told = time.time_ns, sys.argv.pop(1)
time.time_ns = lambda: true() + (600 * 10**9 if os.path.exists(told) else 0)
from iojoule.cli import main
sys.exit(main())
"""


class Bench:
    """A run that watches one meter of the laboratory."""

    def __init__(self, folder: Path, output: Path | None = None) -> None:
        self.folder, self.output = folder, output or folder / "runs"
        self.said = folder / "said"

    @contextlib.contextmanager
    def running(
        self, *sections: dict[str, Any], launch: tuple[str, ...] = ("-m", "iojoule"), report: bool = False
    ) -> Iterator[Any]:
        """``iojoule run``, from when its load began; at the end of the block it is awaited."""
        file = self.folder / "faults.toml"
        meters = "".join("\n[[meter]]\n" + "".join(f"{k} = {_toml(v)}\n" for k, v in one.items()) for one in sections)
        file.write_text(FILE.replace("OUTPUT", str(self.output)) + meters)
        with self.said.open("w") as said:
            command = [sys.executable, *launch, "run", str(file), "--debug-build", *["--no-report"] * (not report)]
            process = subprocess.Popen(command, stdout=said, stderr=said)
        try:
            self.until('"workload", "edge": "begin"')
            time.sleep(0.6)
            yield process
            process.wait(120)
        finally:
            process.kill()
            process.wait()

    def until(self, text: str, times: int = 1) -> None:
        """Wait for an event, in as many runs."""
        by = time.monotonic() + 60
        while sum(text in file.read_text() for file in self.output.glob("*/runs/*/events.jsonl")) < times:
            assert time.monotonic() < by, self.said.read_text()
            time.sleep(0.02)

    @property
    def campaign(self) -> Path:
        return next(self.output.glob("*/manifest.json")).parent

    @property
    def run(self) -> RunFolder:
        return open_campaign(self.campaign).runs[0]

    def check(self) -> str:
        """What ``iojoule check`` says."""
        command = [sys.executable, "-m", "iojoule", "check", str(self.campaign)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _toml(value: Any) -> str:
    return json.dumps(value)


def readings(run: RunFolder, channel: str = "power") -> list[dict[str, Any]]:
    """The readings of a channel: numbered without a hole, in order, and each of them what the load draws."""
    rows = [row for row in run.readings().to_pylist() if row["channel"] == channel]
    assert [row["seq"] for row in rows] == list(range(len(rows)))
    assert all(a["end_ns"] <= b["start_ns"] + b["u_time_ns"] + 20_000_000 for a, b in pairwise(rows))
    return rows


def events(run: RunFolder) -> list[str]:
    return [event["event"] for event in run.events() if event["event"].startswith("meter_")]


@pytest.fixture
def wt310() -> Wt310Front:
    return Wt310Front(Load([State(WATTS, 1e6)], time.monotonic_ns()), seed=1)


def section(front: Wt310Front) -> dict[str, Any]:
    return front.section() | {"name": "wall", "interval": "100ms", "timeout": "500ms", "integrate": False}


def watts_are_the_loads(rows: list[dict[str, Any]]) -> None:
    good = [row["value"] for row in rows if "invalid" not in row["quality"]]
    assert good and all(abs(value - WATTS) < 0.2 for value in good)


def test_what_a_bad_line_says_is_never_a_reading(tmp_path: Path, wt310: Wt310Front) -> None:
    bench = Bench(tmp_path)
    with wt310.served(), bench.running(section(wt310), report=True) as process:
        for fault in ("garbage", "half", "split", "double", "hang_up"):
            wt310.faults.next.append(fault)  # type: ignore[arg-type]
            time.sleep(0.35)
    assert process.returncode == 0, bench.said.read_text()
    rows = readings(bench.run)
    watts_are_the_loads(rows)
    said = events(bench.run)
    assert "meter_lost" in said and said.count("meter_lost") == said.count("meter_back")
    assert sum("gap_before" in row["quality"] for row in rows) == said.count("meter_lost")
    assert "meter lost: " in bench.check()
    assert "The meter wall was lost for a while" in (bench.campaign / "report.html").read_text()


def test_an_answer_that_is_late_or_never_comes_is_not_taken_for_another(tmp_path: Path, wt310: Wt310Front) -> None:
    bench, wt310.faults.late_s = Bench(tmp_path), 1.2
    with wt310.served(), bench.running(section(wt310)) as process:
        wt310.faults.next.append("late")
        time.sleep(1.8)
        wt310.faults.next.append("silent")
    assert process.returncode == 0, bench.said.read_text()
    rows = readings(bench.run)
    watts_are_the_loads(rows)
    assert events(bench.run).count("meter_lost") == 2
    assert sum("gap_before" in row["quality"] for row in rows) >= 1


def test_a_meter_pulled_out_and_put_back_leaves_a_gap_and_the_energy_says_so(tmp_path: Path, wt310: Wt310Front) -> None:
    bench = Bench(tmp_path)
    with contextlib.ExitStack() as plugs:
        address = plugs.enter_context(wt310.served())
        with bench.running(section(wt310)) as process:
            plugs.close()
            time.sleep(1.0)
            plugs.enter_context(wt310.served(int(address.rpartition(":")[2])))
    assert process.returncode == 0, bench.said.read_text()
    rows = readings(bench.run)
    watts_are_the_loads(rows)
    assert events(bench.run) == ["meter_lost", "meter_back"]
    (gap,) = [n for n, row in enumerate(rows) if "gap_before" in row["quality"]]
    assert rows[gap]["start_ns"] - rows[gap - 1]["end_ns"] > 500_000_000
    said = bench.check()
    assert "meter lost: " in said
    assert "98 %" in said or "98%" in said  # the phase is not covered enough for an energy, and nothing is filled in


def test_a_tree_that_vanishes_and_comes_back_counts_nothing_of_the_time_between(tmp_path: Path) -> None:
    front = PowercapFront(Load([State(80.0, 1e6)], time.monotonic_ns()), seed=1)
    bench = Bench(tmp_path)
    with front.served(), bench.running({**front.section(), "name": "cpu"}) as process:
        front.tree.instead["intel-rapl:0/energy_uj"] = "###\n"
        time.sleep(0.3)
        front.tree.instead.clear()
        time.sleep(1.0)
        front.tree.unplug()
        time.sleep(0.4)
        front.tree.plug()
    assert process.returncode == 0, bench.said.read_text()
    rows = readings(bench.run, "package-0")
    for row in rows:
        seconds = (row["end_ns"] - row["start_ns"]) * 1e-9
        # A writer held up by a busy machine delivers in one step what belongs to two; nothing comes twice.
        assert row["value"] < 80.0 * (seconds + 0.5)
    assert events(bench.run) == ["meter_lost", "meter_back"] * 2
    assert sum("gap_before" in row["quality"] for row in rows) >= 1


def test_a_meters_process_that_is_killed_is_started_again(tmp_path: Path, wt310: Wt310Front) -> None:
    bench = Bench(tmp_path)
    with wt310.served(), bench.running(section(wt310)) as process:
        for pid in _samplers(process.pid):
            os.kill(pid, signal.SIGKILL)
    assert process.returncode == 0, bench.said.read_text()
    rows = readings(bench.run)
    watts_are_the_loads(rows)
    assert events(bench.run) == ["meter_lost", "meter_back"]
    assert [event["text"] for event in bench.run.events() if event["event"] == "meter_lost"] == [
        "its process ended with -9"
    ]
    assert sum("gap_before" in row["quality"] for row in rows) == 1


def _samplers(pid: int) -> list[int]:
    command = ["ps", "-o", "pid=,args=", "--ppid", str(pid)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    return [int(line.split()[0]) for line in lines if "iojoule.meters.sampler" in line]


def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_was_read(tmp_path: Path, wt310: Wt310Front) -> None:
    if os.geteuid():
        lacking("root", "run as root: a small file system is mounted")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(small)], check=False).returncode:
        lacking("mount", "allow file systems to be mounted")
    try:
        bench = Bench(tmp_path, small)
        with wt310.served(), bench.running(section(wt310)) as process:
            time.sleep(1.5)
            with contextlib.suppress(OSError), (small / "filler").open("wb", buffering=0) as filler:
                while filler.write(b"x" * 4096):
                    pass
        assert process.returncode == 4, bench.said.read_text()
        assert bench.run.status == "failed"
        assert "No space left" in json.dumps(bench.run.manifest["error"])
        rows = readings(bench.run)
        watts_are_the_loads(rows)
        assert len(rows) >= 10
        assert "did not reach its end" in bench.check()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_host_clock_set_by_ten_minutes_is_reported_and_moves_nothing(tmp_path: Path, wt310: Wt310Front) -> None:
    bench, set_now = Bench(tmp_path), tmp_path / "set"
    with wt310.served(), bench.running(section(wt310), launch=("-c", STEPPED, str(set_now)), report=True) as process:
        set_now.touch()
    assert process.returncode == 0, bench.said.read_text()
    rows = readings(bench.run)
    watts_are_the_loads(rows)
    assert events(bench.run) == []
    assert not any("gap_before" in row["quality"] for row in rows)
    assert "host clock stepped by +" in bench.check()
    assert "Host clock stepped by +" in (bench.campaign / "report.html").read_text()
    span_s = (rows[-1]["end_ns"] - rows[0]["start_ns"]) * 1e-9
    assert span_s < 60


class Drawn:
    """A load that draws what it is told to, from now on."""

    def __init__(self, watts: float) -> None:
        self.now = watts

    def watts(self, at_ns: int) -> float:
        return self.now

    def joules(self, start_ns: int, end_ns: int) -> float:
        return self.now * (end_ns - start_ns) * 1e-9

    def volts(self, at_ns: int) -> float:
        return 230.0


def test_a_load_that_outgrows_the_range_found_for_it_has_no_energy_and_asks_for_another(tmp_path: Path) -> None:
    bench, load = Bench(tmp_path), Drawn(WATTS)
    front = Wt310Front(load, seed=1)
    find = {"voltage_range": "find", "current_range": "find"}
    with front.served(), bench.running(section(front) | find) as process:
        bench.until('"workload", "edge": "begin"', times=2)  # the ranging is over
        time.sleep(1.0)
        load.now = 2000.0
    assert process.returncode == 0, bench.said.read_text()
    ranging, measured = open_campaign(bench.campaign).runs
    ranges = ranging.manifest["ranging"]["wall"]["ranges"]
    peak_a = ranging.manifest["ranging"]["wall"]["peaks"]["current"]
    assert ranges["voltage_range"] == 300 and 1.1 * peak_a < ranges["current_range"] < 20
    assert measured.manifest["ranges_found_by"] == ranging.path.name
    rows = readings(measured)
    assert "overload" in rows[-1]["quality"] and rows[0]["quality"] in ("", "under_range")
    said = bench.check()
    assert "repeat the ranging" in said
    assert "fail     no energy" in said and "overload" in said
