"""The folder of one simulated run, in the layout of every run folder; its clock is the simulated one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from iojoule.store.writer import RunWriter

MODELLED = "modelled"
"""The boundary of every watt and joule of a simulation."""


@contextmanager
def run_folder(path: Path, sweep: Any, point: Any) -> Iterator[RunWriter]:
    """A fresh folder, with its stop document written however the run ends."""
    facts: Mapping[str, Any] = {
        "argv": sys.argv,
        "seed": point.design.design.seed,
        "simulated": True,
        "clock": "simulated: nanoseconds from the start of the run",
        "boundary": MODELLED,
        "step": {
            "index": point.index,
            "target": "simulated",
            "workload": sweep.name,
            "repeat": 1,
            "parameters": point.parameters,
        },
    }
    with RunWriter(path, facts) as folder:
        (path / "design.toml").write_text(sweep.source.text, encoding="utf-8")
        try:
            yield folder
        except KeyboardInterrupt:
            folder.status, folder.exit_code = "interrupted", 130
            raise
        folder.status, folder.exit_code = "complete", 0
