"""fio as a process: in a group of its own, ended after its time whatever it does, gone when we are.

fio 3.42 was seen never to end and to ignore SIGTERM; so the end of the time limit is SIGKILL for the whole group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from iojoule.errors import HostError
from iojoule.workloads.fio import watchdog

_PATIENCE_S = 10.0
"""Between the wish to end, at which fio still writes its logs, and the order."""

_LOOK_S = 0.05


@dataclass(frozen=True)
class Ended:
    """How fio ended: its exit status, None where it was killed; host times around its process."""

    status: int | None
    started_ns: int
    ended_ns: int
    timed_out: bool
    stopped: bool


def find_fio() -> tuple[str, str]:
    """Path and version (``fio-3.33``) of the installed fio; HostError where there is none."""
    path = which("fio")
    if path is None:
        raise HostError("fio is not installed", missing="fio", remedy="apt-get install fio")
    said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)
    return path, said.stdout.strip()


def run_fio(command: Sequence[str], folder: Path, limit_s: float, stopping: Callable[[], bool]) -> Ended:
    """Run ``command`` in ``folder``, its output in ``fio.out``; ended when ``limit_s`` is over or ``stopping``."""
    started_ns = time.monotonic_ns()
    with (folder / "fio.out").open("ab") as sink:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(watchdog.__file__)), *command],
            stdin=subprocess.PIPE,
            stdout=sink,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,  # Ctrl-C is for the runner, not for fio
        )
    timed_out = stopped = False
    try:
        while not _exited(child.pid):
            timed_out = time.monotonic_ns() - started_ns > limit_s * 1e9
            stopped = stopping()
            if timed_out or stopped:
                break
            time.sleep(_LOOK_S)
        if timed_out or stopped:
            _end(child.pid)
    finally:
        # The watchdog is not reaped yet, so its number still names the group of all that fio started.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait()
        if child.stdin is not None:
            child.stdin.close()
    return Ended(status if status >= 0 else None, started_ns, time.monotonic_ns(), timed_out, stopped)


def _end(group: int) -> None:
    """Ask for an end: fio ends its jobs and writes what it has, if it listens."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGINT)
    deadline = time.monotonic() + _PATIENCE_S
    while not _exited(group) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


def _exited(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
