"""Every verb explains itself, errors are one document under --json, and exit codes are those of the manual."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iojoule.cli import VERBS, console


def call(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    done = call(verb, "--help")
    assert done.returncode == 0, done.stderr
    assert f"iojoule {verb}" in done.stdout
    assert "Example" in done.stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["nonsense"], 2),
        (["run", "nowhere.toml"], 2),
        (["run"], 2),
        (["show", "nowhere"], 2),
        (["plan", "--no-such-option"], 2),
        (["explain", "speedupp"], 2),
        (["--version"], 0),
        (["explain"], 0),
    ],
)
def test_exit_codes(words: list[str], code: int, tmp_path: Path) -> None:
    done = call(*words, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_is_one_json_document(tmp_path: Path) -> None:
    done = call("explain", "speedupp", "--json", folder=tmp_path)
    assert json.loads(done.stdout)["error"]["nearest"] == "speedup"


def test_every_key_of_the_experiment_file_is_explained() -> None:
    entries = json.loads(call("explain", "--json").stdout)["keys"]
    assert len(entries) > 60
    unexplained = [
        f"{e['kind']}.{e['key']}" for e in entries if not e["description"] and e["key"] not in ("name", "kind")
    ]
    assert unexplained == []


def test_host_tells_what_would_disturb(tmp_path: Path) -> None:
    done = call("host", "--json", folder=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode in (0, 1)
    assert {"name", "ok", "found", "advice"} <= document["checks"][0].keys()


def test_json_has_null_where_there_is_no_finite_number(capsys: pytest.CaptureFixture[str]) -> None:
    console.document({"rows": [{"a": float("nan"), "b": (float("inf"), 1.5)}], "n": 2})
    assert json.loads(capsys.readouterr().out) == {"rows": [{"a": None, "b": [None, 1.5]}], "n": 2}


def test_an_interruption_is_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert console.guarded(interrupted, json=True) == 130
    assert json.loads(capsys.readouterr().out)["error"]["exit"] == 130


def test_a_timeout_that_is_no_time_is_the_command_line_s_fault(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('[[target]]\nkind = "null"\n[[workload]]\nkind = "block"\n')
    done = call("run", "e.toml", "--timeout", "soon", "--json", folder=tmp_path)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["key"] == "--timeout"


def test_an_experiment_printed_under_json_is_in_the_document(tmp_path: Path) -> None:
    text = '[[target]]\nkind = "null"\n[[workload]]\nkind = "block"\n'
    (tmp_path / "e.toml").write_text(text)
    assert json.loads(call("plan", "e.toml", "--toml", "--json", folder=tmp_path).stdout) == {"toml": text}


@pytest.mark.parametrize("value", ["inf", "nan", "1e999", '"1e400s"'])
def test_a_time_without_end_is_refused_with_the_file(value: str, tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text(f'[[target]]\nkind = "null"\n[[workload]]\nkind = "block"\nduration = {value}\n')
    done = call("plan", "e.toml", "--json", folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "NaN" not in done.stdout and "no finite number" in json.loads(done.stdout)["error"]["message"]


def test_a_wrong_table_is_not_said_to_be_no_boolean(tmp_path: Path) -> None:
    text = '[[target]]\nkind = "null"\n[[workload]]\nkind = "block"\nwrite = 1\nverify = {block_size = 1}\n'
    (tmp_path / "e.toml").write_text(text)
    message = json.loads(call("plan", "e.toml", "--json", folder=tmp_path).stdout)["error"]["message"]
    assert "block_size: input should be greater than or equal to 512" in message


def test_a_key_is_explained_where_it_is_said_to_stand() -> None:
    def sections(key: str) -> set[str]:
        return {entry["section"] for entry in json.loads(call("explain", key, "--json").stdout)["keys"]}

    assert sections("meter.yokogawa_wt310.voltage_range") == {'[[meter]] kind = "yokogawa_wt310"'}
    assert all(section.startswith("[[meter]]") for section in sections("meter.interval"))
    assert "[experiment]" in sections("interval")


def test_a_note_for_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = call("meter", "manual-note", "runz/wall.notes", "5", folder=tmp_path)
    assert done.returncode == 2 and "no folder runz" in done.stderr
    assert not (tmp_path / "runz").exists()
