"""Every verb explains itself, errors are one document under --json, and exit codes are those of the manual."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from iojoule.cli import VERBS


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
