"""What the tests of the meters share; the modules beside this file can be imported by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from kernel_tree import Tree, writer


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes kernel attributes below one root."""
    return writer(tmp_path / "tree")
