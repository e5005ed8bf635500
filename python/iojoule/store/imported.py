"""Readings that came to a run after its end, each import a table of its own beside what was recorded.

What was recorded is not touched: the table lies under ``tables/imported-<name>.parquet`` and its description under
``imports`` in the manifest. Whoever reads the readings of a run reads both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iojoule.errors import ConfigError
from iojoule.store.writer import hashes, write_json


def tables(run: Path) -> list[Path]:
    """The imported tables of a run, by name."""
    return sorted((run / "tables").glob("imported-*.parquet"))


def add(
    run: Path, meter: Mapping[str, Any], readings: pa.Table, how: Mapping[str, Any], *, force: bool = False
) -> Path:
    """Keep ``readings`` of ``meter`` (its description) with ``how`` they came; the table's path.

    ConfigError where the run has a meter of that name already; ``force`` replaces an import, never a recorded meter.
    """
    name = str(meter["name"])
    manifest: dict[str, Any] = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    if name in {str(one["name"]) for one in manifest.get("meters", ())}:
        raise ConfigError(f"the run has a meter {name!r} of its own; give the import another name", key="--name")
    imports = [one for one in manifest.get("imports", ()) if one["meter"]["name"] != name]
    path = run / "tables" / f"imported-{name}.parquet"
    if (path.exists() or len(imports) < len(manifest.get("imports", ()))) and not force:
        raise ConfigError(f"{name!r} was imported already; --force replaces it", key="--name", value=name)
    fresh = path.with_name(path.name + ".new")
    pq.write_table(readings, fresh)
    fresh.replace(path)
    manifest["imports"] = [*imports, {"meter": dict(meter), **how}]
    manifest["files"] = {**manifest.get("files", {}), **hashes(run, [path])}
    write_json(run / "manifest.json", manifest)
    return path
