"""Laws over queue depth against the golden vectors 001_*, which the golden README explains, and by their properties."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.metrics import little
from iojoule.models import amdahl, inverted, laws, power, usl
from iojoule.models.laws import Point


def cases(golden: Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((golden / name).read_text())["cases"]
    return found


def test_amdahl_agrees_with_every_vector(golden: Path) -> None:
    for case in cases(golden, "001_amdahl_vectors.json"):
        q, x = case["q"], case["x_per_s"]
        if "rejected" in case["recomputed"]:
            with pytest.raises(ValueError, match=r"two different depths|asymptote"):
                amdahl.two_point(q, x) if case["method"] == "two_point" else amdahl.least_squares(q, x)
            continue
        law = amdahl.two_point(q, x) if case["method"] == "two_point" else amdahl.least_squares(q, x, case["weights"])
        expected = dict(case["recomputed"])
        for row in expected.pop("predicted", []):
            said = law.predict(row.pop("q"))
            assert {key: getattr(said, key) for key in row} == pytest.approx(row, rel=1e-8)
        assert {key: getattr(law, key) for key in expected} == pytest.approx(expected, rel=1e-7)


def test_the_printed_form_is_reproduced_and_grows_without_bound(golden: Path) -> None:
    printed = json.loads((golden / "001_amdahl_vectors.json").read_text())["seed_inverted_form"]
    a, b = printed["printed"]["constant_per_ms"], printed["printed"]["coefficient_of_1_over_q_per_ms"]
    for row in printed["recomputed"]:
        form = inverted.Inverted(a, b)
        assert form.latency_ms(row["q"]) == pytest.approx(row["latency_ms"])
        assert form.throughput_per_s(row["q"]) == pytest.approx(row["throughput_per_s"])


def test_the_scalability_law_agrees_with_every_vector(golden: Path) -> None:
    for case in cases(golden, "001_usl_vectors.json"):
        law = usl.fit(case["n"], case["x_per_s"], case["weights"], free=case["beta"] == "free")
        for key, value in case["recomputed"].items():
            said = getattr(law, key)
            assert said is None if value is None else said == pytest.approx(value, rel=1e-7, abs=1e-9), key
        assert law.clamped == (case["beta"] != "free")


def test_littles_law_flags_the_rows_the_vectors_flag(golden: Path) -> None:
    with (golden / "001_littles_law.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            said = little.audit(
                float(row["iops"]), float(row["latency_ms"]), float(row["queue_depth"]), float(row["tolerance_pct"])
            )
            assert said.outstanding == pytest.approx(float(row["recomputed_outstanding"]))
            assert said.deviation_pct == pytest.approx(float(row["recomputed_deviation_pct"]), abs=1e-6)
            assert said.response_at_depth_ms == pytest.approx(float(row["recomputed_latency_at_qd_ms"]))
            assert said.holds == (row["consistent"] == "yes")


DEPTHS = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]


@given(a=st.floats(0.1, 10), b=st.floats(0.1, 50), idle=st.floats(1, 20), delta=st.floats(0.1, 10))
def test_exact_points_give_their_law_back(a: float, b: float, idle: float, delta: float) -> None:
    rates = [1000 / (a + b / q) for q in DEPTHS]
    law = amdahl.least_squares(DEPTHS, rates)
    assert (law.a_ms, law.b_ms) == pytest.approx((a, b), rel=1e-6)
    watts = [idle, *(idle + delta * rate / (1000 / a) for rate in rates)]
    drawn = power.fit([0.0, *DEPTHS], watts, law)
    assert (drawn.idle_w, drawn.delta_w) == pytest.approx((idle, delta), rel=1e-5)
    assert drawn.efficiency(64).iops_per_w == pytest.approx(1000 / (a + b / 64) / drawn.watts(64))


def test_the_verb_predicts_and_says_what_was_measured(tmp_path: Path) -> None:
    words = ["model", "amdahl", "--predict", "64", "--json"]
    for pair in ("1=95", "2=160", "4=230", "8=300", "16=350", "32=398"):
        words += ["--point", pair]
    for pair in ("0=8.9", "1=9.6", "32=11.2"):
        words += ["--watts", pair]
    done = subprocess.run(
        [sys.executable, "-m", "iojoule", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["usl"]["beta_held_at_0"]
    last = answer["predictions"][-1]
    assert (last["queue_depth"], last["measured_iops"]) == (64, None)
    assert last["iops"] == pytest.approx(412.1354256)
    assert last["iops_per_w"] > answer["predictions"][0]["iops_per_w"]


TWO = ["--point", "1=100", "--point", "4=250"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--point", "1=95"],
        ["--point", "one=95"],
        ["--point", "1=1", "--point", "2=2"],
        [*TWO, "--point", "0=1"],
        [*TWO, "--watts", "1=9"],
        [*TWO, "sweep.csv"],
        ["sweep.csv", "--watts", "0=8", "--watts", "1=9"],
    ],
)
def test_points_that_give_no_law_are_refused(tmp_path: Path, words: list[str]) -> None:
    command = [sys.executable, "-m", "iojoule", "model", "amdahl", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr


def test_watts_at_a_depth_without_a_rate_count_for_the_power_alone() -> None:
    exact = [Point(q, 1000 / (2 + 8 / q)) for q in (1, 4)]
    watts = [Point(q, 0, 30 + 6 * 2 / (2 + 8 / q)) for q in (2, 16)]
    found = laws.fit([*exact, Point(0, 0, 30), *watts])
    assert (found.law.a_ms, found.law.b_ms) == pytest.approx((2, 8))
    assert found.power is not None
    assert (found.power.idle_w, found.power.delta_w) == pytest.approx((30, 6))


def test_a_rate_that_falls_from_the_first_request_on_has_no_peak() -> None:
    law = usl.fit([1, 4, 16], [2983, 175, 101])
    assert law.alpha > 1 and law.beta > 0 and law.peak_n is None
