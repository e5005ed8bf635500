"""Synthetic campaigns, and the page made of them."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def _beside(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The writer of campaign folders that stands beside these tests."""
    return _beside("synthetic")


@pytest.fixture(scope="session")
def synthetic_block() -> ModuleType:
    """The writer of sweeps of block load."""
    return _beside("synthetic_block")


@pytest.fixture(scope="session")
def sweep_campaign(synthetic_block: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems, random and sequential reading and writing of 4 KiB, six depths, two repeats, settled first."""
    folder: Path = tmp_path_factory.mktemp("sweep") / "ppw"
    keys = tuple(key for key in synthetic_block.LAWS if key[2] == 4096)
    synthetic_block.write_campaign(folder, keys=keys, steady=True)
    return folder


@pytest.fixture(scope="session")
def sweep_page(sweep_campaign: Path) -> str:
    from iojoule.report import build_report, load_campaign

    return build_report(load_campaign(sweep_campaign))


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
