"""Reading run and campaign folders; a folder whose writer was killed is mended first and said to be incomplete."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iojoule.errors import ConfigError, RunFailed
from iojoule.store import imported
from iojoule.store.schema import READINGS, SCHEMA_VERSION
from iojoule.store.writer import hashes, process_stamp


@dataclass(frozen=True)
class PhaseSpan:
    """A phase and its span in host nanoseconds."""

    phase: str
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class RunFolder:
    """One run as it lies on disk."""

    path: Path
    manifest: dict[str, Any]

    @property
    def status(self) -> str:
        return str(self.manifest["status"])

    @property
    def incomplete(self) -> bool:
        return self.status != "complete"

    def events(self) -> list[dict[str, Any]]:
        """Every event in order; a last line that was cut by a kill is left out."""
        path = self.path / "events.jsonl"
        if not path.exists():
            return []
        events = []
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                events.append(json.loads(line))
            except json.JSONDecodeError:
                continue
        return events

    def phases(self) -> list[PhaseSpan]:
        """Phase spans from the events; of a run that was broken off also from what its requests cover."""
        begun: dict[str, int] = {}
        spans: list[PhaseSpan] = []
        for event in self.events():
            if event.get("event") == "phase" and event["edge"] == "begin":
                begun[event["phase"]] = event["ns"]
            elif event.get("event") == "phase":
                spans.append(PhaseSpan(event["phase"], begun.pop(event["phase"]), event["ns"]))
        if self.incomplete:  # broken off within the load, it has told of what came before alone
            told = {span.phase for span in spans}
            spans += [span for span in self._phases_of_requests() if span.phase not in told]
        return spans or self._phases_of_requests()

    def _phases_of_requests(self) -> list[PhaseSpan]:
        table = self.requests(["phase", "planned_ns", "done_ns"])
        if not table.num_rows:
            return []
        table = table.set_column(0, "phase", table["phase"].cast(pa.string()))
        ends = table.group_by("phase").aggregate([("planned_ns", "min"), ("done_ns", "max")]).sort_by("planned_ns_min")
        return [PhaseSpan(r["phase"], r["planned_ns_min"], r["done_ns_max"]) for r in ends.to_pylist()]

    def requests(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The ``requests`` table, or some of its columns; empty where the workload never began."""
        return self._table("requests", columns)

    def readings(self) -> pa.Table:
        """Every reading: those recorded, and those imported afterwards."""
        recorded = self._table("readings", None)
        later = [pq.ParquetFile(path).read() for path in imported.tables(self.path)]
        table = recorded if recorded.num_columns else READINGS.empty_table()
        return pa.concat_tables([table, *later], promote_options="permissive") if later else table

    @property
    def meters(self) -> list[dict[str, Any]]:
        """What describes the meters of ``readings``."""
        return [*(self.manifest.get("meters") or ()), *(one["meter"] for one in self.manifest.get("imports", ()))]

    def _table(self, name: str, columns: Sequence[str] | None) -> pa.Table:
        path = self.path / "tables" / f"{name}.parquet"
        if not path.exists():
            return pa.table({})
        return pq.ParquetFile(path).read(columns=list(columns) if columns else None)

    def verify(self) -> list[str]:
        """Names of tables whose bytes are not those the run wrote."""
        recorded: dict[str, str] = self.manifest.get("files", {})
        found = hashes(self.path, [self.path / name for name in recorded if (self.path / name).exists()])
        return [name for name, digest in recorded.items() if found.get(name) != digest]


@dataclass(frozen=True)
class CampaignFolder:
    """One campaign and its runs in the order they were made."""

    path: Path
    manifest: dict[str, Any]
    runs: list[RunFolder]


def open_run(path: Path) -> RunFolder:
    """The run at ``path``; tables left open by a killed writer are mended."""
    manifest = _manifest(path)
    if manifest.get("kind") != "run":
        raise ConfigError(f"{path} is not the folder of a run")
    if manifest["status"] != "running" or not _alive(manifest):
        from iojoule._native import recover_table

        for footer in sorted(path.glob("tables/*.parquet.footer")):
            recover_table(footer.with_suffix(""))
        if manifest["status"] == "running":
            manifest["status"] = "killed"
    return RunFolder(path, manifest)


def open_campaign(path: Path) -> CampaignFolder:
    """The campaign at ``path``; a run's own folder counts as a campaign of one."""
    manifest = _manifest(path)
    if manifest.get("kind") == "run":
        return CampaignFolder(path, manifest, [open_run(path)])
    if manifest["status"] == "running" and not _alive(manifest):
        manifest["status"] = "killed"
    runs = [open_run(folder.parent) for folder in sorted(path.glob("runs/*/manifest.json"))]
    return CampaignFolder(path, manifest, runs)


def campaign_at(folder: Path) -> Path:
    """``folder`` itself where it is a campaign or a run, else the newest campaign under it."""
    return folder if (folder / "manifest.json").exists() or not folder.is_dir() else latest_campaign(folder)


def latest_campaign(output: Path) -> Path:
    """The newest campaign under ``output``."""
    folders = sorted(p.parent for p in output.glob("*/manifest.json"))
    if not folders:
        raise ConfigError(f"no campaign under {output}; name a folder, or run an experiment first")
    return folders[-1]


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} holds no manifest.json: it is not a run or campaign folder") from None
    except json.JSONDecodeError as error:
        raise RunFailed(f"manifest.json is not JSON: {error}", folder=path) from error
    if manifest.get("schema", 0) > SCHEMA_VERSION:
        raise ConfigError(f"{path} was written by a newer iojoule (schema {manifest['schema']})")
    return manifest


def _alive(manifest: dict[str, Any]) -> bool:
    stamp = manifest.get("process")
    return stamp is not None and process_stamp(int(stamp.split("@")[0])) == stamp
