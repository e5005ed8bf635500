"""What a report is made from: the runs of a campaign, their tables read only when asked for."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iojoule.metrics.cell import Cell
from iojoule.metrics.metric import Limits, Span
from iojoule.store.reader import RunFolder, open_campaign

Requests = Callable[[Sequence[str]], pa.Table]
Readings = Callable[[], pa.Table]

REQUEST_TYPES = {
    "phase": pa.string(), "op": pa.string(), "error": pa.string(), "seq": pa.uint64(), "planned_ns": pa.int64(),
    "issued_ns": pa.int64(), "first_byte_ns": pa.int64(), "done_ns": pa.int64(), "object": pa.uint32(),
    "offset": pa.uint64(), "bytes": pa.uint64(), "status": pa.uint16(), "stream": pa.uint32(),
}  # fmt: skip


@dataclass(frozen=True)
class RunData:
    """One run. `requests(columns)` and `readings()` read the tables; both give an empty table where there is none.

    `status` is complete, failed, interrupted, running or killed; `events` are the lines of events.jsonl.
    """

    name: str
    target: str
    workload: str
    repeat: int
    parameters: Mapping[str, Any]
    status: str
    manifest: Mapping[str, Any]
    phases: Sequence[Span]
    meters: Sequence[Mapping[str, Any]]
    requests: Requests
    readings: Readings
    events: Sequence[Mapping[str, Any]] = ()

    @property
    def limits(self) -> Limits:
        return Limits.of(self.manifest.get("limits"))

    @property
    def cell(self) -> Cell | None:
        """What a run of block load was asked for; None for every other run."""
        return Cell.of(self.manifest)

    @property
    def simulated(self) -> bool:
        """Its clock was a model's, and so is every watt."""
        return bool(self.manifest.get("simulated"))

    @property
    def made_meters(self) -> list[str]:
        """Names of its meters that were instruments of the laboratory."""
        return [str(meter.get("name")) for meter in self.meters if (meter.get("identity") or {}).get("laboratory")]

    @property
    def ranging(self) -> bool:
        """It was made to find the ranges of meters: what it measured, with autorange, enters no figure."""
        return (self.manifest.get("step") or {}).get("role") == "ranging"

    def phase(self, name: str) -> Span | None:
        return next((span for span in self.phases if span.name == name), None)


@dataclass(frozen=True)
class CampaignData:
    """A campaign: its runs in the order they were made. The first target is the baseline of every comparison."""

    experiment: str
    description: str
    status: str
    runs: Sequence[RunData]
    manifest: Mapping[str, Any] = field(default_factory=dict)
    experiment_text: str = ""
    folder: str = ""


def load_campaign(folder: Path) -> CampaignData:
    """The campaign at `folder`; a single run's folder counts as a campaign of one. ConfigError where it is neither."""
    campaign = open_campaign(folder)
    written = folder / "experiment.toml"
    text = written.read_text(encoding="utf-8") if written.exists() else ""
    manifest = campaign.manifest
    name = manifest.get("experiment") or folder.name
    return CampaignData(
        experiment=str(name),
        description=str(manifest.get("description") or _description(text)),
        status=str(manifest.get("status", "")),
        runs=[run_data(run) for run in campaign.runs],
        manifest=manifest,
        experiment_text=text,
        folder=folder.name,
    )


def run_data(run: RunFolder) -> RunData:
    """A run folder as the report sees it."""
    manifest = run.manifest
    step = manifest.get("step") or {}
    events = run.events()
    return RunData(
        name=run.path.name,
        target=str(step.get("target", "target")),
        workload=str(step.get("workload", "workload")),
        repeat=int(step.get("repeat", 1)),
        parameters=dict(step.get("parameters") or {}),
        status=run.status,
        manifest=manifest,
        phases=_spans(run, events),
        meters=run.meters,
        requests=lambda columns: _requests(run, columns),
        readings=run.readings,
        events=events,
    )


def _spans(run: RunFolder, events: Sequence[Mapping[str, Any]]) -> list[Span]:
    """Phase spans; one that was begun and never ended is closed at the last thing that was recorded."""
    spans = [Span(one.phase, one.begin_ns, one.end_ns) for one in run.phases()]
    known = {span.name for span in spans}
    marks = [event for event in events if event.get("event") == "phase"]
    for event in marks:
        if event["edge"] == "begin" and event["phase"] not in known:
            last = [int(event["ns"]), *(int(e["ns"]) for e in events)]
            for table, column in ((_requests(run, ["done_ns"]), "done_ns"), (run.readings(), "end_ns")):
                if table.num_rows:
                    last.append(int(pc.max(table[column]).as_py()))
            spans.append(Span(event["phase"], int(event["ns"]), max(last)))
    return spans


def _requests(run: RunFolder, columns: Sequence[str]) -> pa.Table:
    table = run.requests(columns)
    if table.num_columns:
        return table
    return pa.table({name: pa.array([], REQUEST_TYPES[name]) for name in columns})


def _description(text: str) -> str:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return ""
    section = document.get("experiment", document)
    return str(section.get("description", "")) if isinstance(section, dict) else ""


def plain(document: Any) -> str:
    """A value of a manifest as one line of text."""
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False, default=str)
