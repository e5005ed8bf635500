"""Sentences about block load: best operating points of a sweep, what a single load achieved, the audit of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iojoule.metrics.block import LITTLE_TOLERANCE_PCT
from iojoule.metrics.cell import Cell
from iojoule.metrics.metric import Finding

from .numbers import plain, quoted
from .reduce import Group, RunResult
from .sweep import Panel, Point, Sweep
from .words import boundary_text

NAMED = 4
"""Runs or cells named in one sentence."""


def sweep_results(sweep: Sweep) -> Iterator[Finding]:
    """Of each device and pattern the most work per watt, and what cannot be told from it."""
    for panel in sweep.panels:
        if text := _best(panel):
            yield Finding("result", text)
    if all(panel.best is None for panel in sweep.panels):
        for panel in sweep.panels:
            top = max(panel.points, key=lambda point: point.value("iops") or 0.0)
            rate = top.of("iops")
            if rate is not None and rate.mean is not None:
                text = f"{panel.target}, {panel.label}: at most {quoted(rate.mean, rate.expanded, 'IOPS')}"
                yield Finding("result", f"{text} ({_cell(top)}).")
    held = [line.laws.held_back_pct for line in sweep.lines if line.laws and line.laws.held_back_pct is not None]
    left = [
        line.laws.law.leave_one_out_pct
        for line in sweep.lines
        if line.laws and line.laws.law.leave_one_out_pct is not None
    ]
    if left:
        text = (
            "The law 1/IOPS = a + b/Q predicts the rate at depths it has not seen to "
            f"{plain(sum(left) / len(left), 2)} % on average (worst series {plain(max(left), 2)} %)"
        )
        if held:
            text += f", and with P = P_idle + ΔP · IOPS/X_max the IOPS/W to {plain(sum(held) / len(held), 2)} %"
        yield Finding("result", text + ".")


def _best(panel: Panel) -> str:
    if panel.best is None:
        return ""
    top = panel.points[panel.best.place]
    work, rate, power = top.of("iops_per_w", "system"), top.of("iops"), top.of("power_mean", "system")
    if work is None or work.mean is None:
        return ""
    text = f"{panel.target}, {panel.label}: most work per watt at {_cell(top)}, {quoted(work.mean, work.expanded, '')}"
    text += " IOPS/W"
    if rate is not None and power is not None and rate.mean is not None and power.mean is not None:
        text += f" ({plain(rate.mean)} IOPS at {plain(power.mean)} W, {boundary_text(power.boundary)})"
    near = [point for point in panel.best_points if point is not top]
    if not panel.best.tested:
        return text + "; one repeat and no accuracy: whether others are as good cannot be told."
    if not near:
        return text + "; no other cell is as good."
    named = ", ".join(_cell(point).replace(", ", " at ") for point in near[:NAMED])
    more = f" and {len(near) - NAMED} more" if len(near) > NAMED else ""
    return f"{text}; {named}{more} cannot be told from it."


def _cell(point: Point) -> str:
    return f"{point.cell.size_label}, depth {point.depth}"


def block_result(group: Group) -> str:
    """What one load achieved, as a sentence without its end; empty where it achieved nothing."""
    rate, cell = group.estimate("iops"), group.runs[0].run.cell
    if rate is None or rate.mean is None or cell is None:
        return ""
    if cell.kind == "access_time":
        return _access_time(group, cell)
    depth = f", depth {cell.outstanding}" if cell.outstanding else ", open loop"
    text = f"{group.target} did {quoted(rate.mean, rate.expanded, 'IOPS')}"
    through = group.estimate("throughput")
    if through is not None and through.mean is not None:
        text += f", {plain(through.mean)} MB/s"
    text += f" ({cell.label}, {cell.size_label}{depth})"
    power, work = group.estimate("power_mean", "system"), group.estimate("iops_per_w", "system")
    if power is not None and power.mean is not None:
        text += f" at {quoted(power.mean, power.expanded, 'W')} ({boundary_text(power.boundary)})"
    if work is not None and work.mean is not None:
        text += f": {quoted(work.mean, work.expanded, 'IOPS/W')}"
    slow = group.estimate("completion_from_planned_p99")
    if slow is not None and slow.mean is not None:
        text += f", 99 % of them done within {plain(slow.mean, 3)} ms"
    return text


def _access_time(group: Group, cell: Cell) -> str:
    """As h2benchw states it: least, mean and greatest."""
    times = [group.estimate(f"completion_from_issued_{name}") for name in ("min", "mean", "max")]
    values = [quoted(one.mean, one.expanded, "ms") if one and one.mean is not None else "–" for one in times]
    said = f"at least {values[0]}, on average {values[1]}, at most {values[2]}"
    return f"{group.target} has an access time of {said} ({cell.label}, {cell.size_label})"


def block_doubts(runs: Sequence[RunResult]) -> Iterator[Finding]:
    """What weakens block runs, the same thing of many runs in one sentence; Little's law over all of them."""
    told: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for one in runs:
        for finding in one.findings:
            if "Little" not in finding.text and finding.level != "ok":
                kind = finding.text.partition(":")[0]
                key = (finding.level, kind if any(c.isalpha() for c in kind) else finding.text)
                told.setdefault(_numberless(key), []).append((one.run.name, finding.text))
    for (level, _), entries in told.items():
        names = [name for name, _ in entries]
        text = entries[0][1]
        if len(names) == len(runs) and len(runs) > 1:
            where = "all runs"
        else:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            where = ", ".join(names[:NAMED]) + more
        first = " The first of them is quoted." if len({text for _, text in entries}) > 1 else ""
        yield Finding(level, f"{text[:1].upper()}{text[1:]} ({where}).{first}")
    yield from _audit(runs)


def _numberless(key: tuple[str, str]) -> tuple[str, str]:
    return key[0], "".join(c for c in key[1] if not c.isdigit())


def _audit(runs: Sequence[RunResult]) -> Iterator[Finding]:
    off = [
        (metric.value, one.run.name)
        for one in runs
        if (metric := one.metric("little_deviation")) is not None and metric.value is not None
    ]
    if not off:
        return
    broken = sorted((entry for entry in off if abs(entry[0]) > LITTLE_TOLERANCE_PCT), key=lambda e: -abs(e[0]))
    if not broken:
        worst = max(abs(value) for value, _ in off)
        text = f"Little's law holds in all {len(off)} runs: rate × latency is the queue depth within"
        yield Finding("ok", f"{text} {plain(worst, 2)} %.")
        return
    value, name = broken[0]
    why = (
        "slots stood empty between requests"
        if value < 0
        else "more than there can have been, the phase is short for a stall"
    )
    yield Finding(
        "warning",
        f"Little's law is off by more than {LITTLE_TOLERANCE_PCT:g} % in {len(broken)} of {len(off)} runs, most in "
        f"{name} ({value:+.1f} %: {why}).",
    )
