"""Run a command that dies with the one who asked for it: set PR_SET_PDEATHSIG, then become the command (prctl(2)).

This file is run as a script in a fresh interpreter (`python -I -S leash.py PARENT COMMAND...`) and not as a function
between fork and exec: the runner has threads, and Python code after a fork of a threaded process may deadlock.
The signal is SIGTERM, for a server's master process must get the chance to stop its workers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Become `command`, leashed to the process `parent`; does not return."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    # A parent that died before the call above sends no signal any more.
    if os.getppid() != parent:
        sys.exit("the process that asked for this server is gone")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
