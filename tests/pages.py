"""A page in headless Chromium with the network off, and what it logged and asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def shown(browser: Any, file: Path, width: int, scheme: str = "light") -> Iterator[Any]:
    """The tab, all figures drawn; its ``logged`` are errors and warnings, its ``asked`` every address."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_offline(True)
    tab = context.new_page()
    tab.logged, tab.asked, tab.width = [], [], width
    tab.on("console", lambda message: tab.logged.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: tab.logged.append(str(error)))
    tab.on("request", lambda asked: tab.asked.append(asked.url))
    tab.goto(file.as_uri())
    tab.wait_for_function(
        "document.querySelectorAll('.js-plotly-plot').length === document.querySelectorAll('.plot').length"
    )
    yield tab
    context.close()
