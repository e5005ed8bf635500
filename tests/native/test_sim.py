"""The door to the simulator: jobs and answers as JSON, errors by who can help."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from iojoule import _native
from iojoule.errors import ConfigError, RunFailed


def job(**changes: Any) -> str:
    plain: dict[str, Any] = {
        "seed": 1,
        "drive": {"preset": "cheetah9LP"},
        "array": {"drives": 2, "layout": {"kind": "raid0"}},
        "load": {"random": {"requests": 500, "bytes": 4096, "rate": 100.0}},
    }
    return json.dumps({**plain, **changes})


def test_a_job_becomes_a_summary_and_the_control_knows_how_far_it_came() -> None:
    control = _native.SimControl()
    summary = json.loads(_native.sim_run(job(), control))
    assert summary["requests"] == 500
    assert control.snapshot() == {"requests": 500, "simulated_s": pytest.approx(summary["simulated_s"], abs=0.1)}


def test_a_key_that_nobody_reads_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown field `speeed`"):
        _native.sim_run(job(speeed=2), _native.SimControl())


def test_a_job_can_be_stopped_from_another_thread() -> None:
    control = _native.SimControl()
    threading.Timer(0.2, control.stop).start()
    load = {"random": {"requests": 10**12, "bytes": 4096, "rate": 100.0}}
    with pytest.raises(RunFailed, match="interrupted"):
        _native.sim_run(job(load=load), control)


def test_a_sweep_writes_a_line_per_point(tmp_path: Path) -> None:
    results = tmp_path / "points.jsonl"
    points = [{"index": i, "key": f"k{i}", "job": json.loads(job(seed=i))} for i in range(5)]
    points[3]["job"]["drive"] = {"preset": "none such"}
    swept = json.loads(_native.sim_sweep(json.dumps(points), results, 2, _native.SimControl()))
    assert swept == {"finished": 5, "failed": 1}
    lines = {line["key"]: line for line in map(json.loads, results.read_text().splitlines())}
    assert set(lines) == {f"k{i}" for i in range(5)}
    assert "no preset" in lines["k3"]["error"]
    assert lines["k0"]["summary"]["requests"] == 500


def test_a_sweep_that_cannot_write_fails(tmp_path: Path) -> None:
    points = json.dumps([{"index": 0, "key": "k", "job": json.loads(job())}])
    with pytest.raises(RunFailed, match="cannot write"):
        _native.sim_sweep(points, tmp_path / "nowhere" / "points.jsonl", 1, _native.SimControl())
