"""``iojoule meter lab``: instruments on free ports, their sections in a file, faults by the line, and the truth."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

LAB = [sys.executable, "-m", "iojoule", "meter", "lab"]


def call(words: list[str], folder: Path, code: int = 0, **more: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*LAB, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False, **{"input": "", **more}
    )  # type: ignore[call-overload]
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_a_meter_of_the_lab_is_probed_while_it_is_up(tmp_path: Path) -> None:
    words = ["--front", "yokogawa_wt310", "--script", "9W 1s", "--write-sections", "m.toml", "--truth", "t.csv"]
    call([*words, "--for", "300ms"], tmp_path)
    # The same address again, from the file: now a driver reads it there.
    done = call(["m.toml", "--script", "9W 1s", "--", "meter", "probe", "m.toml", "-n", "1", "--json"], tmp_path)
    (meter,) = json.loads(done.stdout)["meters"]
    power = next(reading for reading in meter["readings"] if reading["channel"] == "power")
    assert abs(power["value"] - 9.0) <= power["expanded"]
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert {round(float(row["watts"]), 9) for row in rows} == {9.0}
    assert "is there already" in call([*words, "--for", "300ms"], tmp_path, 2).stderr


def test_faults_come_by_lines_of_stdin_and_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "faults").write_text("half wt310 2\ngarbage yokogawa_wt310 3\n")
    words = ["--front", "yokogawa_wt310", "--control", "faults", "--for", "700ms"]
    done = call(words, tmp_path, input="unplug yokogawa_wt310\nplug yokogawa_wt310\n")
    assert "done: unplug yokogawa_wt310" in done.stderr
    assert "done: plug yokogawa_wt310" in done.stderr
    assert "done: garbage yokogawa_wt310 3" in done.stderr
    assert "not done: no instrument is named 'wt310'" in done.stderr


def test_the_end_is_one_document_with_the_true_energy(tmp_path: Path) -> None:
    done = call(["--front", "yokogawa_wt310", "--script", "20W 1s", "--for", "500ms", "--json"], tmp_path)
    said = json.loads(done.stdout)
    assert said["joules"] == pytest.approx(20.0 * said["seconds"], rel=0.02)
    assert said["sections"][0]["kind"] == "yokogawa_wt310"
    assert said["fronts"][0]["address"].startswith("127.0.0.1:")


def test_ctrl_c_and_sigterm_are_its_regular_end(tmp_path: Path) -> None:
    import signal

    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen(
            [*LAB, "--front", "yokogawa_wt310"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline().startswith("# yokogawa_wt310")
        process.send_signal(number)
        process.communicate(timeout=30)
        assert process.returncode == 0


def test_the_exit_code_of_a_command_is_that_of_the_bench(tmp_path: Path) -> None:
    done = call(["--front", "yokogawa_wt310", "--", "show", "nowhere"], tmp_path, 2)
    assert "at 127.0.0.1:" in done.stderr, "the bench was up"
    assert "nowhere holds no manifest.json" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a file"),
        (["--front", "wt310"], "no front is named 'wt310'"),
        (["--front", "yokogawa_wt310", "--script", "asleep 3s"], "no state 'asleep'"),
        (["--front", "yokogawa_wt310", "--script", "idle 3s", "--follow", "runs"], "not both"),
        (["--front", "yokogawa_wt310", "--follow", "/dev/nonsense"], "no disk of this host"),
        (["--front", "yokogawa_wt310", "--for", "ever"], "not a time"),
        (["plain.toml"], "there is no [[meter]]"),
        (["model.toml"], "has no instrument of kind"),
    ],
)
def test_what_cannot_be_served_is_an_error_of_the_command(words: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text('[experiment]\nname = "x"\n')
    (tmp_path / "model.toml").write_text('[[meter]]\nkind = "utilisation"\n')
    assert said in call(words, tmp_path, 2).stderr
