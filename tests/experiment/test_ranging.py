"""Ranges are found by a step of its own, with autorange, and kept by the measured steps of the same cell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import iojoule
from iojoule.cli.check import findings
from iojoule.experiment import ranging
from iojoule.report import load_campaign
from iojoule.report.reduce import reduce_campaign
from iojoule.store.reader import open_campaign

DRIVER = Path(__file__).parent / "bench_driver"

FILE = """
[experiment]
name = "ranged"
output = "runs"
repeats = 2
idle = "200ms"

[[target]]
name = "nothing"
kind = "null"

[[workload]]
name = "reads"
kind = "block"
duration = "300ms"
block_size = "4KiB"
queue_depth = 1
rate = "200/s"

[[meter]]
name = "wall"
kind = "ranging_meter"
interval = "50ms"
watts = "WATTS"
range = "find"
"""


class Bench:
    """An experiment whose meter shows what ``watts`` holds."""

    path = os.pathsep.join([str(DRIVER), str(Path(iojoule.__file__).parent.parent)])

    def __init__(self, folder: Path) -> None:
        self.folder, self.watts = folder, folder / "watts"
        self.show(12.0)
        (folder / "x.toml").write_text(FILE.replace("WATTS", str(self.watts)))

    def show(self, *watts: float) -> None:
        """At first, and by a meter that has a fixed range and is ready."""
        self.watts.write_text(" ".join(map(str, watts)))

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        command, env = [sys.executable, "-m", "iojoule", *words], os.environ | {"PYTHONPATH": self.path}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder, env=env)

    @property
    def campaign(self) -> Path:
        return next(self.folder.glob("runs/*/manifest.json")).parent

    def runs(self) -> list[dict[str, Any]]:
        return [run.manifest for run in open_campaign(self.campaign).runs]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_the_plan_shows_one_ranging_before_the_first_run_of_each_cell(bench: Bench) -> None:
    said = bench.call("plan", "x.toml").stdout.splitlines()
    assert said[0].startswith("ranged: 3 steps")
    assert [line.split("reads")[1].strip() for line in said[1:4]] == ["ranging", "repeat 1", "repeat 2"]


def test_fixed_ranges_above_the_peak_are_kept_and_the_ranging_enters_no_figure(bench: Bench) -> None:
    done = bench.call("run", "x.toml", "--debug-build", "--no-report")
    assert done.returncode == 0, done.stderr
    made, *measured = bench.runs()
    assert made["step"]["role"] == "ranging" and made["meters"][0]["identity"]["range"] == "find"
    assert made["ranging"] == {"wall": {"peaks": {"power": 12.0}, "ranges": {"range": 20.0}}}
    assert [run["meters"][0]["identity"]["range"] for run in measured] == [20.0, 20.0]
    assert {run["ranges_found_by"] for run in measured} == {"000_nothing_reads_ranging"}
    campaign = load_campaign(bench.campaign)
    scenarios, _ = reduce_campaign(campaign)
    assert [run.run.repeat for group in scenarios[0].groups for run in group.runs] == [1, 2]
    assert [one.level for one in findings(campaign.runs[0], [])] == ["note"]


def test_a_load_that_outgrows_its_range_has_no_energy_and_asks_for_another_ranging(bench: Bench) -> None:
    bench.show(12.0, 60.0)
    assert bench.call("run", "x.toml", "--debug-build", "--no-report", "-S", "experiment.repeats=1").returncode == 0
    campaign = load_campaign(bench.campaign)
    said = findings(campaign.runs[1], [])
    assert any(one.level == "fail" and "overload" in one.text for one in said)
    asked = "no energy: repeat the ranging (run the experiment anew)"
    assert any(one.level == "warning" and one.text.endswith(asked) for one in said)


def test_a_resumed_campaign_keeps_the_ranges_it_found(bench: Bench) -> None:
    assert bench.call("run", "x.toml", "--debug-build", "--no-report", "-S", "experiment.repeats=1").returncode == 0
    manifest = bench.campaign / "runs" / "001_nothing_reads_r1" / "manifest.json"
    document = json.loads(manifest.read_text()) | {"status": "interrupted"}
    manifest.write_text(json.dumps(document))
    done = bench.call("run", "--resume", str(bench.campaign), "--debug-build", "--no-report")
    assert done.returncode == 0, done.stderr
    assert [(run["step"]["repeat"], run["status"]) for run in bench.runs()] == [
        (0, "complete"), (1, "interrupted"), (1, "complete"),
    ]  # fmt: skip
    assert bench.runs()[2]["ranges_found_by"] == "000_nothing_reads_ranging"


def test_without_a_range_large_enough_the_ranging_fails_and_nothing_is_measured(bench: Bench) -> None:
    bench.show(500.0)
    done = bench.call("run", "x.toml", "--debug-build", "--no-report", "-S", "experiment.repeats=1")
    assert done.returncode == 4
    made, measured = bench.runs()
    assert "no range is above 500 W" in made["error"]["message"]
    assert "its ranging step did not reach its end" in measured["error"]["message"]


def test_a_meter_with_fixed_ranges_needs_no_ranging(bench: Bench) -> None:
    said = bench.call("plan", "x.toml", "-S", "meter.wall.range=20", "--json")
    assert [step.get("role") for step in json.loads(said.stdout)["steps"]] == [None, None]


def test_meters_without_ranges_ask_for_nothing() -> None:
    from iojoule.meters import parse_meter

    assert ranging.seeking([parse_meter({"kind": "powercap"})]) == []
