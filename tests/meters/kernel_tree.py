"""A folder that looks like a part of /sys or /proc."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

#: ``tree({"hwmon0/name": "ina226"})`` writes these attributes and gives the root; call it again to change some.
Tree = Callable[[dict[str, object]], Path]


def writer(root: Path) -> Tree:
    def write(files: dict[str, object]) -> Path:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{content}\n")
        return root

    return write
