"""The example experiments run as they stand, but shorter, on real servers and real logs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, lacking
from iojoule.quantities import nbytes

pytestmark = pytest.mark.e2e

SHORT = {
    "web-replay.toml": [
        "experiment.repeats=2",
        "experiment.idle=1s",
        "workload.nasa.speedup=1200",
        "workload.erddap.fit=3s",
    ],
    "perf-per-watt.toml": [
        "experiment.repeats=1",
        "experiment.idle=500ms",
        "experiment.idle_after=500ms",
        "target.size=32MiB",
        "workload.queue_depth=[1, 4]",
        "workload.ramp=100ms",
        "workload.duration=500ms",
    ],
    "block-sizes.toml": [
        "experiment.repeats=1",
        "target.size=64MiB",
        "workload.block_size=['4KiB', '4MiB']",
        "workload.duration=300ms",
    ],
    "access-time.toml": ["experiment.repeats=2", "target.size=16MiB", "workload.requests=200"],
    "bench-without-hardware.toml": ["experiment.idle=1s", "experiment.idle_after=500ms", "workload.duration=2s"],
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


def run_example(name: str, folder: Path) -> dict[str, Any]:
    """What ``iojoule run --json`` says of an example made short; it is run on storage made for it, and as root."""
    if os.geteuid():
        lacking("the right to make a loop device", "run as root")
    flags = [word for setting in SHORT[name] for word in ("-S", setting)]
    done = iojoule("run", str(ROOT / "examples" / name), *flags, "--yes", "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    assert {run["status"] for run in result["runs"]} == {"complete"}
    return result


def metrics_of(group: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(metric["name"], metric["scope"]): metric for metric in group["metrics"]}


def test_the_matrix_of_performance_per_watt_has_every_cell_with_its_power(tmp_path: Path) -> None:
    result = run_example("perf-per-watt.toml", tmp_path)
    parameters = [tuple(group["parameters"].values()) for group in result["groups"]]
    assert len(set(map(str, parameters))) == 2 * 2 * 2 * 2
    order = [run["run"] for run in sorted(result["runs"], key=lambda run: run["run"])]
    assert order != sorted(order, key=lambda name: name.split("_", 1)[1]), "the order is random"
    for group in result["groups"]:
        metrics = metrics_of(group)
        assert metrics["success_share", ""]["mean"] == 100
        assert metrics["iops", ""]["mean"] > 0
        assert metrics["iops_per_w", "system"]["boundary"] == "modelled"
        assert {("idle_power_before", "system"), ("idle_power_after", "system")} <= metrics.keys()
        watts = metrics["iops", ""]["mean"] / metrics["iops_per_w", "system"]["mean"]
        assert watts == pytest.approx(metrics["power_mean", "system"]["mean"], rel=1e-6)
    assert (tmp_path / result["report"]).stat().st_size > 100_000


def test_block_sizes_meet_the_read_ahead_that_was_asked_for(tmp_path: Path) -> None:
    result = run_example("block-sizes.toml", tmp_path)
    assert len(result["groups"]) == 2 * 2 * 2
    runs = [json.loads(path.read_text()) for path in (tmp_path / result["campaign"]).glob("runs/*/manifest.json")]
    assert len(runs) == 8
    for run in runs:
        asked = nbytes(run["step"]["parameters"]["read_ahead"])
        assert run["target"]["settings"]["read_ahead_kib"] * 1024 == asked
        assert run["engine"]["direct"] == (run["workload"]["write"] == 100)


def test_access_times_of_a_device_a_file_and_nothing(tmp_path: Path) -> None:
    result = run_example("access-time.toml", tmp_path)
    assert [group["target"] for group in result["groups"]] == ["device", "file", "nothing"]
    for group in result["groups"]:
        metrics = metrics_of(group)
        least, mean, most = (metrics[f"completion_from_issued_{name}", ""]["mean"] for name in ("min", "mean", "max"))
        assert 0 < least <= mean <= most
        assert metrics["requests", ""]["mean"] == 200
        assert metrics["concurrency_max", ""]["mean"] == 1


def test_the_demo_ends_with_a_report(tmp_path: Path) -> None:
    done = iojoule("demo", "--requests", "2000", "--fit", "4s", "--repeats", "1", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert Path(result["report"]).stat().st_size > 100_000
    assert [run["status"] for run in result["runs"]] == ["complete"]
