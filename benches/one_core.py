"""What a whole command takes, held to one core."""

from __future__ import annotations

import os
import subprocess
import sys
import time


def measured(command: list[str]) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and peak resident bytes. Ends the bench where the command fails."""
    begin = time.monotonic()
    process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
