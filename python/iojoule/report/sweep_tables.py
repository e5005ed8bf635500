"""Tables of a sweep: the layout of tables 4 and 5 of Issa and Kassem, fitted laws, the audit, systems side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iojoule.metrics.block import LITTLE_TOLERANCE_PCT
from iojoule.metrics.efficiency import pair_efficiency
from iojoule.metrics.metric import MODELLED, Estimate
from iojoule.metrics.repeats import difference

from .numbers import percent, plain, with_uncertainty
from .sweep import Point, Sweep
from .tables import Row, Table
from .words import boundary_text

HOLDS, FAILS = "✓", "✗"


def per_watt_table(sweep: Sweep) -> Table:
    """Pattern, IOPS, CPU %, latency, watt, perf/watt of the deepest queue of each line, as tables 4 and 5."""
    rows: list[Row] = []
    for target in sweep.targets:
        rows.append(Row([target], "section"))
        rows += [_per_watt(point) for point in sweep.deepest if point.group.target == target]
    head = ["pattern", "queue depth", "IOPS", "CPU (%)", "latency (ms)", "watt", "perf/watt (IOPS/W)", "N = X·R",
            "power"]  # fmt: skip
    note = (
        "Means over the repeats with ± U (k = 2, or the 95 % interval of the repeats where that is larger). CPU is of "
        "the whole host where it was recorded, else of the engine. Latency is the mean from issue. "
        f"{HOLDS}: rate × latency is the queue depth within {LITTLE_TOLERANCE_PCT:g} %; {FAILS}: it is not, and one of "
        "the two is not what the cell was asked for."
    )
    return Table("Performance per watt at the deepest queue", head, rows, note)


def _per_watt(point: Point) -> Row:
    cpu = point.of("cpu_system") or point.of("cpu_engine")
    cells = [
        f"{point.label}, {point.cell.size_label}", str(point.depth), _text(point.of("iops")), _text(cpu, 3),
        _text(point.of("completion_from_issued_mean")), _text(point.of("power_mean", "system")),
        _text(point.of("iops_per_w", "system")), mark(point), boundary_text(point.boundary) or "–",
    ]  # fmt: skip
    return Row(cells, "modelled" if MODELLED in point.boundary else "")


def mark(point: Point) -> str:
    """Whether Little's law holds in a cell, and how far off it is where it does not."""
    deviation = point.value("little_deviation")
    if deviation is None:
        return "–"
    return HOLDS if abs(deviation) <= LITTLE_TOLERANCE_PCT else f"{FAILS} {percent(deviation)}"


def laws_table(sweep: Sweep) -> Table | None:
    """The law of the rate through each line, with 95 % intervals and the error at depths it has not seen."""
    rows = []
    for line in sweep.lines:
        if (found := line.laws) is None:
            continue
        law = found.law
        beta = "–" if found.usl is None else ("held at 0" if found.usl.clamped else f"{found.usl.beta:.2g}")
        cells = [
            line.name, with_uncertainty(law.a_ms, law.a_half_ms), with_uncertainty(law.b_ms, law.b_half_ms),
            _interval(law.x_max_per_s, law.x_max_interval_per_s),
            with_uncertainty(law.knee_q, law.knee_half) if law.b_ms > 0 else "none: b ≤ 0",
            _share(law.mape_pct), _share(law.leave_one_out_pct), beta,
        ]  # fmt: skip
        rows.append(Row(cells))
    if not rows:
        return None
    head = ["series", "a (ms)", "b (ms)", "X_max (IOPS)", "knee (depth)", "fits to", "left out", "β"]
    note = (
        "1/IOPS = a + b/Q (Amdahl), so latency = aQ + b; X_max = 1/a, knee = (a + b)/a. ± is half of the 95 % interval "
        "of the fit. Left out: mean error in predicting each depth from the others alone. β is the coherency of the "
        "universal scalability law with β ≥ 0; held at 0 where a free fit would want it below. Where b ≤ 0 the rate "
        "does not grow with the depth and the law does not describe the device."
    )
    return Table("Fitted laws: rate over queue depth", head, rows, note)


