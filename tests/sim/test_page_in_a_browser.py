"""The report of a sweep in headless Chromium, network off: every figure draws, nothing is logged or fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from iojoule.sim import design as designs
from iojoule.sim.sweep import SweepFolder
from pages import shown

DESIGN = {
    "drive": {"preset": "ultrastar-36z15"},
    "array": {"layout": "raid0", "drives": 3, "scheduler": ["fcfs", "satf"]},
    "trace": {"random": "4KiB", "requests": 500, "rate": ["20/s", "100/s", "400/s"]},
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep") / "out"
    return SweepFolder.open(designs.of(DESIGN), folder).run().files["report"]


@pytest.mark.parametrize("width", [1280, 420])
def test_every_figure_draws_and_nothing_is_logged_or_fetched(browser: Any, report: Path, width: int) -> None:
    with shown(browser, report, width) as tab:
        figures = tab.evaluate("[...document.querySelectorAll('.plot')].map(e => e.querySelectorAll('.trace').length)")
        assert len(figures) >= 4 and all(traces >= 2 for traces in figures)
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert tab.logged == []
        assert [url for url in tab.asked if not url.startswith(("file:", "data:"))] == []
