"""Lost readings, flags, short phases and broken rules stand in the report and in check; the budget in show."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iojoule.report import build_report, load_campaign


@pytest.fixture
def one_run(synthetic: ModuleType, tmp_path: Path) -> Path:
    """A campaign of a single run."""
    folder: Path = synthetic.write_campaign(tmp_path / "day", repeats=1, targets=("nginx",))
    return folder


def spoil(folder: Path, at_s: float, quality: str | None) -> None:
    """The wall meter's reading at a second of the measured phase gets a flag, or is not there at all."""
    (path,) = folder.glob("runs/*/tables/readings.parquet")
    rows = pq.read_table(path).to_pylist()
    first = min(row["start_ns"] for row in rows) + 15 * 10**9  # idle and warm-up come before
    kept = []
    for row in rows:
        hit = row["meter"] == "wall" and row["start_ns"] == first + int(at_s) * 10**9
        if not (hit and quality is None):
            kept.append(row | ({"quality": quality} if hit else {}))
    pq.write_table(pa.Table.from_pylist(kept), path)


def change(folder: Path, **facts: object) -> None:
    (path,) = folder.glob("runs/*/manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))


def call(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "iojoule", *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout


def page_of(folder: Path) -> str:
    return build_report(load_campaign(folder)).replace("\u00a0", " ")


def test_an_overload_is_told_with_how_many_readings_had_it(one_run: Path) -> None:
    spoil(one_run, 40, "overload invalid")
    page = page_of(one_run)
    assert "1 of 100 readings of wall are overloaded" in page
    assert "has no energy" in page


def test_an_invalid_reading_is_a_gap_that_the_budget_pays_for(one_run: Path) -> None:
    spoil(one_run, 40, "invalid sentinel")
    assert "1 of 100 readings of wall are not a measurement" in page_of(one_run)
    _, text = call("show", str(one_run), "--budget")
    assert "gaps between readings" in text and "coverage 99.0%" in text


def test_the_budget_names_sources_shares_rule_and_coverage(one_run: Path) -> None:
    code, text = call("show", str(one_run), "--budget")
    energy, *below = text[text.index("  energy system") :].splitlines()
    below = list(itertools.takewhile(lambda line: line.startswith("      "), below))
    assert "±" in energy and "[ac_wall]" in energy
    assert code == 0
    for said in ("instrument: gain", "instrument: offset", "U of the instruments (k = 2)", "rule, coverage 100.0%"):
        assert any(said in line for line in below), said
    shares = [int(line.rstrip().rstrip("%").split()[-1]) for line in below if " J " in line and line.endswith("%")]
    assert 99 <= sum(shares) <= 101


def test_a_phase_too_short_for_its_meter_is_told_with_the_step_that_was_seen(one_run: Path) -> None:
    change(one_run, alignment=1e-8)
    _, text = call("check", str(one_run))
    assert "measured for 100 s; wall/p needs" in text
    assert "measured for 100 s; wall/p needs" in page_of(one_run)


def test_rules_of_a_profile_stand_in_check_show_and_report(one_run: Path) -> None:
    change(one_run, profiles=["spec", {"name": "ours", "base": "mlperf", "limits": {"uncertainty_pct": 0.01}}])
    code, text = call("check", str(one_run))
    assert code == 1
    assert "spec: kept: sum of the analyzer's specified errors: 0.1" in text and "rule unverified" in text
    assert "spec: unknown: crest factor of the analyzer: not known (wall/p), at least 3; rule unverified" in text
    assert "ours: broken: sum of the analyzer's specified errors" in text
    verdicts = json.loads(call("show", str(one_run), "--json")[1])["runs"][0]["verdicts"]
    assert {one["state"] for one in verdicts} == {"kept", "broken", "unknown"}
    page = page_of(one_run)
    assert "<h2>Profiles</h2>" in page and "is no claim of compliance" in page


def test_a_profile_of_the_command_line_takes_the_place_of_the_experiments(one_run: Path) -> None:
    change(one_run, profiles=["spec"])
    _, text = call("check", str(one_run), "--profile", "energy_star")
    assert "energy_star: " in text and "spec: " not in text
    code, _ = call("check", str(one_run), "--profile", "specpower")
    assert code == 2
