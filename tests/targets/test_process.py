"""A server process ends when it is told to, when it will not, and when the one who started it is gone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import pytest

from iojoule.targets.process import ServerProcess

SHELL = which("sh") or "/bin/sh"


def wait_until(what: str, holds: object, patience: float = 10.0) -> None:
    assert callable(holds)
    deadline = time.monotonic() + patience
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def gone(pid: int) -> bool:
    """Ended; one that waits to be reaped by someone else has ended, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "server.out"


@pytest.fixture
def sleeper(output: Path) -> Iterator[ServerProcess]:
    process = ServerProcess([SHELL, "-c", "echo up; exec sleep 600"], output)
    wait_until("it says that it is up", lambda: output.read_text() == "up\n")
    yield process
    process.stop()


def test_a_process_told_to_stop_ends_by_that_signal(sleeper: ServerProcess) -> None:
    assert sleeper.alive()
    assert sleeper.exit_status() is None
    sleeper.stop()
    assert not sleeper.alive()
    assert sleeper.exit_status() == -signal.SIGTERM
    sleeper.stop()


def test_a_process_is_the_leader_of_its_own_group(sleeper: ServerProcess) -> None:
    assert os.getpgid(sleeper.pid) == sleeper.pid != os.getpgid(0)


def test_one_that_will_not_hear_is_killed_with_its_children(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iojoule.targets.process._PATIENCE", 0.1)
    deaf = "trap '' TERM; sleep 600 & echo $!; wait; wait"
    process = ServerProcess([SHELL, "-c", deaf], output)
    wait_until("its child is started", lambda: output.read_text().endswith("\n"))
    child = int(output.read_text())
    process.stop()
    assert process.exit_status() == -signal.SIGKILL
    wait_until("the child is gone", lambda: gone(child))


def test_one_that_ended_by_itself_is_seen_dead_and_its_children_do_not_stay(output: Path) -> None:
    process = ServerProcess([SHELL, "-c", "sleep 600 & echo $!; exit 3"], output)
    wait_until("it has ended", lambda: not process.alive())
    child = int(output.read_text())
    assert not gone(child)
    process.stop()
    assert process.exit_status() == 3
    wait_until("the child is gone", lambda: gone(child))


def test_a_fork_that_ends_leaves_the_server_alone(sleeper: ServerProcess) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            sleeper.stop()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert sleeper.alive()


@pytest.mark.parametrize("end", ["sys.exit(1)", "os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_a_process_does_not_outlive_its_runner_however_it_ends(output: Path, end: str) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom iojoule.targets.process import ServerProcess\n"
        f"output = Path({str(output)!r})\n"
        f"process = ServerProcess([{SHELL!r}, '-c', 'echo $$; exec sleep 600'], output)\n"
        f"while not output.read_text().endswith('\\n'): pass\n{end}\n"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60)
    pid = int(output.read_text())
    wait_until("the server is gone", lambda: gone(pid))


def test_a_command_whose_asker_is_gone_already_is_not_begun(tmp_path: Path) -> None:
    from iojoule.targets import leash

    mark = tmp_path / "begun"
    nobody = 2**22 + 1  # above the largest process id there can be
    command = [sys.executable, str(leash.__file__), str(nobody), SHELL, "-c", f"touch {mark}"]
    assert subprocess.run(command, capture_output=True).returncode != 0
    assert not mark.exists()
