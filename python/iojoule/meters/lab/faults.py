"""What goes wrong between an instrument and its reader, on demand.

A fault is taken from ``next`` answers, one each: ``silent`` (never), ``late`` (after ``late_s``), ``half`` (cut in the
middle, then the line goes on), ``garbage``, ``split`` (in two parts, 50 ms apart), ``double`` (twice), ``hang_up``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Fault = Literal["silent", "late", "half", "garbage", "split", "double", "hang_up"]
SPLIT_S = 0.05


@dataclass
class Faults:
    """The faults of one front; a test appends to ``next``. Bytes instead of a name are said in place of an answer."""

    late_s: float = 3.0
    next: deque[Fault | bytes] = field(default_factory=deque)
    #: How the question begins whose answers are spoilt; every question when empty.
    only: str = ""

    def parts(self, answer: bytes, asked: str = "") -> Iterator[tuple[float, bytes | None]]:
        """``(seconds to wait, bytes)`` to send for ``answer``; None for bytes means: hang up."""
        fault = self.next.popleft() if self.next and asked.startswith(self.only) else None
        middle = len(answer) // 2
        match fault:
            case None:
                yield 0.0, answer
            case bytes():
                yield 0.0, fault
            case "silent":
                return
            case "late":
                yield self.late_s, answer
            case "half":
                yield 0.0, answer[:middle]
            case "garbage":
                yield 0.0, b"\xff\x00?;" + answer[:middle][::-1] + answer[-1:]
            case "split":
                yield 0.0, answer[: len(answer) - 1]
                yield SPLIT_S, answer[len(answer) - 1 :]
            case "double":
                yield 0.0, answer
                yield 0.0, answer
            case "hang_up":
                yield 0.0, answer[:middle]
                yield 0.0, None
