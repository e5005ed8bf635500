"""What is done to a target. Each workload turns its section of the experiment into one call of the native engine.

A new workload is one file and its line in ``base.WORKLOADS``.
"""

from __future__ import annotations

from iojoule.workloads.base import WORKLOADS, Workload

__all__ = ["WORKLOADS", "Workload"]
