"""Synthetic campaigns, and the page made of them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


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