def power_laws_table(sweep: Sweep) -> Table | None:
    """The law of the power through each line, and the error of the IOPS/W it gives at depths it has not seen."""
    rows = []
    for line in sweep.lines:
        if line.laws is None or (power := line.laws.power) is None:
            continue
        last = 2 * line.points[-1].depth
        ahead = power.efficiency(last)
        cells = [
            line.name, with_uncertainty(power.idle_w, power.fit.half((1.0, 0.0))),
            with_uncertainty(power.delta_w, power.fit.half((0.0, 1.0))), _share(power.leave_one_out_pct),
            _share(line.laws.held_back_pct),
            f"depth {last}: {with_uncertainty(ahead.iops_per_w, ahead.half_iops_per_w)}",
            boundary_text(line.points[-1].boundary),
        ]  # fmt: skip
        rows.append(Row(cells, "modelled" if line.modelled else ""))
    if not rows:
        return None
    head = ["series", "P_idle (W)", "ΔP (W)", "W left out", "IOPS/W left out", "predicted IOPS/W", "power"]
    note = (
        "P = P_idle + ΔP · IOPS/X_max. ± is half of the 95 % interval of the fit; the accuracy of the meter comes on "
        "top. Left out: mean error in predicting each depth from the others alone, of both laws for IOPS/W. The "
        "prediction is for twice the deepest queue measured."
    )
    return Table("Fitted laws: power over queue depth", head, rows, note)


def _interval(value: float, ends: tuple[float, float | None] | None) -> str:
    if ends is None:
        return plain(value)
    low, high = ends
    return f"{plain(value)} ({plain(low)} … {'no bound' if high is None else plain(high)})"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{plain(value, 2)} %"


def audit_table(sweep: Sweep) -> Table:
    """Little's law in every cell."""
    rows = []
    for line in sweep.lines:
        for point in line.points:
            outstanding, deviation = point.value("little_outstanding"), point.value("little_deviation")
            if outstanding is None or deviation is None:
                continue
            rate = point.value("iops") or 0.0
            cells = [
                line.name, str(point.depth), _text(point.of("iops")), _text(point.of("completion_from_issued_mean")),
                plain(outstanding), percent(deviation), plain(1000 * point.depth / rate if rate else None), mark(point),
            ]  # fmt: skip
            rows.append(Row(cells, "bad" if abs(deviation) > LITTLE_TOLERANCE_PCT else ""))
    head = ["series", "queue depth", "IOPS", "latency (ms)", "X·R (in flight)", "deviation", "Q/X (ms)", "verdict"]
    note = (
        "N = X·R: what was in flight is rate times latency. Below the depth, slots stood empty between two requests; "
        "above it, rate and latency cannot both be right."
    )
    return Table("Little's law, cell by cell", head, rows, note)


def cells_table(sweep: Sweep) -> Table:
    """Every cell with what was measured of it."""
    rows = []
    for line in sweep.lines:
        rows.append(Row([line.name], "section"))
        for p in line.points:
            cells = [str(p.depth), str(sum(one.run.status == "complete" for one in p.group.runs))]
            cells += [_text(p.of(name, scope), 4) for name, scope, _ in CELL_COLUMNS]
            rows.append(Row([*cells, boundary_text(p.boundary) or "–"], "modelled" if MODELLED in p.boundary else ""))
    head = ["queue depth", "n", *(text for _, _, text in CELL_COLUMNS), "power"]
    return Table("All cells", head, rows)


CELL_COLUMNS = (
    ("iops", "", "IOPS"),
    ("throughput", "", "MB/s"),
    ("completion_from_issued_p50", "", "latency, median (ms)"),
    ("completion_from_issued_p99", "", "99 % (ms)"),
    ("cpu_system", "", "CPU of the host (%)"),
    ("cpu_engine", "", "of the engine (%)"),
    ("power_mean", "system", "W"),
    ("power_above_idle", "system", "W above idle"),
    ("iops_per_w", "system", "IOPS/W"),
    ("iops_per_w_above_idle", "system", "IOPS/W above idle"),
    ("mb_per_j", "system", "MB/J"),
    ("j_per_io", "system", "J per I/O"),
)


