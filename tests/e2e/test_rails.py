"""A run watched by a made 34972A on the two lines of a drive: rails, their budget and their burden, to the report."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

EXPERIMENT = """
[experiment]
name = "rails"
idle = "2s"

[[target]]
name = "file"
kind = "file"
size = "16MiB"

[[workload]]
name = "read"
kind = "block"
pattern = "random"
block_size = "64KiB"
queue_depth = 1
duration = "3s"

[[meter]]
name = "dmm"
kind = "keysight_34970a"
interval = "500ms"
resource = "TCPIP0::127.0.0.1::PORT::SOCKET"
rails = [
  { name = "5v", voltage = "@101", shunt = "@102", ohm = 0.1, tolerance_pct = 0.1, voltage_range = 10,
    shunt_range = 0.1, drive = "sda" },
  { name = "12v", voltage = "@103", shunt = "@104", ohm = 0.1, tolerance_pct = 0.1, voltage_range = 100,
    shunt_range = 0.1, drive = "sda", upstream = true },
]
""".replace(",\n    shunt", ", shunt")  # an inline table of TOML is one line


def iojoule(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", *words]
    return subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=240)


def test_a_drive_on_two_rails_has_one_energy_with_the_budget_of_a_multimeter_and_two_resistors(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (tmp_path / "rails.toml").write_text(EXPERIMENT.replace("PORT", str(port)))
    lab = ["meter", "lab", "rails.toml", "--follow", "runs", "--full", "1GB", "--truth", "truth.csv"]
    done = iojoule(tmp_path, *lab, "--", "run", "rails.toml", "--json")
    assert done.returncode == 0, done.stderr
    (group,) = json.loads(done.stdout)["groups"]
    metrics = {(metric["name"], metric["scope"]): metric for metric in group["metrics"]}
    energy = metrics["energy", "drive:sda"]
    assert energy["mean"] is not None, energy["note"]
    assert energy["boundary"] == "dc_rail"
    assert {"gain", "offset", "shunt 5v", "shunt 12v", "shunt 5v, temperature"} <= energy["budget"].keys()
    parts = [metrics["energy", f"channel:dmm/{rail}"]["mean"] for rail in ("5v", "12v")]
    assert energy["mean"] == pytest.approx(sum(parts))
    assert 0.5 < metrics["burden", "channel:dmm/5v"]["mean"] < 5.0
    told = json.loads(iojoule(tmp_path, "meter", "truth", "runs", "truth.csv", "--json").stdout)
    (row,) = [row for row in told["phases"] if row["phase"] == "measure"]
    assert row["channel"] == "dmm, all rails" and row["joules"] == pytest.approx(energy["mean"])
    assert abs(row["off_j"]) <= 2 * row["expanded"], row
