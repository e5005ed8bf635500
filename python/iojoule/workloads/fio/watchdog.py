"""Run a command in this process group and kill the group when whoever asked for it is gone.

This file is run as a script (``python -I -S watchdog.py COMMAND...``). Its standard input is a pipe nobody writes to:
it ends when the process at the other end does, however that died. SIGKILL, since some versions of fio ignore SIGTERM.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys


def main(command: list[str]) -> int:
    """Exit status of ``command``; does not return where the pipe ended first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the command
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_as_usual)
    over = os.pidfd_open(child.pid)
    ready, _, _ = select.select([over, sys.stdin], [], [])
    if over not in ready:
        os.killpg(0, signal.SIGKILL)
    status = child.wait()
    return status if status >= 0 else 128 - status


def _as_usual() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
