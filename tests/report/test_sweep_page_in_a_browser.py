"""Small multiples of a sweep in headless Chromium: arranged for the width there is, nothing over the edge or logged."""

from pathlib import Path
from typing import Any

import pytest

from pages import shown

COLUMNS = {1280: 2, 420: 1}


@pytest.fixture(params=[(1280, "light"), (1280, "dark"), (420, "light")], ids=["wide", "dark", "narrow"])
def opened(request: pytest.FixtureRequest, browser: Any, sweep_page: str, tmp_path: Path) -> Any:
    width, scheme = request.param
    file = tmp_path / "report.html"
    file.write_text(sweep_page, encoding="utf-8")
    with shown(browser, file, width, scheme) as tab:
        yield tab


def test_panels_stand_beside_each_other_where_there_is_room(opened: Any) -> None:
    places = opened.evaluate(
        "[...document.querySelectorAll('#sweep-power .subplot .bg, #sweep-power .bglayer .bg')]"
        ".map(e => { const b = e.getBoundingClientRect(); return [Math.round(b.x), Math.round(b.y)]; })"
    )
    titles = opened.evaluate(
        "[...document.querySelectorAll('#sweep-power .annotation-text')]"
        ".map(e => { const b = e.getBoundingClientRect(); return [Math.round(b.x), Math.round(b.y), b.right]; })"
    )
    assert len(titles) == 4, places
    assert len({x for x, _, _ in titles}) == COLUMNS[opened.width]
    assert len({y for _, y, _ in titles}) == 4 // COLUMNS[opened.width]
    assert all(right <= opened.width for _, _, right in titles)


def test_no_two_texts_of_a_picture_overlap(opened: Any) -> None:
    overlaps = opened.evaluate(
        """() => {
          const found = [];
          for (const plot of document.querySelectorAll('.plot')) {
            const texts = [...plot.querySelectorAll('text')].filter(t => t.textContent.trim()
              && !t.closest('.hoverlayer') && !t.closest('.modebar'));
            const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
            for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
              const [a, p] = boxes[i], [b, q] = boxes[j];
              const w = Math.min(p.right, q.right) - Math.max(p.left, q.left);
              const h = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
              if (w > 2 && h > 4) found.push(`${plot.id}: ${a} / ${b}`);
            }
          }
          return found;
        }"""
    )
    assert overlaps == []


def test_every_value_of_the_heat_map_can_be_read_on_its_colour(opened: Any) -> None:
    texts = opened.evaluate("[...document.querySelectorAll('#sweep-heat .heatmap-label text')].map(e => e.textContent)")
    assert len(texts) == 8 * 6
    assert sum("★" in text for text in texts) >= 8


def test_nothing_is_logged_and_the_page_fits(opened: Any) -> None:
    assert opened.logged == []
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
