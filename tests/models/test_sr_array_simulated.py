"""Where the assumptions of the latency model hold, the simulated array does what the model says: a seek proportional to
its distance, no track switch, one random sector at a time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iojoule import _native
from iojoule.models.sr_array import Disk, Load, predict
from iojoule.sim import design
from iojoule.sim.request import request

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def papers_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """S = 10 ms, R = 6 ms, and nothing else that takes time."""
    preset = (ROOT / "crates/disk/presets/seeds-002-linear.toml").read_text(encoding="utf-8")
    assert "head_switch_ms = 0.9" in preset
    file = tmp_path_factory.mktemp("disk") / "papers.toml"
    file.write_text(preset.replace("head_switch_ms = 0.9", "head_switch_ms = 0.0"), encoding="utf-8")
    return file


@pytest.mark.parametrize("shape", ["1x1x1", "6x1x1", "3x2x1", "2x3x1", "1x6x1", "9x4x1", "3x1x2"])
def test_a_lone_random_read_takes_what_the_latency_model_says(papers_disk: Path, shape: str) -> None:
    load = {"random": 512, "requests": 20_000, "rate": 1.0}
    array = {"layout": "sr", "shape": shape, "scheduler": "rsatf"}
    point = design.of({"drive": {"file": str(papers_disk)}, "array": array, "trace": load}).points[0]
    summary = json.loads(_native.sim_run(json.dumps(request(point.design)), _native.SimControl()))
    ds, dr, dm = (int(part) for part in shape.split("x"))
    expected = predict(Disk(seek_ms=10, rotation_ms=6), Load(), ds, dr, dm).response_ms
    # The sector itself takes 28 us to read, and of two mirrors' arms one is nearer by chance.
    assert summary["service_ms"]["mean"] == pytest.approx(expected, rel=0.035)
