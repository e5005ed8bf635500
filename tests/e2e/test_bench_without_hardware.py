"""The tutorial with nothing attached: a run on a laboratory's meters, and what was measured beside the truth."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "bench-without-hardware.toml"
SHORT = ["experiment.idle=1s", "experiment.idle_after=500ms", "workload.duration=2s"]


def iojoule(words: list[str], folder: Path, ports: tuple[int, int]) -> subprocess.CompletedProcess[str]:
    named = {"IOJOULE_LAB_PORT": str(ports[0]), "IOJOULE_LAB_PORT_2": str(ports[1])}
    environment = os.environ | named | {"NO_COLOR": "1"}
    command = [sys.executable, "-m", "iojoule", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)


def test_the_truth_lies_within_what_is_quoted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = one.getsockname()[1], other.getsockname()[1]
    settings = [word for setting in SHORT for word in ("-S", setting)]
    lab = ["meter", "lab", str(EXAMPLE), "--follow", "runs", "--full", "1GB", "--truth", "truth.csv"]
    done = iojoule([*lab, "--", "run", str(EXAMPLE), *settings, "--json"], tmp_path, ports)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {run["status"] for run in result["runs"]} == {"complete"}
    for group in result["groups"]:
        metrics = {(metric["name"], metric["scope"]): metric for metric in group["metrics"]}
        power = metrics["power_mean", "system"]
        assert power["boundary"] == "ac_wall"
        assert power["mean"] > metrics["idle_power_before", "system"]["mean"], "the load follows the I/O of the run"
        assert {"gain", "offset"} <= metrics["energy", "system"]["budget"].keys()
    assert (tmp_path / result["report"]).stat().st_size > 100_000

    told = iojoule(["meter", "truth", "runs", "truth.csv", "--json"], tmp_path, ports)
    phases = json.loads(told.stdout)["phases"]
    measured = [row for row in phases if row["phase"] == "measure"]
    assert {row["channel"] for row in measured} == {"wall/power", "supply/power"}
    assert len(measured) == 2 * len(result["runs"])
    # U has k = 2; one in twenty may lie outside, so that what must not happen is twice that.
    assert all(abs(row["off_j"]) <= 2 * row["expanded"] for row in measured), measured
    with (tmp_path / "truth.csv").open() as file:
        watts = [float(row["watts"]) for row in csv.DictReader(file)]
    assert min(watts) == pytest.approx(5.0) and max(watts) > 5.5
