"""The native block load as Python calls it: a configuration in, a summary out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from iojoule._native import Progress


def block_load(config: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the load to its end, or to the one ``progress`` is told; the engine's summary."""
    from iojoule import _native

    summary: dict[str, Any] = json.loads(_native.block_load(json.dumps(config), progress))
    return summary


def folder_beside(run: Path, name: str) -> Path:
    """A folder in ``raw`` for a load that is no part of what is measured, such as filling or reading back."""
    folder = run / "raw" / name
    for part in ("tables", "hist"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    return folder
