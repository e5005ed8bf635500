"""What the readings of the measured phase say against themselves: overloads, gaps, values that were none."""

from __future__ import annotations

from collections import Counter

import pyarrow.compute as pc

from iojoule.metrics.metric import Finding

from .data import RunData

SAID = {
    "overload": "overloaded",
    "peak_over": "above the peak that the crest factor allows",
    "wrap_uncertain": "of an uncertain counter wrap",
    "invalid": "not a measurement",
    "gap_before": "after a gap",
    "range_changed": "spoiled by a change of range",
    "extrapolated": "beyond the range of a calibration",
    "under_range": "below 10 % of the range",
}
"""Flags worth a sentence, worst first; the last one is a note."""


def flagged(run: RunData) -> list[Finding]:
    """A sentence for each flag of each meter, with how many readings of the measured phase have it."""
    span, readings = run.phase("measure"), run.readings()
    if span is None or not readings.num_rows:
        return []
    inside = pc.and_(pc.less(readings["start_ns"], span.end_ns), pc.greater(readings["end_ns"], span.start_ns))
    rows = readings.select(["meter", "quality"]).filter(inside)
    counts: Counter[tuple[str, str]] = Counter()
    total: Counter[str] = Counter()
    for group in rows.group_by(["meter", "quality"]).aggregate([([], "count_all")]).to_pylist():
        meter, number = str(group["meter"]), int(group["count_all"])
        total[meter] += number
        for flag in str(group["quality"] or "").split():
            counts[meter, flag] += number
    return [
        Finding(
            "note" if flag == "under_range" else "warning",
            f"{number} of {total[meter]} readings of {meter} are {SAID[flag]}",
        )
        for flag in SAID
        for (meter, of), number in sorted(counts.items())
        if of == flag
    ]