def systems_table(sweep: Sweep) -> Table | None:
    """Devices side by side at the deepest queue, in percent of the first."""
    if len(sweep.targets) < 2:
        return None
    first, rows = sweep.targets[0], []
    at = {(p.group.target, p.label, p.cell.size_label, p.depth): p for p in sweep.deepest}
    for other in sweep.targets[1:]:
        rows.append(Row([f"{other} against {first}"], "section"))
        for (target, label, size, depth), base in at.items():
            side = at.get((other, label, size, depth))
            if target == first and side is not None:
                rows += list(_side_by_side(f"{label}, {size}, depth {depth}", base, side))
    head = ["cell", "metric", first, "other", "difference (95 %)", "beyond the scatter of repeats?", "boundary"]
    note = "Welch's test on the repeats; gain and offset of an instrument that watched both cancel."
    return Table("Systems side by side", head, rows, note)


def _side_by_side(name: str, base: Point, other: Point) -> Iterator[Row]:
    for metric, scope, text in (("iops", "", "IOPS"), ("completion_from_issued_mean", "", "latency (ms)"),
                                ("power_mean", "system", "W"), ("iops_per_w", "system", "IOPS/W")):  # fmt: skip
        a, b = base.of(metric, scope), other.of(metric, scope)
        if a is None or b is None or a.mean is None or b.mean is None:
            continue
        d = difference(a, b)
        kind = "" if not d.significant or d.better is None else ("good" if d.better else "bad")
        said = {True: "yes", False: "no", None: "one repeat: not tested"}[d.significant]
        where = boundary_text(a.boundary) if a.boundary == b.boundary else "different boundaries"
        yield Row([name, text, _text(a), _text(b), percent(d.percent, d.percent_ci95), said, where], kind)
        name = ""


def pairs_table(sweep: Sweep) -> Table | None:
    """MB/J of reading and writing as one number, in the three ways that are in use."""
    rows = []
    points = {(p.group.target, p.label, p.cell.size_label, p.depth): p for p in sweep.deepest}
    for (target, label, size, depth), read in points.items():
        write = points.get((target, label.replace(" read", " write"), size, depth))
        if not label.endswith(" read") or write is None:
            continue
        values = [p.value(*key) for p in (read, write) for key in (("throughput", ""), ("power_mean", "system"))]
        if any(value is None or value <= 0 for value in values) or read.boundary != write.boundary:
            continue
        three = pair_efficiency(*(value or 0.0 for value in values))
        cells = [f"{target}, {label.removesuffix(' read')}, {size}, depth {depth}"]
        cells += [plain(one) for one in (three.mean_of_ratios, three.pooled, three.equal_bytes)]
        rows.append(Row([*cells, boundary_text(read.boundary)], "modelled" if MODELLED in read.boundary else ""))
    if not rows:
        return None
    head = ["reading and writing", "mean of ratios (MB/J)", "pooled (MB/J)", "equal bytes (MB/J)", "power"]
    note = (
        "mean of ratios: (Tr/Pr + Tw/Pw)/2. Pooled: (Tr + Tw)/(Pr + Pw), both for the same time. Equal bytes: "
        "2/(Pr/Tr + Pw/Tw), as much read as written."
    )
    return Table("Reading and writing as one number", head, rows, note)


def sweep_tables(sweep: Sweep) -> Sequence[tuple[Table, bool]]:
    """The tables in their order; True where it is folded."""
    optional = [
        (laws_table(sweep), False),
        (power_laws_table(sweep), False),
        (systems_table(sweep), False),
        (pairs_table(sweep), False),
    ]
    return [
        (per_watt_table(sweep), False),
        *((table, folded) for table, folded in optional if table is not None),
        (audit_table(sweep), True),
        (cells_table(sweep), True),
    ]


def _text(one: Estimate | None, digits: int = 4) -> str:
    if one is None or one.mean is None:
        return "–"
    return with_uncertainty(one.mean, one.expanded) if one.expanded else plain(one.mean, digits)
