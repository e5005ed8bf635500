"""The example experiments run as they stand, but shorter, on real servers and real logs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.e2e

SHORT = {
    "web-replay.toml": [
        "experiment.repeats=2",
        "experiment.idle=1s",
        "workload.nasa.speedup=1200",
        "workload.erddap.fit=3s",
    ],
}
"""Every example, with what makes it short; nothing else of it is changed."""


def iojoule(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=280, check=False)


def test_every_example_is_known_here() -> None:
    assert {path.name for path in (ROOT / "examples").glob("*.toml")} == SHORT.keys()


def test_two_logs_on_nginx_and_apache_with_a_comparison(
    open_folder: Path, reference_data: Path, require: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("nginx", "nginx-light")  # type: ignore[operator]
    require("apache2", "apache2")  # type: ignore[operator]
    monkeypatch.setenv("IOJOULE_REFERENCE_DATA", str(reference_data))
    example = open_folder / "web-replay.toml"
    shutil.copy(ROOT / "examples" / "web-replay.toml", example)
    flags = [word for setting in SHORT["web-replay.toml"] for word in ("-S", setting)]
    done = iojoule("run", str(example), *flags, "--json", folder=open_folder)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [run["status"] for run in result["runs"]] == ["complete"] * 8
    assert {(group["target"], group["workload"]) for group in result["groups"]} == {
        (target, workload) for target in ("nginx", "apache2") for workload in ("nasa", "erddap")
    }
    for group in result["groups"]:
        metrics = {(m["name"], m["scope"]): m for m in group["metrics"]}
        assert metrics["success_share", ""]["mean"] == 100.0, metrics["success_share", ""]["note"]
        assert metrics["energy", "system"]["boundary"] == "modelled"
    requests = {run["requests"] for run in result["runs"] if "_nasa_" in run["run"]}
    assert len(requests) == 1
    compared = iojoule("compare", result["campaign"], "--baseline", "nginx", "--json", folder=open_folder)
    assert compared.returncode == 0, compared.stderr
    pairs = json.loads(compared.stdout)["comparisons"]
    assert {(pair["baseline"], pair["other"]) for pair in pairs} == {("nginx", "apache2")}
    assert all(pair["differences"] for pair in pairs)


def test_the_demo_ends_with_a_report(tmp_path: Path) -> None:
    done = iojoule("demo", "--requests", "2000", "--fit", "4s", "--repeats", "1", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert Path(result["report"]).stat().st_size > 100_000
    assert [run["status"] for run in result["runs"]] == ["complete"]
