"""`iojoule model amdahl FILE.csv`: the laws through a table of measurements, and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iojoule.models import amdahl, inverted, laws
from iojoule.models.laws import Point

SWEEP = "queue_depth,iops\n1,95\n2,160\n4,230\n8,300\n16,350\n32,398\n"


def run(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    file = folder / "sweep.csv"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "iojoule", "model", "amdahl", str(file), *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def answer(folder: Path, text: str, *words: str) -> Any:
    done = run(folder, text, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_document_has_the_law_its_knee_and_its_predictions(tmp_path: Path) -> None:
    said = answer(tmp_path, SWEEP, "--predict", "64")
    # shared/golden/001_amdahl_vectors.json, synthetic_relative
    assert said["a_ms"] == pytest.approx(2.299355698)
    assert said["b_ms"] == pytest.approx(8.129997247)
    assert said["x_max_iops"] == pytest.approx(434.904439)
    assert said["knee"] == pytest.approx(4.535771891)
    assert said["mape"] == pytest.approx(1.169035461)
    assert [row["queue_depth"] for row in said["predictions"]] == [1, 2, 4, 8, 16, 32, 64]
    last = said["predictions"][-1]
    assert last["iops"] == pytest.approx(412.1354256) and last["measured_iops"] is None
    low, high = last["iops_interval"]
    assert low < last["iops"] < high
    assert said["usl"]["beta"] == 0 and said["usl"]["beta_held_at_0"]


def test_two_rows_give_the_law_through_both_and_no_interval(tmp_path: Path) -> None:
    said = answer(tmp_path, "queue_depth,iops\n1,100\n4,250\n")
    assert (said["a_ms"], said["b_ms"], said["method"]) == (pytest.approx(2), pytest.approx(8), "two_point")
    assert said["intervals"]["a_ms"] is None and said["leave_one_out"] is None


def test_repeats_of_a_depth_weigh_as_often_as_they_stand_there() -> None:
    single = [Point(1, 100), Point(4, 240), Point(16, 400)]
    thrice = laws.fit([*single, Point(4, 240), Point(4, 240)]).law
    a, b = thrice.a_ms, thrice.b_ms
    # The weighted normal equations by hand: depth 4 counts three times.
    t = np.array([10.0, 1000 / 240, 2.5])
    design = np.column_stack([np.ones(3), [1, 0.25, 0.0625]]) / t[:, None] * np.sqrt([1, 3, 1])[:, None]
    assert np.linalg.lstsq(design, np.sqrt([1, 3, 1]), rcond=None)[0] == pytest.approx([a, b])


def test_repeats_leave_together_when_a_depth_is_left_out() -> None:
    points = [Point(1, 100), Point(1, 100), Point(4, 250), Point(4, 250), Point(16, 380), Point(16, 380)]
    once = amdahl.least_squares([1, 4, 16], [100, 250, 380])
    assert laws.fit(points).law.leave_one_out_pct == pytest.approx(once.leave_one_out_pct)


def test_an_interval_of_95_percent_holds_the_truth_95_times_in_100() -> None:
    draw = np.random.default_rng(4)
    depths = np.array([1.0, 2, 4, 8, 16, 32])
    truth = 1000 / (2 + 8 / depths)
    inside = 0
    for _ in range(1000):
        law = amdahl.least_squares(depths, 1000 / (1000 / truth * (1 + draw.normal(0, 0.01, 6))))
        half = law.a_half_ms
        assert half is not None
        inside += abs(law.a_ms - 2) < half
    # Binomial with p = 0.95: three standard deviations are 2 %.
    assert 925 <= inside <= 975


def test_watts_give_iops_per_watt_with_an_interval_and_the_error_of_depths_left_out(tmp_path: Path) -> None:
    rows = [f"{q},{1000 / (2 + 8 / q):.6f},{30 + 6 * 2 / (2 + 8 / q) + wobble}" for q, wobble in
            ((1, 0.02), (2, -0.03), (4, 0.01), (8, 0.02), (16, -0.02), (32, 0.0))]  # fmt: skip
    said = answer(tmp_path, "queue_depth,iops,watts\n0,,30\n" + "\n".join(rows) + "\n", "--predict", "64")
    assert said["power"]["idle_w"] == pytest.approx(30, abs=0.05)
    assert said["power"]["delta_w"] == pytest.approx(6, abs=0.1)
    assert [row["queue_depth"] for row in said["power"]["held_back"]] == [1, 2, 4, 8, 16, 32]
    assert 0 < said["power"]["held_back_iops_per_w"] < 0.5
    last = said["predictions"][-1]
    truth = 1000 / (2 + 8 / 64) / (30 + 6 * 2 / (2 + 8 / 64))
    low, high = last["iops_per_w_interval"]
    assert low < truth < high and high - low < 0.1


def test_latencies_are_audited_by_littles_law(tmp_path: Path) -> None:
    # ATOM random read keeps N = X R within 3 %, sequential read does not (tables 4 and 5 of the seed).
    said = answer(tmp_path, "queue_depth,iops,latency_ms\n1,95.71,10.45\n32,398,78.2\n")
    assert [row["holds"] for row in said["little"]] == [True, True]
    said = answer(tmp_path, "queue_depth,iops,latency_ms\n1,900,1.1\n32,3690,9.3\n")
    assert [row["holds"] for row in said["little"]] == [True, False]


def test_more_in_flight_than_the_depth_and_less_are_told_apart(tmp_path: Path) -> None:
    said = run(tmp_path, "queue_depth,iops,latency_ms\n1,900,1.1\n16,2000,7\n32,3690,9.3\n").stdout
    assert "above the depth at 32: rate and latency there cannot both be right" in said
    assert "below the depth at 16: slots stood empty between requests" in said


def test_the_printed_form_is_fitted_beside_the_law_with_the_reason_against_it(tmp_path: Path) -> None:
    said = answer(tmp_path, SWEEP, "--predict", "1000")["inverted"]
    rates = {row["queue_depth"]: row["iops"] for row in said["predictions"]}
    assert rates[1000] > 8 * rates[32] and "grows without bound" in said["reason"]
    exact = inverted.Inverted(0.01, 0.08571)
    again = inverted.fit([1, 8, 32], [exact.latency_ms(q) for q in (1, 8, 32)])
    assert (again.c_per_ms, again.d_per_ms, again.limit_ms) == pytest.approx((0.01, 0.08571, 100))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("depth,iops\n1,2\n", ":1: no column queue_depth"),
        ("queue_depth,iops\n1,95\n2,fast\n", ":3: iops is a number"),
        ("queue_depth,iops\n1,95\n2,\n", ":3: a row without its rate"),
        ("queue_depth,iops\n1,95\n,160\n", ":3: a row without its depth"),
        ("queue_depth,iops\n1,95\n-2,160\n", ":3: queue_depth is a number"),
        ("queue_depth,iops\n0,0\n1,95\n", ":2: depth 0 is idle"),
        ("queue_depth,iops\n1,95\n2,nan\n", ":3: iops is a number"),
        ("queue_depth,iops\n8,300\n8,301\n8,299\n", "two different depths"),
        ("queue_depth,iops\n1,100\n2,250\n", "no asymptote"),
        ("queue_depth,iops\n", "two different depths"),
        ("", ":1: no column queue_depth"),
    ],
)
def test_a_table_that_gives_no_law_is_refused_with_its_line(tmp_path: Path, text: str, reason: str) -> None:
    done = run(tmp_path, text)
    assert done.returncode == 2 and reason in done.stderr, done.stderr


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "iojoule", "model", "amdahl", "none.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["file"] == "none.csv"


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffqueue_depth;iops\r\n1;95,5\r\n2;160\r\n4;230\r\n",
        "queue_depth\tiops\n1\t95.5\n2\t160\n4\t230\n",
    ],
)
def test_tables_of_spreadsheets_are_read_as_they_are_saved(tmp_path: Path, text: str) -> None:
    plain = answer(tmp_path, "queue_depth,iops\n1,95.5\n2,160\n4,230\n")
    assert answer(tmp_path, text) == plain


@pytest.mark.parametrize("rate", ["1e308", "1e-300"])
def test_a_rate_nobody_can_measure_is_refused_with_its_line(tmp_path: Path, rate: str) -> None:
    done = run(tmp_path, f"queue_depth,iops\n1,{rate}\n2,160\n4,230\n")
    assert done.returncode == 2 and "sweep.csv:2: iops is a number from 0 to" in done.stderr


@pytest.mark.parametrize("depth", ["nan", "inf", "0", "-1"])
def test_a_depth_to_predict_is_a_number_above_0(tmp_path: Path, depth: str) -> None:
    assert run(tmp_path, SWEEP, f"--predict={depth}").returncode == 2


def test_a_depth_near_0_has_a_latency_and_no_rate(tmp_path: Path) -> None:
    assert answer(tmp_path, SWEEP, "--predict", "1e-300")["predictions"][0]["latency_ms"] == pytest.approx(
        8.13, rel=0.01
    )
