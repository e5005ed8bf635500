"""What a PTDaemon says of its uncertainty, made that of every sample.

It tells the average, least and greatest half-width, relative to the reading, of all samples since Go. A data sheet's
half-width is ``a·|W| + b`` on a fixed range, so the least is that of the greatest power and the greatest that of the
least: that gives a and b. Where power hardly varied the average is that of every sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from iojoule.meters.base import Reconnect
from iojoule.meters.ptdaemon_log import UNKNOWN, Sample

#: Powers closer together than this do not tell a from b.
_APART = 1.01


class HalfWidth:
    """``share·|W| + constant`` watts; unknown until the daemon told. ``fixed``: its ranges do not change meanwhile."""

    def __init__(self, fixed: bool = True) -> None:
        self._fixed = fixed
        self._least_w, self._most_w = math.inf, 0.0
        self.share = self.constant_w = math.nan

    def told(self, answer: str, samples: Sequence[Sample]) -> None:
        """Take the answer to Uncertainty, asked after ``samples`` came; Reconnect when it is none."""
        for sample in samples:
            if (watts := abs(sample.values["Watts"])) and sample.values["Watts"] != UNKNOWN:
                self._least_w, self._most_w = min(self._least_w, watts), max(self._most_w, watts)
        self.share = self.constant_w = math.nan
        if answer.startswith(("Unknown", "Invalid", "Error", "No")):
            return
        words = answer.split(",")
        try:
            average, least, greatest = (float(word) for word in words[1:4])
        except ValueError:
            words = []
        if words[:1] not in (["Uncertainty"], ["Accuracy"]):
            raise Reconnect(f"Uncertainty: {answer[:80]!r}")
        if average < 0:
            return
        self.share, self.constant_w = average, 0.0
        if self._fixed and self._most_w > _APART * self._least_w:
            constant_w = (greatest - least) / (1 / self._least_w - 1 / self._most_w)
            share = least - constant_w / self._most_w
            if constant_w >= 0 and share >= 0:
                self.share, self.constant_w = share, constant_w

    def u(self, watts: float) -> float:
        """Standard uncertainty of a sample: the half-width over √3, W; NaN where the daemon does not know."""
        return (self.share * abs(watts) + self.constant_w) / math.sqrt(3)
