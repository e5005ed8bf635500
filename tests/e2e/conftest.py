"""What many end-to-end tests start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.loops import Loops


@pytest.fixture
def loops(tmp_path: Path) -> Iterator[Loops]:
    """Maker of block devices, taken away when the test ends."""
    with Loops(tmp_path) as made:
        yield made
