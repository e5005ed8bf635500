"""Designs small enough to simulate in a moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., subprocess.CompletedProcess[str]]

SMALL = """
[drive]
preset = "cheetah9LP"

[array]
layout = "raid0"
drives = 2

[trace]
random = "4KiB"
requests = 2000
rate = "60/s"
reads = 0.7
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A design of one point."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def iojoule(tmp_path: Path) -> Call:
    """The command in an empty folder."""

    def call(*words: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"NO_COLOR": "1", "COLUMNS": "200"}
        command = [sys.executable, "-m", "iojoule", *map(str, words)]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False, env=environment, **options
        )

    return call


@pytest.fixture
def summary_of(iojoule: Call) -> Callable[..., dict[str, Any]]:
    """The document of a run that ends well."""

    def run(*words: str | Path) -> dict[str, Any]:
        done = iojoule("sim", "run", *words, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    return run
