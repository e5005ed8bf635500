"""What a run has to show to the rules of a profile, gathered from its manifest and readings, and the verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow.compute as pc

from iojoule.metrics import phase_length as phase_rule
from iojoule.metrics.channels import Channel, Series, channels, scopes, series
from iojoule.metrics.edges import step_at_the_ends
from iojoule.metrics.energy import phase_energy
from iojoule.metrics.metric import MODELLED, Finding, Metric, Span
from iojoule.metrics.profiles import ChannelFacts, RunFacts, Verdict, judge, profile_of

from .data import RunData

LEVELS = {"kept": "ok", "broken": "fail", "unknown": "warning"}


def verdicts(run: RunData, metrics: Sequence[Metric], chosen: Sequence[str | Mapping[str, Any]] = ()) -> list[Verdict]:
    """The verdict of every chosen profile on a run; of those of its experiment where none is chosen."""
    profiles = [profile_of(one) for one in (chosen or run.manifest.get("profiles") or ())]
    if not profiles:
        return []
    facts = facts_of(run, metrics)
    return [verdict for profile in profiles for verdict in judge(profile, facts)]


def phase_length(run: RunData, metrics: Sequence[Metric]) -> list[Finding]:
    """Whether the measured phase was long enough for every meter, with the step of the power that was seen."""
    span = run.phase("measure")
    if span is None or not run.meters:
        return []
    target = float(run.manifest.get("alignment") or phase_rule.TARGET)
    described = [channel for channel in channels(run.meters) if channel.boundary != MODELLED]
    intervals = {str(meter["name"]): float(meter.get("interval_s") or 0.0) for meter in run.meters}
    by_key = {(metric.name, metric.scope): metric.value for metric in metrics}
    found = []
    for name, one in series(run.readings(), described).items() if described else ():
        mean_w = by_key.get(("power_mean", f"channel:{name}"))
        if not mean_w or one.channel.kind == "counter" or not len(one.value):
            continue
        start, end = one.seconds(span.start_ns)
        step_w = step_at_the_ends(start, end, one.watts(), span.seconds)
        shift_s = one.u_time_near(span.start_ns, span.end_ns)
        window_s = max(intervals[one.channel.meter], float(np.median(end - start)))
        needed_s = phase_rule.shortest_s(window_s, shift_s, step_w / mean_w, target)
        if span.seconds < needed_s * (1 - 1e-9):
            text = (
                f"measured for {span.seconds:.3g} s; {name} needs {needed_s:.3g} s: {phase_rule.WINDOWS} windows of "
                f"{window_s:.3g} s, and at most {100 * target:g} % for a shift of {shift_s:.2g} s at a step of "
                f"{step_w:.3g} W"
            )
            found.append(Finding("warning", text))
    return found


def findings(of: Sequence[Verdict]) -> list[Finding]:
    """The verdicts as sentences for `check`."""
    return [Finding(LEVELS[verdict.state], verdict.text) for verdict in of]


def facts_of(run: RunData, metrics: Sequence[Metric]) -> RunFacts:
    """Figures of the measured phase."""
    span = run.phase("measure")
    described = channels(run.meters)
    # These rules are about what the whole system draws: a meter that watches one drive beside it is not held to them.
    counted = {
        part.name
        for scope, _, parts in scopes(described)
        for part in parts
        if scope == "system" and part.boundary != MODELLED
    }
    readings = run.readings()
    read = series(readings, described) if readings.num_rows else {}
    meters = {str(meter["name"]): meter for meter in run.meters}
    found = [
        _channel(read[channel.name], meters[channel.meter], readings, span, run.manifest)
        for channel in described
        if channel.name in counted and channel.name in read and span is not None
    ]
    by_name = {metric.name: metric.value for metric in metrics if not metric.scope}
    served = by_name.get("requests") or by_name.get("iops")
    return RunFacts(
        found,
        measure_s=None if span is None else span.seconds,
        response_ms=by_name.get("completion_from_issued_mean"),
        ranged_before=bool(run.manifest.get("ranges_found_by")),
        same_run=bool(served) and any(len(one.value) for one in read.values()),
        clock_u_s=max((one.u_time_s for one in read.values() if len(one.value)), default=None),
    )


def _channel(
    of: Series, meter: Mapping[str, Any], readings: Any, span: Span, manifest: Mapping[str, Any]
) -> ChannelFacts:
    channel = of.channel
    energy = phase_energy(of, span)
    half = None
    if energy.mean_w is not None and (channel.u_rel is not None or channel.u_abs is not None):
        u_stated = (channel.u_rel or 0.0) * abs(energy.mean_w) + (channel.u_abs or 0.0) + (channel.u_digit or 0.0)
        half = math.sqrt(3) * u_stated
    rows = readings.filter(
        pc.and_(
            pc.and_(
                pc.equal(pc.cast(readings["meter"], "string"), channel.meter),
                pc.equal(pc.cast(readings["channel"], "string"), channel.id),
            ),
            pc.and_(pc.less(readings["start_ns"], span.end_ns), pc.greater(readings["end_ns"], span.start_ns)),
        )
    )
    flags = [str(text or "").split() for text in rows["quality"].to_pylist()]
    stated = np.isfinite(rows["u_value"].to_numpy().astype(np.float64)) if rows.num_rows else np.empty(0, dtype=bool)
    n = len(flags)
    return ChannelFacts(
        channel.name,
        channel.boundary,
        mean_w=energy.mean_w,
        half_width_w=half,
        interval_s=_number(meter.get("interval_s")),
        crest_factor=_crest_factor(meter),
        calibrated_days=_age(meter.get("calibrated"), manifest.get("started_utc")),
        resolution_w=_resolution(of, channel),
        coverage=energy.coverage,
        invalid_share=sum("invalid" in words for words in flags) / n if n else None,
        unknown_share=float((~stated).mean()) if n else None,
        ranges_fixed=_fixed(flags, meter),
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _confirmed(meter: Mapping[str, Any]) -> Mapping[str, Any]:
    found = (meter.get("identity") or {}).get("confirmed")
    return found if isinstance(found, Mapping) else {}


def _crest_factor(meter: Mapping[str, Any]) -> float | None:
    """As the section says it, or as the meter confirmed it."""
    stated = [meter.get("crest_factor"), (meter.get("identity") or {}).get("crest_factor")]
    stated += [value for key, value in _confirmed(meter).items() if "CFAC" in str(key).upper()]
    for value in stated:
        try:
            if value is not None:
                return float(value)
        except (TypeError, ValueError):
            continue
    return None


def _age(calibrated: Any, began: Any) -> float | None:
    try:
        on = date.fromisoformat(str(calibrated))
        return float((datetime.fromisoformat(str(began).replace("Z", "+00:00")).date() - on).days)
    except ValueError:
        return None


def _resolution(of: Series, channel: Channel) -> float | None:
    """The smallest step between values that were seen: the resolution is no coarser. None where all are alike."""
    if channel.kind == "counter":
        return None
    steps = np.diff(np.unique(np.round(of.value[np.isfinite(of.value)], 9)))
    return float(steps.min()) if len(steps) else None


def _fixed(flags: Sequence[Sequence[str]], meter: Mapping[str, Any]) -> bool | None:
    """No reading says that a range changed, and the meter confirmed that it does not choose by itself."""
    if any("range_changed" in words for words in flags):
        return False
    automatic = [str(v).strip().upper() for key, v in _confirmed(meter).items() if "AUTO" in str(key).upper()]
    if not automatic:
        return None
    return all(value in ("0", "OFF") for value in automatic)
