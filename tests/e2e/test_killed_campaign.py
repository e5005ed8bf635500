"""A campaign on a loop device is killed: the next one says so, and ``restore`` or going on puts back what it set."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.loops import Loops
from iojoule.host.kernel import chosen, text
from iojoule.host.restore import restore

pytestmark = pytest.mark.e2e

EXPERIMENT = """
[experiment]
name = "kill"

[[target]]
name = "loop"
kind = "loop"
size = "8MiB"
read_ahead = "64KiB"
scheduler = "mq-deadline"
write_cache = "write through"

[[workload]]
kind = "block"
duration = "${DURATION:-60s}"
"""


@pytest.fixture
def loops(tmp_path: Path) -> Iterator[Loops]:
    with Loops(tmp_path) as made:
        yield made
    restore([tmp_path / "runs"], force=True)  # whatever failed, the next test finds the machine as it was


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "iojoule", *words]


def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"DURATION": "100ms"}
    return subprocess.run(command(*words), cwd=folder, env=environment, capture_output=True, text=True)


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def killed(folder: Path) -> Path:
    """Begin a campaign, kill it while it measures; its device."""
    (folder / "x.toml").write_text(EXPERIMENT)
    running = subprocess.Popen(command("run", "x.toml"), cwd=folder, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: any('"workload"' in file.read_text() for file in folder.glob("runs/*/runs/*/events.jsonl")))
        (manifest,) = folder.glob("runs/*/runs/*/manifest.json")
        return Path(json.loads(manifest.read_text())["target"]["paths"][0])
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()


def test_a_killed_campaign_is_told_of_and_put_back(loops: Loops, tmp_path: Path) -> None:
    device = killed(tmp_path)
    queue = Path("/sys/block", device.name, "queue")
    assert (chosen(queue / "scheduler"), text(queue / "read_ahead_kb")) == ("mq-deadline", "64")
    assert (queue.parent / "loop/backing_file").exists()

    told = call(tmp_path, "run", "x.toml", "--no-report")
    assert "warning: 3 changes of killed runs were not put back" in told.stderr
    assert told.returncode == 0, told.stderr

    done = call(tmp_path, "host", "restore", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    changes = json.loads(done.stdout)["changes"]
    assert [(change["kind"], change["result"]) for change in changes] == [
        ("settings", "restored"),
        ("loop", "restored"),
        ("made", "restored"),
    ]
    assert chosen(queue / "scheduler") != "mq-deadline"
    assert text(queue / "read_ahead_kb") != "64"
    assert not (queue.parent / "loop/backing_file").exists()
    assert list(tmp_path.glob("runs/*/targets/*.img")) == []


def test_a_killed_campaign_that_goes_on_puts_back_first(loops: Loops, tmp_path: Path) -> None:
    killed(tmp_path)
    (campaign,) = (tmp_path / "runs").iterdir()
    done = call(tmp_path, "run", "--resume", str(campaign), "--no-report")
    assert done.returncode == 0, done.stderr
    assert "restored: settings of loop" in done.stderr
    assert "warning" not in done.stderr
    assert json.loads(call(tmp_path, "host", "restore", "--json").stdout)["changes"] == []
