"""The report in headless Chromium, network blocked: every figure draws, nothing is logged, nothing is fetched."""

from pathlib import Path
from typing import Any

import pytest

from pages import shown


@pytest.fixture(params=[1280, 420], ids=["wide", "narrow"])
def opened(request: pytest.FixtureRequest, browser: Any, page: str, tmp_path: Path) -> Any:
    """The page at two widths, with what it logged and what it asked for."""
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    with shown(browser, file, request.param) as tab:
        yield tab


def test_every_figure_draws_its_lines(opened: Any) -> None:
    drawn = opened.evaluate(
        "[...document.querySelectorAll('.plot')].map(e => [e.id, e.querySelectorAll('path.js-line').length])"
    )
    assert len(drawn) == 5
    assert all(lines >= 2 for _, lines in drawn), drawn


def test_nothing_is_logged_and_nothing_is_fetched(opened: Any) -> None:
    assert opened.logged == []
    assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []


def test_the_page_is_no_wider_than_the_screen(opened: Any) -> None:
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_findings_come_first_and_provenance_last(opened: Any) -> None:
    sections = opened.evaluate("[...document.querySelectorAll('main > section')].map(e => e.id)")
    assert sections[0] == "findings" and sections[-1] == "provenance"


def test_without_javascript_every_figure_has_its_table(browser: Any, page: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(file.as_uri())
    figures = tab.locator("figure")
    assert figures.count() == 5
    for i in range(figures.count()):
        figures.nth(i).locator("summary").click()
        assert figures.nth(i).locator("tbody tr").first.is_visible()
        assert figures.nth(i).locator("tbody tr").count() >= 9
    context.close()
