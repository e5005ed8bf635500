"""Our native engine as the benches call it: where a run goes that nobody keeps, and how faithful a replay was."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def run_folder(inside: Path | None = None) -> Iterator[Path]:
    """A folder the engine can write a run to; gone when the block is left."""
    with tempfile.TemporaryDirectory(dir=inside) as name:
        for part in ("tables", "hist"):
            (Path(name) / part).mkdir()
        yield Path(name)


def fidelity(summary: Mapping[str, Any]) -> dict[str, float]:
    """Stretch, lateness in µs, and the processors the engine took, of a replay."""
    late, seconds = summary["lateness"], (summary["end_ns"] - summary["epoch_ns"]) / 1e9
    return {
        "stretch": summary["stretch"],
        **{f"late_{at}_us": late[f"{at}_ns"] / 1e3 for at in ("p50", "p99", "max")},
        "cores": summary["cpu_s"] / seconds,
    }
