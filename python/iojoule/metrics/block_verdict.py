"""Is a block run to be believed? Errors, corrupt blocks, steady state, Little's law, and what the run really drove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .block import LITTLE_TOLERANCE_PCT
from .cell import Cell
from .metric import Finding, Metric

BROKEN = ("io", "short_io", "corrupt")
"""Errors of the device: IOPS of requests it refused or answered wrongly are no IOPS."""


def block_verdict(
    cell: Cell, manifest: Mapping[str, Any], metrics: Sequence[Metric], fidelity: Sequence[Finding]
) -> list[Finding]:
    """Findings about one run, worst first. `fidelity` is the verdict on its plan, which only an open loop has."""
    engine = manifest.get("engine") or {}
    found = [
        *_served(metrics),
        *_corrupt(engine),
        *_errors(engine, metrics),
        *_steady(engine),
        *([] if cell.closed else fidelity),
        *_little(cell, metrics),
        *_driven(cell, manifest, engine),
    ]
    order = {"fail": 0, "warning": 1, "ok": 2, "note": 3}
    return sorted(found, key=lambda one: order[one.level])


def _value(metrics: Sequence[Metric], name: str, scope: str = "") -> float | None:
    return next((one.value for one in metrics if (one.name, one.scope) == (name, scope)), None)


def _served(metrics: Sequence[Metric]) -> Iterator[Finding]:
    if not _value(metrics, "requests"):
        yield Finding("fail", "no request was issued in the measure phase")


def _corrupt(engine: Mapping[str, Any]) -> Iterator[Finding]:
    for when, said in (("while it ran", engine), ("when all was read back", engine.get("read_back") or {})):
        if count := int(said.get("corrupt") or 0):
            first = "; ".join(str(text) for text in (said.get("corruptions") or ())[:1])
            blocks = f"{count} block{'s' if count != 1 else ''}"
            yield Finding("fail", f"{blocks} held not what was written, found {when}" + (f": {first}" if first else ""))
        elif checked := int(said.get("verified") or 0):
            yield Finding("ok", f"{checked:,} blocks checked {when}, all as written")


def _errors(engine: Mapping[str, Any], metrics: Sequence[Metric]) -> Iterator[Finding]:
    counts = {one.scope: int(one.value or 0) for one in metrics if one.name == "errors"}
    names = ", ".join(f"{name} {count}" for name, count in (engine.get("errnos") or {}).items())
    if broken := sum(counts.get(name, 0) for name in BROKEN):
        kinds = ", ".join(f"{name} {counts[name]}" for name in BROKEN if name in counts)
        yield Finding("fail", f"{broken:,} requests failed: {kinds}" + (f" ({names})" if names else ""))
    if other := {name: count for name, count in counts.items() if name not in (*BROKEN, "dropped")}:
        kinds = ", ".join(f"{name} {count}" for name, count in other.items())
        yield Finding("warning", f"{sum(other.values()):,} requests have no answer: {kinds}")


def _steady(engine: Mapping[str, Any]) -> Iterator[Finding]:
    state = engine.get("steady_state")
    if state is None:
        return
    if not state.get("steady"):
        yield Finding("fail", f"not steady: {state.get('reason') or 'the rule of the steady state was not kept'}")
    elif state.get("left_round"):
        yield Finding("warning", str(state.get("reason")))
    else:
        yield Finding("ok", f"steady from round {state.get('reached_round')} to the end")


def _little(cell: Cell, metrics: Sequence[Metric]) -> Iterator[Finding]:
    outstanding, deviation = _value(metrics, "little_outstanding"), _value(metrics, "little_deviation")
    if outstanding is None or deviation is None:
        return
    text = f"X·R = {outstanding:.4g} requests in flight of {cell.outstanding} asked for ({deviation:+.1f} %)"
    if abs(deviation) <= LITTLE_TOLERANCE_PCT:
        yield Finding("ok", f"Little's law holds: {text}")
    else:
        why = "slots stood empty" if deviation < 0 else "more than there can have been: the phase is short for a stall"
        yield Finding("warning", f"Little's law is off by more than {LITTLE_TOLERANCE_PCT:g} %: {text}; {why}")


def _driven(cell: Cell, manifest: Mapping[str, Any], engine: Mapping[str, Any]) -> Iterator[Finding]:
    load = manifest.get("workload") or {}
    if engine.get("engine") == "threads" and load.get("engine", "io_uring") != "threads":
        yield Finding("warning", "io_uring was not to be had: threads drove the target, at more processor time per I/O")
    if (manifest.get("target") or {}).get("kind") == "null":
        yield Finding("note", "the null target: nothing was driven, the numbers are the engine's own")
    elif cell.direct:
        yield Finding("note", "direct: past the page cache (O_DIRECT)")
    elif cell.direct is not None:
        asked = " although direct access was asked for" if load.get("direct") else ""
        level = "warning" if asked else "note"
        yield Finding(level, f"buffered{asked}: the page cache of the kernel answers what it holds")
