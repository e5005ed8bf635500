"""How a meter's process asks the kernel to be woken in time.

A reading every second may be late by a millisecond: its window is stamped when it is read. One every millisecond may
not, so the process of a fast meter asks for real-time priority and for timers without slack. What it was granted stands
in the manifest, since it takes the processor from the load for each of its looks.
"""

from __future__ import annotations

import ctypes
import os

#: Meters polled at least this often are fast.
FAST_S = 0.02
_PR_SET_TIMERSLACK = 29


def punctual(poll_s: float | None) -> str:
    """Ask for what ``poll_s`` needs; what was granted, in words, and nothing where nothing is needed."""
    if poll_s is None or poll_s > FAST_S:
        return ""
    granted = []
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0:
        granted.append("timer slack 1 ns")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        granted.append("real-time priority 1 (SCHED_FIFO): its looks come before the load")
    except OSError:
        try:
            granted.append(f"nice {os.nice(-10)}")
        except OSError:
            granted.append("no priority over the load was granted")
    return ", ".join(granted)
