"""The example that reproduces Oldham (2005), section 6, on a short day: what holds of any day holds of it."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "power-aware-raid"
MODULES = ("comparison", "day", "figures", "page", "reproduce")


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    """The example's script, imported as it imports its parts."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        import reproduce

        yield reproduce
    finally:
        sys.path.remove(str(EXAMPLE))
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def out(example: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("example") / "out"
    example.reproduce(folder, scale=0.25, variants=example.VARIANTS[:2])
    return folder


def percent(text: str) -> float:
    return float(text.split(" ")[0])


def test_nothing_saves_more_than_its_bound(out: Path) -> None:
    results = json.loads((out / "results.json").read_text())
    bounds = results["bounds_pct"]
    for line in results["variants"]:
        assert -1.0 < percent(line["saved by spin-down"]) <= percent(line["the oracle saves"]) + 0.1
        assert 20.0 < percent(line["saved by PARAID"]) <= bounds["low_gear"]


def test_a_file_system_that_notes_each_access_leaves_spin_down_little_to_save(out: Path) -> None:
    quiet, noting = json.loads((out / "results.json").read_text())["variants"]
    assert percent(noting["saved by spin-down"]) < percent(quiet["saved by spin-down"]) / 4
    assert percent(noting["saved by PARAID"]) > 20.0


def test_the_energy_of_the_day_is_that_of_its_intervals(example: ModuleType, out: Path) -> None:
    """Power over time is exact: over the whole run it adds up to the run's energy."""
    from day import Window

    run = out / "0" / "spin-down"
    summary = json.loads((run / "manifest.json").read_text())["summary"]
    whole = Window(0, round(summary["simulated_s"] * 1e9))
    at, watts = example.figures.power(run, whole)
    assert float(watts.mean()) * summary["simulated_s"] == pytest.approx(summary["energy_j"], rel=1e-9)
    assert len(at) == round(summary["simulated_s"] / 15)


def test_the_page_says_what_was_found_and_fetches_nothing(out: Path) -> None:
    page = (out / "report.html").read_text(encoding="utf-8")
    results = json.loads((out / "results.json").read_text())
    assert page.count("<figure ") == 3
    assert all(row["quantity"] in page.replace("&#39;", "'") for row in results["rows"])
    assert "src=" not in page.split("<script")[0] and "https://cdn" not in page.split("<script")[0]


def test_the_thesis_figures_are_as_printed(example: ModuleType, golden: Path) -> None:
    with (golden / "000_results.csv").open(newline="") as table:
        printed = {row["id"]: row["printed"] for row in csv.DictReader(table)}
    assert {name: float(printed[name]) for name in example.comparison.THESIS} == example.comparison.THESIS


def test_the_same_seed_gives_the_same_figures(example: ModuleType, out: Path, tmp_path: Path) -> None:
    again = example.reproduce(tmp_path / "again", scale=0.25, variants=example.VARIANTS[:1])
    first = json.loads((out / "results.json").read_text())
    assert again["variants"] == first["variants"][:1]
    assert again["about"] == first["about"]
