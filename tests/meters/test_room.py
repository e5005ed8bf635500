"""A driver is a line in the table, a file, a test and a manual page. None may be missing."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from iojoule.meters.table import DRIVERS, driver_class

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_driver_has_its_file_its_test_and_its_page(kind: str) -> None:
    assert driver_class(kind).__module__ == f"iojoule.meters.{kind}"
    assert (ROOT / f"tests/meters/test_{kind}.py").exists()
    page = (ROOT / f"docs/meters/{kind}.md").read_text()
    assert page.startswith("# ")
    assert f"({kind}.md)" in (ROOT / "docs/meters/index.md").read_text()


@pytest.mark.parametrize("kind", DRIVERS)
def test_every_key_of_a_driver_stands_on_its_page(kind: str) -> None:
    page = (ROOT / f"docs/meters/{kind}.md").read_text()
    missing = [key for key in driver_class(kind).Config.model_fields if f"`{key}`" not in page and key not in COMMON]
    assert missing == []


COMMON = {"name", "kind", "interval", "calibrated"}


def test_every_flag_is_explained() -> None:
    from iojoule.meters.base import FLAGS

    index = (ROOT / "docs/meters/index.md").read_text()
    assert [flag for flag in FLAGS if f"`{flag}`" not in index] == []


@pytest.mark.parametrize("path", sorted((ROOT / "python/iojoule/meters").glob("*.py")), ids=lambda path: path.stem)
def test_a_meter_knows_nothing_of_experiments(path: Path) -> None:
    allowed = ("iojoule.meters", "iojoule.quantities")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("iojoule"):
            assert node.module.startswith(allowed), f"{path.name} imports {node.module}"
