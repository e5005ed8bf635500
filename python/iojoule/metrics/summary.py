"""All metrics of one run from its tables: what was served, how fast, how faithfully, with how much energy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from .block import block_metrics
from .cell import Cell
from .channels import Channel, Series, channels, scopes, series
from .efficiency import IOS, REQUESTS, efficiencies
from .energy import Energy, above_idle, energies, total
from .fidelity import fidelity
from .idle import idle_spans, together
from .latency import MEASURES, ORIGINS, codes, column, percentiles, succeeded, times_ms
from .metric import Limits, Metric, Span
from .rails import burdens
from .rates import concurrency, in_phase, was_issued

ERRORS = (
    "connect", "timeout", "reset", "http_4xx", "http_5xx", "short_body", "client_stop", "dropped", "protocol", "io",
    "short_io", "corrupt",
)  # fmt: skip


def run_metrics(
    requests: pa.Table,
    readings: pa.Table | None,
    phases: Sequence[Span],
    meters: Sequence[Mapping[str, Any]],
    limits: Limits | Mapping[str, float] | None = None,
    *,
    phase: str = "measure",
    manifest: Mapping[str, Any] | None = None,
) -> list[Metric]:
    """Metrics of `phase` of one run.

    `requests` needs the columns `rates.COLUMNS`, `readings` all of its columns; `meters` are the descriptions of the
    manifest. Without a span for `phase` there are no rates and no energy, only what the requests say. Where the
    `manifest` says that storage was driven, the metrics are those of block load, and the columns `block.COLUMNS` do.
    """
    limit = limits if isinstance(limits, Limits) else Limits.of(limits)
    rows = in_phase(requests, phase)
    span = next((one for one in phases if one.name == phase), None)
    cell = Cell.of(manifest or {})
    engine = (manifest or {}).get("engine") or {}
    if requests_unlogged(manifest or {}):
        found = own_figures(engine)
    elif cell is None:
        found = request_metrics(rows, span) + latency_metrics(rows) + fidelity_metrics(rows, limit)
    else:
        found = success_metrics(rows) + block_metrics(rows, span, cell, manifest or {})
        # A closed loop has no plan: its requests are due when they are issued.
        found += [] if cell.closed else fidelity_metrics(rows, limit)
    if readings is not None and span is not None:
        fine = succeeded(rows)
        megabytes = float(np.sum(rows["bytes"].to_numpy(), where=fine, dtype=np.float64)) / 1e6
        if requests_unlogged(manifest or {}):
            megabytes = engine["bytes_per_s"] * span.seconds / 1e6
        rate = next((one for one in found if one.name == "iops" and not one.scope), None)
        served = int(np.count_nonzero(fine)) if rate is None else round((rate.value or 0.0) * span.seconds)
        found += energy_metrics(readings, meters, span, idle_spans(phases), served, megabytes, rate)
    return found


def requests_unlogged(manifest: Mapping[str, Any]) -> bool:
    """Whether a program of others drove the load and recorded no single requests: only its own figures are known."""
    engine = manifest.get("engine") or {}
    return "requests" in engine and engine["requests"] is None


def own_figures(engine: Mapping[str, Any]) -> list[Metric]:
    """The rates such a program says it reached."""
    note = f"{engine.get('engine')}'s own figure; it logged no requests"
    return [
        Metric("iops", float(engine["iops"]), "1/s", note=note),
        Metric("throughput", float(engine["bytes_per_s"]) / 1e6, "MB/s", note=note),
    ]


def success_metrics(rows: pa.Table) -> list[Metric]:
    """Counts, and the share that succeeded with the reasons of the others."""
    total_rows, good = len(rows), int(np.count_nonzero(succeeded(rows)))
    reasons = np.bincount(codes(rows["error"], ERRORS) + 1, minlength=len(ERRORS) + 1)[1:]
    said = ", ".join(f"{name} {count}" for name, count in zip(ERRORS, reasons, strict=True) if count)
    found = [
        Metric("requests", float(total_rows), "1", u=0.0),
        Metric("success_share", 100 * good / total_rows if total_rows else None, "%", u=0.0, note=said),
    ]
    return found + [
        Metric("errors", float(count), "1", scope=name, u=0.0)
        for name, count in zip(ERRORS, reasons, strict=True)
        if count
    ]


def request_metrics(rows: pa.Table, span: Span | None) -> list[Metric]:
    """Counts, success share with its reasons, rates and concurrency."""
    found = success_metrics(rows)
    if span is None or span.seconds <= 0:
        return found
    good = int(np.count_nonzero(succeeded(rows)))
    size = float(np.sum(rows["bytes"].to_numpy(), dtype=np.float64))
    issued = was_issued(rows)
    at = np.array([span.start_ns, span.end_ns], dtype=np.int64)
    mean, greatest = concurrency(column(rows, "issued_ns")[issued], column(rows, "done_ns")[issued], at)
    return [
        *found,
        Metric("duration", span.seconds, "s"),
        Metric("requests_per_s", good / span.seconds, "1/s", note="successful requests"),
        Metric("throughput", size / 1e6 / span.seconds, "MB/s"),
        Metric("concurrency_mean", float(mean[0]), "1"),
        Metric("concurrency_max", float(greatest[0]), "1"),
    ]


def latency_metrics(rows: pa.Table) -> list[Metric]:
    """Latency and completion time from planned and from issued, of successful requests, in ms."""
    failed = len(rows) - int(np.count_nonzero(succeeded(rows)))
    note = f"{failed} failed requests are not in it" if failed else ""
    return [
        Metric(f"{measure}_from_{origin}_{name}", value, "ms", note=note)
        for measure in MEASURES
        for origin in ORIGINS
        for name, value in percentiles(times_ms(rows, measure, origin)).items()
    ]


def fidelity_metrics(rows: pa.Table, limits: Limits) -> list[Metric]:
    of = fidelity(rows)
    if of is None:
        return []
    return [
        Metric("stretch", of.stretch, "1", note=f"limit {limits.stretch:g}"),
        Metric("lateness_p50", of.lateness_p50_ms, "ms"),
        Metric("lateness_p99", of.lateness_p99_ms, "ms", note=f"limit {limits.lateness_p99_ns / 1e6:g} ms"),
        Metric("lateness_max", of.lateness_max_ms, "ms"),
    ]


def energy_metrics(
    readings: pa.Table,
    meters: Sequence[Mapping[str, Any]],
    span: Span,
    idle: Sequence[Span],
    requests: int,
    megabytes: float,
    iops: Metric | None = None,
) -> list[Metric]:
    """Energy, mean power, idle power, energy above idle and efficiencies of every channel and every declared total.

    `iops` is the rate of a block run, whose efficiencies have other names and are given above idle, too.
    """
    described = channels(meters)
    read = series(readings, described)
    resting = [energies(read.values(), one, {}) for one in idle]
    rest_of = {name: together([one[name] for one in resting]) for name in read} if resting else {}
    active = energies(read.values(), span, rest_of)
    found: list[Metric] = []
    for scope, boundary, parts in scopes(described):
        energy = total(scope, boundary, [(part, active[part.name]) for part in parts])
        whole = _of_energy(energy, scope)
        found += whole
        above: list[Metric] = []
        if resting:
            rests = [total(scope, boundary, [(part, one[part.name]) for part in parts]) for one in resting]
            above = _of_idle(energy, together(rests), scope)
            found += above + (_before_and_after(rests, scope) if len(rests) > 1 else [])
        if scope not in ("system", "drives"):
            continue
        if iops is None:
            found += efficiencies(REQUESTS, requests, megabytes, whole[0])
            continue
        found += efficiencies(IOS, requests, megabytes, whole[0], rate=iops)
        for net in above:
            if net.name == "energy_above_idle":
                found += efficiencies(IOS, requests, megabytes, net, rate=iops, ending="_above_idle")
    for channel in described:
        found += _of_energy(active[channel.name], f"channel:{channel.name}")
    return found + burdens(read.values(), span)


def _of_energy(energy: Energy, scope: str) -> list[Metric]:
    note = energy.note or f"{energy.rule} rule, coverage {energy.coverage:.1%}"
    joule = Metric(
        "energy", energy.joules, "J", scope, energy.u if energy.quotable else None,
        budget=energy.budget, boundary=energy.boundary, note=note,
    )  # fmt: skip
    return [joule, _per_second(joule, energy, "power_mean")]


def _of_idle(active: Energy, rest: Energy, scope: str) -> list[Metric]:
    net = above_idle(active, rest)
    note = net.note or "E − P_idle·T"
    resting = Metric("idle_energy", rest.joules, "J", scope, rest.u, budget=rest.budget, boundary=rest.boundary)
    above = Metric(
        "energy_above_idle", net.joules, "J", scope, net.u if net.quotable else None,
        budget=net.budget, boundary=net.boundary, note=note,
    )  # fmt: skip
    return [_per_second(resting, rest, "idle_power"), above, _per_second(above, net, "power_above_idle")]


def _before_and_after(rests: Sequence[Energy], scope: str) -> list[Metric]:
    """Idle power of the first and the last idle phase."""
    named = (("idle_power_before", rests[0]), ("idle_power_after", rests[-1]))
    return [
        _per_second(
            Metric("idle_energy", one.joules, "J", scope, one.u, budget=one.budget, boundary=one.boundary), one, name
        )
        for name, one in named
    ]


def _per_second(joule: Metric, energy: Energy, name: str) -> Metric:
    """The same quantity divided by the length of its phase."""
    if joule.value is None or energy.seconds <= 0:
        return Metric(name, None, "W", joule.scope, boundary=joule.boundary, note=energy.note)
    t = energy.seconds
    return Metric(
        name, joule.value / t, "W", joule.scope, None if joule.u is None else joule.u / t,
        budget={source: u / t for source, u in joule.budget.items()}, boundary=joule.boundary, note=energy.note,
    )  # fmt: skip


def channel_series(
    readings: pa.Table, meters: Iterable[Mapping[str, Any]]
) -> tuple[dict[str, Series], list[tuple[str, str, list[Channel]]]]:
    """Readings by channel name and the declared totals: what the power pictures are made of."""
    described = channels(meters)
    return series(readings, described), scopes(described)
