"""What each metric is called on the page, and the order in which the tables show them."""

from __future__ import annotations

from collections.abc import Sequence

HEADLINES: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    (
        "What was served",
        (
            ("requests", "", "requests in the measure phase"),
            ("success_share", "", "share that succeeded"),
            ("requests_per_s", "", "requests (connections) per second"),
            ("iops", "", "IOPS"),
            ("iops", "read", "IOPS, reads"),
            ("iops", "write", "IOPS, writes"),
            ("iops", "trim", "IOPS, trims"),
            ("throughput", "", "throughput"),
            ("throughput", "read", "throughput, reads"),
            ("throughput", "write", "throughput, writes"),
            ("little_outstanding", "", "in flight by Little's law (X·R)"),
            ("little_deviation", "", "off the queue depth by"),
            ("concurrency_mean", "", "concurrent requests, mean"),
            ("concurrency_max", "", "concurrent requests, most"),
        ),
    ),
    (
        "How long it took",
        (
            ("latency_from_planned_p50", "", "latency from planned, median"),
            ("latency_from_planned_p99", "", "latency from planned, 99 %"),
            ("latency_from_issued_p99", "", "latency from issued, 99 %"),
            ("completion_from_planned_p50", "", "completion from planned, median"),
            ("completion_from_planned_p99", "", "completion from planned, 99 %"),
            ("completion_from_planned_max", "", "completion from planned, longest"),
            ("completion_from_issued_min", "", "completion from issued, shortest"),
            ("completion_from_issued_mean", "", "completion from issued, mean"),
            ("completion_from_issued_p99", "", "completion from issued, 99 %"),
            ("completion_from_issued_p99", "read", "reads from issued, 99 %"),
            ("completion_from_issued_p99", "write", "writes from issued, 99 %"),
        ),
    ),
    (
        "What it took of the processors",
        (
            ("cpu_system", "", "whole host, while measuring"),
            ("cpu_engine", "", "engine, one processor is 100 %"),
            ("cpu_writer", "", "writer of the records"),
            ("cpu_per_io", "", "engine, for each request"),
        ),
    ),
    (
        "How true the load was",
        (
            ("stretch", "", "stretch (replayed / planned span)"),
            ("lateness_p50", "", "lateness, median"),
            ("lateness_p99", "", "lateness, 99 %"),
            ("lateness_max", "", "lateness, greatest"),
        ),
    ),
    (
        "What it took, whole system",
        (
            ("power_mean", "system", "mean power"),
            ("energy", "system", "energy"),
            ("idle_power", "system", "idle power"),
            ("idle_power_before", "system", "idle power before"),
            ("idle_power_after", "system", "idle power after"),
            ("power_above_idle", "system", "power above idle"),
            ("energy_above_idle", "system", "energy above idle"),
        ),
    ),
    (
        "What it took, drives",
        (("power_mean", "drives", "mean power of all drives"), ("energy", "drives", "energy of all drives")),
    ),
    (
        "What a joule bought",
        (
            ("requests_per_j", "system", "requests per joule"),
            ("iops_per_w", "system", "IOPS per watt"),
            ("iops_per_w_above_idle", "system", "IOPS per watt above idle"),
            ("mb_per_j", "system", "megabytes per joule"),
            ("mb_per_j_above_idle", "system", "megabytes per joule above idle"),
            ("j_per_request", "system", "joules per request"),
            ("j_per_io", "system", "joules per I/O"),
            ("j_per_io_above_idle", "system", "joules per I/O above idle"),
            ("requests_per_j", "drives", "requests per joule of the drives"),
            ("iops_per_w", "drives", "IOPS per watt of the drives"),
        ),
    ),
)

COMPARED = (
    "requests_per_s", "iops", "throughput", "success_share", "latency_from_planned_p50", "latency_from_planned_p99",
    "completion_from_planned_p50", "completion_from_planned_p99", "power_mean", "energy", "energy_above_idle",
    "requests_per_j", "iops_per_w", "mb_per_j", "j_per_request", "j_per_io",
)  # fmt: skip
"""Metrics of the comparison with the baseline."""

SOURCES = {
    "gain": "instrument: gain",
    "offset": "instrument: offset",
    "instrument": "instrument: gain and offset together",
    "noise": "scatter of the readings",
    "rate": "scatter of the rate",
    "resolution": "instrument: last digit",
    "drift": "idle power before and after",
    "alignment": "alignment of the clocks",
    "gaps": "gaps between readings",
    "integration": "ends of the phase, interpolated",
}

MEASURE_TITLES = {"latency": "Latency (first byte)", "completion": "Completion time (last byte)"}

BOUNDARIES = {
    "ac_wall": "at the wall socket",
    "dc_rail": "on the DC rails",
    "device": "as the device reports it",
    "modelled": "modelled, not measured",
}

LABELS = {(name, scope): label for _, rows in HEADLINES for name, scope, label in rows}


def label(name: str, scope: str) -> str:
    """A metric in words."""
    known = LABELS.get((name, scope))
    if known:
        return known
    base = LABELS.get((name, "system")) or LABELS.get((name, ""))
    words = base or name.replace("_", " ")
    return f"{words}, {scope.replace(':', ' ')}" if scope else words


def boundary_text(boundary: str) -> str:
    """A boundary, or several joined by +, in words."""
    return " + ".join(BOUNDARIES.get(part, part) for part in boundary.split("+") if part)


def made_words(meters: Sequence[str]) -> str:
    """That these meters are no real ones."""
    several = len(meters) > 1
    who = " and ".join(filter(None, (", ".join(meters[:-1]), meters[-1])))
    return f"{who} {'are instruments' if several else 'is an instrument'} of iojoule meter lab, not of the real world"
