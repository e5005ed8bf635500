"""``iojoule meter list`` and ``probe``: what is there, what a meter says, and what is wrong with it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from iojoule.meters import clock
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.meters.table import DRIVERS


def call(words: Sequence[str], folder: Path, code: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", "meter", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def told(words: Sequence[str], folder: Path, code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call([*words, "--json"], folder, code).stdout)
    return document


def test_every_driver_is_listed_with_its_boundary_and_its_page(tmp_path: Path) -> None:
    said = told(["list"], tmp_path)
    assert {one["kind"] for one in said["kinds"]} == DRIVERS.keys()
    assert all(one["about"] and one["page"] for one in said["kinds"])
    assert [one["kind"] for one in said["kinds"] if not one["boundaries"]] in ([], ["remote"])
    text = call(["list"], tmp_path, 0).stdout
    assert all(kind in text for kind in DRIVERS)
    assert "serial ports" in text


def test_a_meter_that_answers_says_who_it_is_and_what_it_reads(tmp_path: Path) -> None:
    front = Wt310Front(Load([State(18.0, 1.0)], clock.now_ns()), seed=1)
    with front.served() as address:
        port = address.rpartition(":")[2]
        keys = {"resource": f"TCPIP0::127.0.0.1::{port}::SOCKET", "voltage_range": 300, "current_range": 0.5}
        words = [word for key, value in keys.items() for word in ("-S", f"{key}={value}")]
        said = told(["probe", "--kind", "yokogawa_wt310", *words, "-S", "interval=250ms", "-n", "2"], tmp_path)
    (meter,) = said["meters"]
    assert meter["identity"]["model"] == "WT310E"
    assert meter["identity"]["confirmed"][":INP:VOLT:RANG"] == "300.0E+00"
    power = [reading for reading in meter["readings"] if reading["channel"] == "power"]
    assert len(power) >= 2
    assert all(abs(reading["value"] - 18.0) <= reading["expanded"] for reading in power)
    assert (meter["wrong"], said["exit"]) == (None, 0)


def test_a_meter_that_is_not_there_says_why_and_what_to_do(tmp_path: Path) -> None:
    said = told(["probe", "--kind", "powercap", "-S", f"root={tmp_path}"], tmp_path, 3)
    (meter,) = said["meters"]
    assert str(tmp_path) in meter["wrong"] and "meters/powercap" in meter["advice"]
    text = call(["probe", "--kind", "powercap", "-S", f"root={tmp_path}"], tmp_path, 3).stdout
    assert "wrong:" in text and "try:" in text


def test_a_meter_that_only_gives_codes_for_no_value_fails_the_check(tmp_path: Path) -> None:
    chip = tmp_path / "hwmon0"
    chip.mkdir()
    (chip / "name").write_text("ina226\n")
    (chip / "power1_input").write_text("4294967295000\n")
    said = told(["probe", "--kind", "hwmon", "-S", f"root={tmp_path}", "-S", "interval=50ms"], tmp_path, 1)
    assert "invalid, sentinel" in said["meters"][0]["wrong"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a file"),
        (["nowhere.toml"], "cannot read"),
        (["--kind", "yokogawa"], "unknown meter kind"),
        (["--kind", "powercap", "-S", "rooot=x"], "did you mean 'root'"),
        (["empty.toml"], "no [[meter]]"),
        (["--kind", "powercap", "--patience", "soon"], "not a time"),
    ],
)
def test_what_cannot_be_probed_is_an_error_of_the_command(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text('[experiment]\nname = "x"\n')
    assert said in call(["probe", *words], tmp_path, 2).stderr
