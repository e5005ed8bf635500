"""Synthetic campaigns, the page made of them, and a browser without a network."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The writer of campaign folders that stands beside these tests."""
    spec = importlib.util.spec_from_file_location("synthetic", Path(__file__).with_name("synthetic.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def campaign(synthetic: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two targets, three repeats each, measured at the wall and modelled."""
    folder = tmp_path_factory.mktemp("campaign") / "day"
    synthetic.write_campaign(folder)
    return folder


@pytest.fixture(scope="session")
def page(campaign: Path) -> str:
    from iojoule.report import build_report, load_campaign

    return build_report(load_campaign(campaign))


@pytest.fixture(scope="session")
def browser(require: Callable[[str, str], str]) -> Iterator[Any]:
    executable = require("chromium", "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        yield chromium
        chromium.close()
