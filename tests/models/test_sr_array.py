"""The SR-Array's formulas against the golden vectors 002_*, which the golden README explains, and their laws."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.models.sr_array import (
    Disk,
    Load,
    Rule,
    array_rate,
    busy_disks,
    configurations,
    disk_rate,
    memory_pays_below,
    mirror_seek,
    optimum,
    predict,
    price_ratio,
    recommend,
    rotation,
    rotation_of_all,
    rotation_random,
    stripe_seek,
)

SEAGATE = Disk(seek_ms=10, rotation_ms=6, track_switch_ms=0.9)


def rows(golden: Path, name: str) -> list[dict[str, str]]:
    with (golden / f"002_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_latencies_of_configurations(golden: Path) -> None:
    for row in rows(golden, "latency_vectors"):
        disk = Disk(float(row["s_ms"]), float(row["r_ms"]), float(row["overhead_ms"]))
        load = Load(float(row["locality"]), float(row["p"]))
        found = predict(disk, load, int(row["ds"]), int(row["dr"]), int(row["dm"]))
        assert found.seek_ms == pytest.approx(float(row["recomputed_seek_ms"])), row
        assert found.rotation_ms == pytest.approx(float(row["recomputed_rotation_ms"])), row
        assert found.positioning_ms == pytest.approx(float(row["recomputed_positioning_ms"])), row
        assert found.response_ms == pytest.approx(float(row["recomputed_response_ms"])), row


def test_best_configurations_by_both_rules(golden: Path) -> None:
    for row in rows(golden, "best_configuration"):
        load, disks = Load(float(row["locality"])), int(row["disks"])
        best = optimum(SEAGATE, load, disks)
        assert best.ds == pytest.approx(float(row["recomputed_ds_continuous"])), row
        assert best.dr == pytest.approx(float(row["recomputed_dr_continuous"])), row
        assert best.positioning_ms == pytest.approx(float(row["recomputed_t_continuous_ms"])), row
        for rule in Rule:
            found = recommend(SEAGATE, load, disks, rule)
            expected = (int(row[f"recomputed_ds_{rule}"]), int(row[f"recomputed_dr_{rule}"]))
            assert (found.ds, found.dr) == expected, row
            assert found.positioning_ms == pytest.approx(float(row[f"recomputed_t_{rule}_ms"])), row
        if row["printed_config"]:
            found = recommend(SEAGATE, load, disks)
            assert f"{found.ds}x{found.dr}" == row["printed_config"], "the floor rule gives what the paper prints"


def test_optimum_of_a_rlook_stroke(golden: Path) -> None:
    for row in rows(golden, "rlook_vectors"):
        disk = Disk(float(row["s_ms"]), float(row["r_ms"]), track_switch_ms=0.9)
        load = Load(float(row["locality"]), float(row["p"]), float(row["q"]))
        best, disks = optimum(disk, load, int(row["disks"])), int(row["disks"])
        assert best.ds == pytest.approx(float(row["recomputed_ds_continuous"])), row
        assert best.dr == pytest.approx(float(row["recomputed_dr_continuous"])), row
        assert best.positioning_ms == pytest.approx(float(row["recomputed_t_continuous_ms"])), row
        found = recommend(disk, load, disks, Rule.ARGMIN)
        assert (found.ds, found.dr) == (int(row["recomputed_ds_argmin"]), int(row["recomputed_dr_argmin"])), row
        assert found.positioning_ms == pytest.approx(float(row["recomputed_t_argmin_ms"])), row


def test_throughput_of_the_disks_that_have_work(golden: Path) -> None:
    for row in rows(golden, "busy_disks"):
        disks, outstanding = int(row["disks"]), int(row["outstanding"])
        disk = Disk(float(row["s_ms"]), float(row["r_ms"]), float(row["overhead_ms"]))
        load = Load(float(row["locality"]), per_stroke=outstanding / disks)
        found = predict(disk, load, int(row["ds"]), int(row["dr"]))
        assert busy_disks(disks, outstanding) == pytest.approx(float(row["recomputed_busy_disks"])), row
        assert found.positioning_ms == pytest.approx(float(row["recomputed_t_ms"])), row
        assert disk_rate(found) == pytest.approx(float(row["recomputed_disk_rate_per_s"])), row
        assert array_rate(found, disks, outstanding) == pytest.approx(float(row["recomputed_array_rate_per_s"])), row


def test_seeks_and_waits_of_copies(golden: Path) -> None:
    for row in rows(golden, "positioning_vectors"):
        disk, copies = Disk(float(row["s_ms"]), float(row["r_ms"])), int(row["copies"])
        assert stripe_seek(disk, copies) == pytest.approx(float(row["recomputed_stripe_seek_ms"]))
        assert mirror_seek(disk, copies) == pytest.approx(float(row["recomputed_mirror_seek_ms"]))
        assert rotation(disk, copies) == pytest.approx(float(row["recomputed_rotation_even_ms"]))
        assert rotation_random(disk, copies) == pytest.approx(float(row["recomputed_rotation_random_ms"]))
        assert rotation_of_all(disk, copies) == pytest.approx(float(row["recomputed_write_all_rotation_ms"]))


def test_when_memory_is_the_cheaper_way(golden: Path) -> None:
    expected = {row["id"]: float(row["recomputed"]) for row in rows(golden, "memory_price") if row["recomputed"]}
    assert price_ratio(300, 256, 400, 18_000) == pytest.approx(expected["m_decimal"])
    assert price_ratio(300, 256, 400, 18 * 1024) == pytest.approx(expected["m_binary"])
    assert memory_pays_below(8400, 1, 0.015 * 8400) == pytest.approx(expected["m_two_disks"])
    assert memory_pays_below(8400, 3, 0.04 * 8400) == pytest.approx(expected["m_four_disks"])


@given(
    disks=st.integers(1, 64),
    p=st.floats(0, 1),
    locality=st.floats(0.5, 30),
    q=st.floats(0.1, 40),
    rule=st.sampled_from(Rule),
)
def test_no_grid_beats_argmin_and_none_the_optimum(disks: int, p: float, locality: float, q: float, rule: Rule) -> None:
    load = Load(locality, p, q)
    grids = [each for each in configurations(SEAGATE, load, disks) if each.dm == 1]
    best = recommend(SEAGATE, load, disks, Rule.ARGMIN)
    assert best.response_ms == min(each.response_ms for each in grids)
    chosen = recommend(SEAGATE, load, disks, rule)
    assert chosen in grids
    assert chosen.ds * chosen.dr == disks
    assert optimum(SEAGATE, load, disks).positioning_ms <= best.positioning_ms * (1 + 1e-9)


def test_at_half_foreground_writes_copies_bring_nothing() -> None:
    times = {predict(SEAGATE, Load(p=0.5), 1, dr).rotation_ms for dr in range(1, 7)}
    assert times == {3.0}


def call(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", "model", "sr-array", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_the_verb_recommends_what_the_paper_does() -> None:
    done = call("--disks", "6", "--locality", "4.14", "--json")
    answer = json.loads(done.stdout)
    chosen = answer["recommended"]
    assert (chosen["ds"], chosen["dr"], chosen["dm"]) == (2, 3, 1)
    assert chosen["response_ms"] == pytest.approx(4.103, abs=5e-4)
    assert len(answer["configurations"]) == 9


@pytest.mark.parametrize(
    "words",
    [
        ("--disks", "0"),
        ("--disks", "6", "--p", "1.5"),
        ("--disks", "6", "--p", "1", "--reads", "0.5"),
        ("--disks", "6", "--seek", "ten"),
        ("--disks", "6", "--rotation", "0"),
        ("--disks", "6", "--track-switch", "7ms"),
        ("--disks", "6", "--locality", "0"),
        ("--disks", "6", "--q", "-1"),
    ],
)
def test_bad_input_is_the_callers_to_mend(words: tuple[str, ...]) -> None:
    done = call(*words)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
