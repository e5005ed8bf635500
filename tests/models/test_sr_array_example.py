"""The evaluation of examples/sr-array in short: the orders the paper names hold on a two-hundredth of its traces."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of a short evaluation."""
    output = tmp_path_factory.mktemp("sr") / "out"
    command = [sys.executable, "examples/sr-array/evaluate.py", "--length", "0.005", "--output", str(output)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    return output


def mean(evaluated: Path, trace: str, shape: str, speed: float = 1.0) -> float:
    points = json.loads((evaluated / "figures.json").read_text())["points"]
    found = [
        point["mean_ms"]
        for point in points
        if (point["trace"], point["shape"], point["speed"], point["cache"]) == (trace, shape, speed, None)
        and point["scheduler"] in ("satf", "rsatf")
    ]
    assert len(found) == 1, f"one point is {trace} {shape} x{speed}"
    return float(found[0])


def test_at_original_speed_the_sr_array_beats_raid_10_which_beats_the_stripe(evaluated: Path) -> None:
    cello = [mean(evaluated, "cello-base", shape) for shape in ("2x3x1", "3x1x2", "6x1x1", "1x1x1")]
    assert cello == sorted(cello)
    tpcc = [mean(evaluated, "tpcc", shape) for shape in ("9x4x1", "18x1x2", "36x1x1")]
    assert tpcc == sorted(tpcc)


def test_cello_ratios_are_near_what_is_printed_where_nothing_queues(evaluated: Path) -> None:
    sr = mean(evaluated, "cello-base", "2x3x1")
    assert mean(evaluated, "cello-base", "3x1x2") / sr == pytest.approx(1.23, rel=0.15)
    assert mean(evaluated, "tpcc", "36x1x1") / mean(evaluated, "tpcc", "9x4x1") == pytest.approx(1.39, rel=0.15)


def test_more_disks_are_never_slower_in_the_recommended_shape(evaluated: Path) -> None:
    times = [mean(evaluated, "cello-base", shape) for shape in ("1x1x1", "1x2x1", "1x3x1", "2x3x1", "2x6x1")]
    assert times == sorted(times, reverse=True)


def test_schedulers_stand_in_the_order_of_figure_9(evaluated: Path) -> None:
    orders = json.loads((evaluated / "figures.json").read_text())["orders"]
    figure_9 = [order for order in orders if order["figure"] == "9"]
    assert len(figure_9) == 4
    assert [order["text"] for order in figure_9 if not order["holds"]] == []


def test_the_page_holds_every_figure_and_asks_no_other_host(evaluated: Path) -> None:
    page = (evaluated / "report.html").read_text()
    for number in ("6", "7", "8a", "8b", "9a", "9b", "10a", "10b", "11a", "11b"):
        assert f"Figure {number}:" in page
    outside = page.split("<script>")[0]
    assert not re.search(r"(src|href)=.?(https?:)?//", outside)


def test_started_again_it_runs_nothing_twice(evaluated: Path) -> None:
    lines = sum(len(path.read_text().splitlines()) for path in evaluated.glob("*/points.jsonl"))
    command = [sys.executable, "examples/sr-array/evaluate.py", "--length", "0.005", "--output", str(evaluated)]
    subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=280)
    assert sum(len(path.read_text().splitlines()) for path in evaluated.glob("*/points.jsonl")) == lines
