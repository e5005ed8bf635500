"""Writing run and campaign folders so that a kill at any moment leaves them readable.

Manifests are replaced in one step; events are appended and flushed line by line; readings go through the engine's
``TableWriter``, which keeps a footer beside the file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from iojoule.errors import IojouleError, RunFailed
from iojoule.store.host_clock import Pair, step_s
from iojoule.store.schema import READINGS, SCHEMA_VERSION

COMMIT_S = 1.0
"""Seconds of readings a kill may lose."""

MOST_ROWS = 10_000
"""Readings that wait in memory before they are written, whatever the time."""

RESERVE = ".reserve"
RESERVE_BYTES = 1 << 17
"""Space kept back in every open folder, so that a full disk leaves room to say why the run ended."""


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace ``path`` in one step: a reader sees the old document or the new one, never half of either."""
    fresh = path.with_name(path.name + ".new")
    fresh.write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")
    fresh.replace(path)


def process_stamp(pid: int) -> str | None:
    """Pid and start time of a process, which together never name another one; None where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return None
    return f"{pid}@{fields[19]}"


class _Folder:
    """A folder with a manifest that says ``running`` until it is closed."""

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self._create()
        self._persist(lambda: (path / RESERVE).write_bytes(os.urandom(RESERVE_BYTES)))
        self.manifest: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "status": "running",
            "exit": None,
            "process": process_stamp(os.getpid()),
            "started_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            **facts,
        }
        self.save()

    def _create(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=False)
        except FileExistsError:
            raise RunFailed("the folder exists already; nothing is overwritten", folder=self.path) from None
        except OSError as error:
            raise RunFailed(f"cannot create the folder: {error.strerror}", folder=self.path) from error

    def save(self) -> None:
        self._persist(lambda: write_json(self.path / "manifest.json", self.manifest))

    def _persist(self, act: Callable[[], object]) -> None:
        """Write; where the disk is full, into the reserve: what stopped a run must still find a place."""
        try:
            act()
        except OSError as error:
            reserve = self.path / RESERVE
            if error.errno != errno.ENOSPC or not reserve.exists():
                raise RunFailed(f"cannot write: {error.strerror}", folder=self.path) from error
            reserve.unlink()
            self._persist(act)


class CampaignWriter(_Folder):
    """The folder of the runs of one plan."""

    @classmethod
    def create(cls, output: Path, experiment: str, facts: Mapping[str, Any]) -> CampaignWriter:
        """A fresh folder ``<UTC-stamp>_<experiment>_<id>`` under ``output``."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        name = f"{stamp}_{experiment}_{os.urandom(3).hex()}"
        return cls(output / name, {"kind": "campaign", "experiment": experiment, "runs": [], **facts})

    @classmethod
    def reopen(cls, path: Path, manifest: dict[str, Any]) -> CampaignWriter:
        """The writer of a campaign that was interrupted and goes on."""
        campaign = cls.__new__(cls)
        campaign.path, campaign.manifest = (
            path,
            {
                **manifest,
                "status": "running",
                "exit": None,
                "process": process_stamp(os.getpid()),
            },
        )
        campaign.save()
        return campaign

    def write_text(self, name: str, text: str) -> None:
        (self.path / name).write_text(text, encoding="utf-8")

    def write_document(self, name: str, document: Mapping[str, Any]) -> None:
        write_json(self.path / name, document)

    def close(self, status: str, exit_code: int) -> None:
        self.manifest |= {"status": status, "exit": exit_code, "ended_utc": datetime.now(UTC).isoformat()}
        self.save()
        (self.path / RESERVE).unlink(missing_ok=True)


