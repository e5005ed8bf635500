"""``iojoule meter record``: a table or a run folder, the energy of each phase, and nothing lost when it is killed."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from iojoule.meters import clock
from iojoule.meters.lab.bench import toml
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.store.reader import open_run

RECORD = [sys.executable, "-m", "iojoule", "meter", "record"]
WATTS = 18.0


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Path]:
    """A folder whose ``wall.toml`` names a meter that is served, at a steady load."""
    front = Wt310Front(Load([State(WATTS, 1.0)], clock.now_ns()), seed=1)
    with front.served():
        (tmp_path / "wall.toml").write_text(toml([{"name": "wall", **front.section(), "interval": "100ms"}]))
        yield tmp_path


def record(words: list[str], folder: Path, code: int = 0, said: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*RECORD, *words], cwd=folder, input=said, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def power(document: dict[str, Any], phase: str = "measure") -> dict[str, Any]:
    (row,) = [row for row in document["phases"] if (row["phase"], row["channel"]) == (phase, "wall/power")]
    return dict(row)


def test_a_table_of_readings_and_the_energy_with_its_uncertainty(bench: Path) -> None:
    said = json.loads(record(["wall.toml", "-o", "w.parquet", "--for", "1500ms", "--json"], bench).stdout)
    row = power(said)
    assert row["boundary"] == "ac_wall"
    assert abs(row["watts"] - WATTS) <= row["expanded_w"] < 0.5
    assert row["joules"] == pytest.approx(row["watts"] * row["seconds"])
    table = pq.read_table(bench / "w.parquet")
    assert table.num_rows == said["readings"] > 20
    assert {"meter", "channel", "unit", "start_ns", "end_ns", "u_time_ns", "u_value", "quality"} <= set(
        table.schema.names
    )
    assert not (bench / "w.parquet.run").exists()


def test_a_spreadsheet_has_utc_units_and_the_expanded_uncertainty(bench: Path) -> None:
    text = record(["wall.toml", "-o", "w.csv", "--for", "800ms"], bench).stdout
    assert "W [ac_wall]" in text and "readings: w.csv" in text
    rows = list(csv.DictReader((bench / "w.csv").open()))
    watts = [row for row in rows if row["channel"] == "power"]
    assert all(abs(float(row["value"]) - WATTS) <= float(row["expanded"]) for row in watts)
    assert {row["unit"] for row in watts} == {"W"}
    assert rows[0]["start_utc"].startswith("20") and rows[0]["start_utc"].endswith("Z")
    assert float(watts[1]["start_s"]) == pytest.approx(float(watts[0]["end_s"]), abs=0.02)
    assert "is there already" in record(["wall.toml", "-o", "w.csv", "--for", "1s"], bench, 2).stderr


def test_lines_begin_phases_and_ctrl_c_is_the_regular_end(bench: Path) -> None:
    command = [*RECORD, "wall.toml", "-o", "bench", "--json"]
    process = subprocess.Popen(
        command, cwd=bench, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stderr
    while "recording wall" not in process.stderr.readline():
        pass
    time.sleep(0.8)
    process.stdin.write("spin-up\n")
    process.stdin.flush()
    time.sleep(1.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    said = json.loads(out)
    for phase in ("measure", "spin-up"):
        assert abs(power(said, phase)["watts"] - WATTS) <= power(said, phase)["expanded_w"]
    run = open_run(bench / "bench")
    assert (run.status, [span.phase for span in run.phases()]) == ("complete", ["measure", "spin-up"])
    assert run.verify() == []


def test_what_was_recorded_survives_a_kill(bench: Path) -> None:
    process = subprocess.Popen(
        [*RECORD, "wall.toml", "-o", "w.csv"], cwd=bench, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    while "recording wall" not in process.stderr.readline():
        pass
    time.sleep(2.5)
    process.kill()
    process.communicate(timeout=30)
    run = open_run(bench / "w.csv.run")
    assert run.status == "killed"
    assert run.readings().num_rows > 10
    assert os.path.exists(bench / "w.csv.run" / "raw" / "wall.log")  # noqa: PTH110
    assert "killed" in record(["wall.toml", "-o", "w.csv", "--for", "1s"], bench, 2).stderr


def test_a_meter_that_gives_nothing_is_an_error_of_the_host(tmp_path: Path) -> None:
    words = ["--kind", "powercap", "-S", f"root={tmp_path}", "-o", "w.csv", "--for", "1s", "--json"]
    said = json.loads(record(words, tmp_path, 3).stdout)
    assert "no good reading to begin with" in said["error"]["message"]


def test_where_to_must_be_said(bench: Path) -> None:
    assert "-o wall.parquet" in record(["wall.toml"], bench, 2).stderr
    assert "not a time" in record(["wall.toml", "-o", "x.csv", "--for", "ever"], bench, 2).stderr


def test_notes_of_a_display_become_a_step_of_energy(tmp_path: Path) -> None:
    """The display is told by another command, before and while it is recorded."""
    note = [sys.executable, "-m", "iojoule", "meter", "manual-note", "wall.notes"]
    subprocess.run([*note, "100.0"], cwd=tmp_path, check=True, capture_output=True)
    keys = {"name": "wall", "unit": "Wh", "resolution": 0.1, "class_pct": 1, "notes": "wall.notes", "interval": "100ms"}
    settings = [word for key, value in keys.items() for word in ("-S", f"{key}={value}")]
    command = [*RECORD, "--kind", "manual", *settings, "-o", "bench", "--json"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    while "recording wall" not in process.stderr.readline():
        pass
    time.sleep(0.5)
    subprocess.run([*note, "100.5"], cwd=tmp_path, check=True, capture_output=True)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 0
    readings = open_run(tmp_path / "bench").readings().to_pylist()
    assert [(row["channel"], row["value"]) for row in readings] == [
        ("display", 100.0), ("display", 100.5), ("energy", pytest.approx(1800.0))
    ]  # fmt: skip


@pytest.mark.parametrize("words", [["wall.notes"], ["wall.notes", "a lot"], [".", "wall"], [".", "wall", "5"]])
def test_a_note_that_is_none_is_refused(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "iojoule", "meter", "manual-note", *words]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False).returncode == 2
