"""What the end-to-end tests of block load stand on: an experiment file, the command as a user runs it, what it left."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iojoule.store.reader import RunFolder, open_run


@dataclass
class BlockBench:
    """A folder with an experiment over storage."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, target: str, workload: str, experiment: str = "") -> BlockBench:
        """``workload`` is of ``kind = "block"`` unless it says another."""
        if not workload.startswith("kind"):
            workload = f'kind = "block"\n{workload}'
        (folder / "block.toml").write_text(
            f'[experiment]\nname = "block"\noutput = "{folder}/runs"\n{experiment}\n'
            f'[[target]]\nname = "target"\n{target}\n'
            f'[[workload]]\nname = "load"\n{workload}\n'
        )
        return cls(folder)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "iojoule", *words]

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words), cwd=self.folder, capture_output=True, text=True, timeout=200, check=False
        )

    def run(self, *settings: str) -> subprocess.CompletedProcess[str]:
        """``iojoule run`` to its end."""
        flags = [word for setting in settings for word in ("-S", setting)]
        return self.call("run", str(self.folder / "block.toml"), "--yes", "--no-report", *flags)

    def begin(self) -> subprocess.Popen[str]:
        """``iojoule run`` in the background."""
        command = self.command("run", str(self.folder / "block.toml"), "--yes", "--no-report")
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @property
    def campaigns(self) -> list[Path]:
        return sorted(
            (path.parent for path in self.folder.glob("runs/*/manifest.json")), key=lambda p: p.stat().st_ctime
        )

    @property
    def runs(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("runs/*/runs/*/manifest.json"))

    def only_run(self) -> RunFolder:
        (folder,) = self.runs
        return open_run(folder)


def engine(run: RunFolder) -> dict[str, Any]:
    """What the engine said of a run."""
    found: dict[str, Any] = run.manifest["engine"]
    return found


def measured(run: RunFolder, *columns: str) -> pa.Table:
    """Requests of the phase ``measure`` in the order they were planned in."""
    table = run.requests(["phase", "seq", *columns])
    rows = table.filter(pc.equal(table["phase"].cast(pa.string()), "measure"))
    return rows.sort_by("seq")


def problem(run: RunFolder) -> str:
    """Why a run failed."""
    return json.dumps(run.manifest.get("error"))
