"""What ``iojoule sim`` says on a terminal: a run, a comparison, a sweep, and how far they are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from iojoule.cli.polled import polled

if TYPE_CHECKING:
    from iojoule._native import SimControl
    from iojoule.sim.sweep import Outcome

POLL_S = 0.1


def summary_text(summary: Mapping[str, Any]) -> str:
    """A run as a person reads it."""
    simulated, wall = summary["simulated_s"], summary["wall_s"]
    pace = f", {summary['requests'] / wall:,.0f} requests/s" if wall > 0 else ""
    lines = [
        f"{len(summary['drives'])} x {summary['drive']}, {summary['capacity_bytes'] / 1e9:,.1f} GB",
        f"{summary['requests']:,} requests in {simulated:,.1f} s simulated, {wall:.2f} s of wall time{pace}",
    ]
    if not summary["sustained"]:
        lines.append(f"NOT SUSTAINED: given up with {summary['most_outstanding']:,} requests outstanding")
    elif summary["unanswered"]:
        lines.append(f"{summary['unanswered']:,} requests were not answered when the run ended")
    lines += [f"{count:,} requests {what}" for what, count in _odd(summary) if count]
    lines.append("")
    lines.append(f"{'ms':10}{'requests':>12}{'mean':>12}{'p50':>12}{'p95':>12}{'p99':>12}{'max':>12}")
    for name, figures in _times(summary):
        if figures["count"]:
            row = "".join(f" {figures[key]:11,.3f}" for key in ("mean", "p50", "p95", "p99", "max"))
            lines.append(f"{name:10}{figures['count']:12,}{row}")
    lines.append("")
    lines.append(_energy(summary))
    if (oracle := summary.get("oracle")) and oracle.get("ratio"):
        lines.append(f"oracle    {oracle['energy_j']:,.1f} J; this run took {oracle['ratio']:.3f} times that")
    busy = [drive["busy"] for drive in summary["drives"]]
    commands = sum(drive["commands"] for drive in summary["drives"])
    lines.append(
        f"drives    busy {min(busy):.1%} to {max(busy):.1%}, {commands:,} commands, {summary['spinups']:,} spin-ups"
    )
    if web := summary.get("web"):
        known = web["outcomes"]["from_memory"]
        lines.append(f"web       {web['requests']:,} requests, {known:,} from memory")
    if summary["gears"]:
        lines.append(f"gears     {len(summary['gears']):,} changes")
    lines += [f"warning: {warning}" for warning in summary["warnings"]]
    return "\n".join(lines)


def _odd(summary: Mapping[str, Any]) -> list[tuple[str, int]]:
    placed = summary["placed"]
    return [
        ("are not in the times (warm-up, or asynchronous)", summary["left_out"]),
        ("LOST: no drive holds their data", summary["lost"]),
        ("were beyond the array and wrapped", placed["wrapped"]),
        ("were larger than the array and cut", placed["cut"]),
        ("were no reads or writes and left out", placed["skipped"]),
    ]


def _times(summary: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    web = summary.get("web")
    clients = [] if web is None else [("web first", web["latency_ms"]), ("web last", web["completion_ms"])]
    return [
        *clients,
        ("response", summary["response_ms"]),
        ("  reads", summary["reads"]["response_ms"]),
        ("  writes", summary["writes"]["response_ms"]),
        ("service", summary["service_ms"]),
        ("queue", summary["queue_ms"]),
    ]


def _energy(summary: Mapping[str, Any]) -> str:
    if summary["energy_j"] is None:
        return f"energy    unknown: {summary['energy_reason']}"
    watts = "–" if summary["mean_w"] is None else f"{summary['mean_w']:,.2f}"
    return f"energy    {summary['energy_j']:,.1f} J, mean {watts} W (modelled, not measured)"


def validation_text(answer: Mapping[str, Any]) -> str:
    """A comparison with a measured disk."""
    lines = [f"{answer['drive']}: {answer['requests']:,} requests, times in ms"]
    head = f"{'':8}{'requests':>10}{'measured':>10}{'simulated':>10}{'error':>9}"
    lines.append(f"{head}{'rms':>9}{'rms exact':>10}{'rms/mean':>10}")
    for name, one in (("all", answer), ("reads", answer["reads"]), ("writes", answer["writes"])):
        if one:
            mean = one["measured_mean_ms"]
            error, share = one["simulated_mean_ms"] / mean - 1, one["rms_ms"] / mean
            lines.append(
                f"{name:8}{one['requests']:10,}{mean:10.3f}{one['simulated_mean_ms']:10.3f}{error:+9.1%}"
                f"{one['rms_ms']:9.3f}{one['rms_exact_ms']:10.3f}{share:10.1%}"
            )
    lines += answer["notes"]
    return "\n".join(lines)


def sweep_text(outcome: Outcome) -> str:
    """What a sweep came to."""
    lines = [f"{outcome.finished:,} of {outcome.points:,} points finished"]
    lines += [f"failed: {error}" for error in outcome.errors[:5]]
    if len(outcome.errors) > 5:
        lines.append(f"... and {len(outcome.errors) - 5} more; column error of results.parquet")
    if outcome.status != "complete":
        lines.append("go on with --resume")
    lines += [f"{name}: {path}" for name, path in outcome.files.items()]
    return "\n".join(lines)


@contextmanager
def progress() -> Iterator[SimControl]:
    """How far one run is: a line on a terminal, nothing elsewhere."""
    from rich.console import Console

    from iojoule._native import SimControl

    control = SimControl()
    console = Console(stderr=True)
    if not sys.stderr.isatty():
        yield control
        return
    with (
        console.status("simulating") as status,
        polled(
            lambda: status.update(
                "simulating  {requests:,} requests, {simulated_s:,.0f} s simulated".format(**control.snapshot())
            ),
            POLL_S,
        ),
    ):
        yield control


@contextmanager
def bar(points: int, finished: int) -> Iterator[SimControl]:
    """How far a sweep is, in points: a bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from iojoule._native import SimControl

    control = SimControl()
    columns = (TextColumn("points"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    shown = Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty())
    with shown:
        task = shown.add_task("points", total=points, completed=finished)
        with polled(lambda: shown.update(task, completed=finished + control.snapshot()["requests"]), POLL_S):
            yield control
