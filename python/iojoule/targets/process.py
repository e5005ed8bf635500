"""A server process on a leash: in its own process group, stopped with us at the latest, its output kept in a file.

Note for callers: Linux ties PR_SET_PDEATHSIG to the *thread* that started the child. Start a server from a thread that
outlives it, in practice the main one.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from iojoule.targets import leash

_PATIENCE = 3.0  # seconds between the wish to stop and the order


class ServerProcess:
    """One foreground server with all its workers."""

    def __init__(self, command: Sequence[str], output: Path, keep_open: Sequence[int] = ()) -> None:
        self.command = list(command)
        self._owner = os.getpid()
        with output.open("ab") as sink:
            self._child = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(leash.__file__)), str(self._owner), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                pass_fds=tuple(keep_open),
                start_new_session=True,  # Ctrl-C is for the runner, not for the server
            )
        atexit.register(self.stop)

    @property
    def pid(self) -> int:
        return self._child.pid

    def alive(self) -> bool:
        """Whether the master runs. A dead one stays unreaped until `stop`, so that its number still names its group."""
        return self._child.returncode is None and not self._exited()

    def exit_status(self) -> int | None:
        """Exit status once stopped (negative: the signal), None before."""
        return self._child.returncode

    def stop(self) -> None:
        """Ask the master to stop, then kill what is left of its group. May be called again, and from atexit."""
        self._end(signal.SIGTERM, _PATIENCE)

    def kill(self) -> None:
        """Kill the whole group at once, as a crash would."""
        self._end(signal.SIGKILL, 0.0)

    def _end(self, wish: signal.Signals, patience: float) -> None:
        if os.getpid() != self._owner:  # a fork of ours that ends must not take the server along
            return
        atexit.unregister(self.stop)
        if self._child.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, wish)
        deadline = time.monotonic() + patience
        while not self._exited() and time.monotonic() < deadline:
            time.sleep(0.01)
        # Workers may outlive their master. It is not reaped yet, so the number cannot have become someone else's.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._child.wait()

    def _exited(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
