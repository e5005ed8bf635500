"""What the end-to-end tests stand on: a small log, an experiment over it, and the command run as a user runs it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

METER = """
[[meter]]
name = "model"
kind = "utilisation"
interval = "200ms"
idle_w = 20.0
cpu_w = 30.0
u_rel = 0.1
"""


def write_log(path: Path, seconds: int, per_second: int, objects: int = 20) -> int:
    """A Common log of ``seconds × per_second`` requests; returns their number."""
    draw = random.Random(7)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    sizes = {i: draw.randrange(100, 20_000) for i in range(objects)}
    lines = []
    for second in range(seconds):
        stamp = (start + timedelta(seconds=second)).strftime("%d/%b/%Y:%H:%M:%S +0000")
        for _ in range(per_second):
            chosen = draw.randrange(objects)
            client = f"10.0.0.{draw.randrange(1, 20)}"
            lines.append(f'{client} - - [{stamp}] "GET /files/{chosen}.html HTTP/1.1" 200 {sizes[chosen]}')
    path.write_text("\n".join(lines) + "\n")
    return len(lines)


@dataclass
class Bench:
    """A folder with a log and an experiment."""

    folder: Path
    requests: int

    @classmethod
    def make(cls, folder: Path, *, seconds: int = 4, per_second: int = 50, target: str = "", extra: str = "") -> Bench:
        requests = write_log(folder / "access.log", seconds, per_second)
        target = target or 'server = "builtin"'
        (folder / "web.toml").write_text(
            f'[experiment]\nname = "web"\noutput = "{folder}/runs"\n\n'
            f'[[target]]\nname = "server"\nkind = "http"\n{target}\n\n'
            f'[[workload]]\nname = "log"\nkind = "web_replay"\nlog = ["access.log"]\ntimeout = "2s"\n'
            # Timing is not what these tests are about, and the machine may be busy with others.
            f'limits = {{ stretch = 2.0, lateness_p99 = "30s" }}\n{extra}\n{METER}'
        )
        return cls(folder, requests)

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "iojoule", *words]

    def run(self, *settings: str) -> subprocess.CompletedProcess[str]:
        """``iojoule run`` to its end."""
        flags = [word for setting in settings for word in ("-S", setting)]
        return self.call("run", str(self.folder / "web.toml"), *flags)

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=120, check=False)

    def begin(self, *settings: str) -> subprocess.Popen[str]:
        """``iojoule run`` in the background."""
        flags = [word for setting in settings for word in ("-S", setting)]
        return subprocess.Popen(
            self.command("run", str(self.folder / "web.toml"), *flags),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def campaigns(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("runs/*/manifest.json"))

    @property
    def runs(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("runs/*/runs/*/manifest.json"))

    def manifest(self, folder: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
        return found