class RunWriter(_Folder):
    """The folder of one run. Use as a context: leaving it always writes the stop document."""

    def __init__(self, path: Path, facts: Mapping[str, Any]) -> None:
        self._pair = Pair.now()
        super().__init__(path, {"kind": "run", "clock_pairs": [self._pair.plain()], **facts})
        for folder in ("tables", "hist", "raw"):
            (path / folder).mkdir()
        self._events = (path / "events.jsonl").open("ab", buffering=0)
        self._readings = _Readings(path / "tables" / "readings.parquet")
        self.status, self.exit_code = "failed", 4

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.event("error", text=f"{type(error).__name__}: {error}")
            self.manifest["error"] = str(error)
        self.close()

    def event(self, event: str, *, ns: int | None = None, **fields: Any) -> None:
        """Append one event at host time ``ns`` (now, if not given)."""
        stamp = time.monotonic_ns() if ns is None else ns
        line = (json.dumps({"ns": stamp, "event": event, **fields}) + "\n").encode()
        self._persist(lambda: self._events.write(line))

    def phase(self, name: str, begin_ns: int, end_ns: int) -> None:
        self.event("phase", ns=begin_ns, phase=name, edge="begin")
        self.event("phase", ns=end_ns, phase=name, edge="end")

    def tick(self) -> None:
        """To be called often: sees when the host's clock is set, keeps clock pairs every 60 s and on both sides of such
        a step, and lets readings survive a kill."""
        before, self._pair = self._pair, Pair.now()
        kept = self.manifest["clock_pairs"]
        if (stepped := step_s(before, self._pair)) is not None:
            kept += [before.plain(), self._pair.plain()]
            self.save()
            text = f"host clock stepped by {stepped:+.3f} s; the times of the run are monotonic and did not move"
            self.event("warning", text=text, host_clock_step_s=stepped)
        elif self._pair.monotonic_ns - kept[-1][0] >= 60_000_000_000:
            kept.append(self._pair.plain())
            self.save()
        self._readings.commit_if_due()

    def readings(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add readings; each row has the columns of ``schema.READINGS``."""
        self._readings.add(rows)

    def close(self) -> None:
        """Close the tables, hash the files, write the stop document."""
        try:
            self._readings.close()
        except IojouleError as error:
            # A table that cannot be closed stays readable up to its last commit.
            self.event("error", text=str(error))
        self._mend()
        self.manifest["clock_pairs"].append(Pair.now().plain())
        self.event("stop", status=self.status)
        self._events.close()
        self.manifest |= {
            "status": self.status,
            "exit": self.exit_code,
            "ended_utc": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "files": hashes(self.path, self.path.glob("tables/*.parquet")),
        }
        self.save()
        (self.path / RESERVE).unlink(missing_ok=True)

    def _mend(self) -> None:
        """Put the last footer under tables whose writer broke off, so that what is hashed is what will be read."""
        from iojoule._native import recover_table

        for footer in sorted(self.path.glob("tables/*.parquet.footer")):
            try:
                recover_table(footer.with_suffix(""))
            except IojouleError as error:
                self.event("error", text=str(error))


class _Readings:
    def __init__(self, path: Path) -> None:
        from iojoule._native import TableWriter

        self._table = TableWriter(path, READINGS.empty_table())
        self._committed = time.monotonic()
        self._rows: list[Mapping[str, Any]] = []
        self._fresh = False

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        # Made into columns together: a table for each message of a meter would take the processor from the load.
        self._rows += rows
        if len(self._rows) >= MOST_ROWS:
            self._write()

    def commit_if_due(self) -> None:
        if (self._rows or self._fresh) and time.monotonic() - self._committed >= COMMIT_S:
            self._write()
            self._table.commit()
            self._committed, self._fresh = time.monotonic(), False

    def close(self) -> None:
        try:
            self._write()
        finally:
            self._table.close()

    def _write(self) -> None:
        if self._rows:
            self._table.write(pa.Table.from_pylist(self._rows, schema=READINGS))
            self._rows, self._fresh = [], True


def hashes(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """SHA-256 of each file, keyed by its path under ``root``."""
    digests = {}
    for path in sorted(files):
        with path.open("rb") as file:
            digests[str(path.relative_to(root))] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests
