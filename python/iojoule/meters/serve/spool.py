"""Readings on disk until clients have them: numbered, bounded, safe against a killed server and a full disk.

SQLite in WAL mode: what ``append`` returned from survives SIGKILL (a loss of power may cost the last second). When the
bound is reached the oldest readings go, and a client that did not have them is told how many. When the disk is full,
readings wait in memory, as many as ``WAITING_LIMIT``, and are written once there is room.
"""

from __future__ import annotations

import fcntl
import json
import math
import sqlite3
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

#: Readings kept in memory while the disk does not take them.
WAITING_LIMIT = 100_000
#: Seconds of readings that a loss of power may cost.
DURABLE_S = 1.0
#: Share of the bound that is freed at a time.
_FREED = 16

_TABLES = """
CREATE TABLE IF NOT EXISTS epochs (no INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, clock TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS counts (epoch INTEGER, meter TEXT, rows INTEGER NOT NULL, PRIMARY KEY (epoch, meter));
CREATE TABLE IF NOT EXISTS readings (id INTEGER PRIMARY KEY AUTOINCREMENT, meter TEXT NOT NULL, epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL, end_ns INTEGER NOT NULL, row TEXT NOT NULL, UNIQUE (meter, epoch, seq));
"""


class SpoolInUse(Exception):  # noqa: N818
    """Another server has this spool."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Up to where somebody has a meter's readings: number of the epoch, number of the reading in it (-1: none)."""

    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class Stored:
    """One reading as it is kept; ``row`` is that of ``wire``, as JSON."""

    meter: str
    position: Position
    end_ns: int
    row: str


class Spool:
    """``folder`` None keeps everything in memory (laboratory). ``limit_bytes`` bounds the rows, not the file.

    ``clock`` names the clock the windows are on: readings of different clocks (boots) are never compared by time.
    """

    def __init__(self, folder: Path | None, clock: str, limit_bytes: int = 64 << 20) -> None:
        self.limit_bytes, self.clock = limit_bytes, clock
        self._lock = threading.Lock()
        self._held: IO[bytes] | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._held = (folder / "lock").open("ab")
            try:
                fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise SpoolInUse(f"{folder} is the spool of a server that runs") from error
        path = str(folder / "readings.sqlite") if folder else ":memory:"
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA journal_size_limit={max(1 << 20, limit_bytes // 8)}")
        self._db.executescript(_TABLES)
        self.epoch = uuid.uuid4().hex
        self._no = int(self._db.execute("SELECT coalesce(max(no), 0) + 1 FROM epochs").fetchone()[0])
        self._db.execute("INSERT INTO epochs VALUES (?, ?, ?)", (self._no, self.epoch, clock))
        self._bytes = int(self._db.execute("SELECT coalesce(sum(length(row)), 0) FROM readings").fetchone()[0])
        self._count: dict[str, int] = {}
        self._durable_at = -math.inf
        self._waiting: deque[Stored] = deque()
        #: Why the disk does not take readings at the moment; empty when it does.
        self.trouble = ""
        #: Told the positions that were dropped to stay within the bound.
        self.on_drop: Callable[[str, Position], None] = lambda meter, position: None

    def append(self, meter: str, rows: Sequence[tuple[int, Any]]) -> None:
        """Number and keep ``(end_ns, row)`` of one meter, in order. Never raises for the disk: see ``trouble``."""
        with self._lock:
            for end_ns, row in rows:
                seq = self._count.get(meter, 0)
                self._count[meter] = seq + 1
                text = row if isinstance(row, str) else json.dumps(row, separators=(",", ":"), allow_nan=False)
                self._waiting.append(Stored(meter, Position(self._no, seq), end_ns, text))
            try:
                self._write()
                self.trouble = ""
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                self.trouble = str(error)
                while len(self._waiting) > WAITING_LIMIT:
                    dropped = self._waiting.popleft()
                    self.on_drop(dropped.meter, dropped.position)

    def _write(self) -> None:
        self._trim()
        # A commit with FULL makes those before it durable too: once a second is enough.
        durable = time.monotonic() - self._durable_at >= DURABLE_S
        self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            "INSERT INTO readings (meter, epoch, seq, end_ns, row) VALUES (?, ?, ?, ?, ?)",
            [(s.meter, s.position.epoch, s.position.seq, s.end_ns, s.row) for s in self._waiting],
        )
        for meter in {stored.meter for stored in self._waiting}:
            self._db.execute("INSERT OR REPLACE INTO counts VALUES (?, ?, ?)", (self._no, meter, self._count[meter]))
        self._db.execute("COMMIT")
        if durable:
            self._durable_at = time.monotonic()
        self._bytes += sum(len(stored.row) for stored in self._waiting)
        self._waiting.clear()

    def _trim(self) -> None:
        coming = sum(len(stored.row) for stored in self._waiting)
        if self._bytes + coming <= self.limit_bytes:
            return
        need = self._bytes + coming - self.limit_bytes * (_FREED - 1) // _FREED
        last, freed, newest = 0, 0, dict[str, Position]()
        for number, meter, epoch, seq, size in self._db.execute(
            "SELECT id, meter, epoch, seq, length(row) FROM readings ORDER BY id"
        ):
            last, freed, newest[meter] = number, freed + size, Position(epoch, seq)
            if freed >= need:
                break
        self._db.execute("DELETE FROM readings WHERE id <= ?", (last,))
        self._bytes -= freed
        for meter, position in newest.items():
            self.on_drop(meter, position)

    def end(self, meter: str) -> Position:
        """The position of who has everything there is until now."""
        with self._lock:
            return Position(self._no, self._count.get(meter, 0) - 1)

    def find(self, epoch: str, seq: int) -> Position | None:
        """The position a client names; None when this spool never had that epoch."""
        with self._lock:
            row = self._db.execute("SELECT no FROM epochs WHERE name = ?", (epoch,)).fetchone()
        return Position(int(row[0]), seq) if row else None

    def before_all(self) -> Position:
        """The position of who has nothing."""
        return Position(0, -1)

    def before(self, meter: str, clock: str, at_ns: int) -> Position:
        """The position of who has the readings that ended until ``at_ns`` of ``clock``, and all of earlier clocks."""
        with self._lock:
            row = self._db.execute(
                "SELECT epoch, seq FROM readings JOIN epochs ON epoch = no "
                "WHERE meter = ? AND clock = ? AND end_ns > ? ORDER BY id LIMIT 1",
                (meter, clock, at_ns),
            ).fetchone()
            waiting = next((s for s in self._waiting if s.meter == meter and s.end_ns > at_ns), None)
        if row:
            return Position(int(row[0]), int(row[1]) - 1)
        if waiting and clock == self.clock:
            return Position(waiting.position.epoch, waiting.position.seq - 1)
        return self.end(meter)

    def read(self, meter: str, after: Position, limit: int = 256) -> tuple[list[Stored], int]:
        """Up to ``limit`` readings of one epoch after ``after``, and how many in between are gone for good."""
        with self._lock:
            found = [
                Stored(meter, Position(epoch, seq), end_ns, row)
                for epoch, seq, end_ns, row in self._db.execute(
                    "SELECT epoch, seq, end_ns, row FROM readings WHERE meter = ? AND (epoch, seq) > (?, ?) "
                    "ORDER BY epoch, seq LIMIT ?",
                    (meter, after.epoch, after.seq, limit),
                )
            ]
            if len(found) < limit:
                found += [s for s in self._waiting if s.meter == meter and s.position > after]
            found = [s for s in found[:limit] if s.position.epoch == found[0].position.epoch]
            lost = self._between(meter, after, found[0].position) if found else 0
        return found, lost

    def _between(self, meter: str, after: Position, first: Position) -> int:
        """Readings numbered after ``after`` and before ``first``."""
        if after.epoch == first.epoch:
            return first.seq - after.seq - 1
        lost = first.seq
        for epoch, rows in self._db.execute(
            "SELECT epoch, rows FROM counts WHERE meter = ? AND epoch >= ? AND epoch < ?",
            (meter, after.epoch, first.epoch),
        ):
            lost += max(0, rows - 1 - after.seq) if epoch == after.epoch else rows
        return lost

    def name_of(self, epoch: int) -> tuple[str, str]:
        """Name and clock of an epoch."""
        with self._lock:
            name, clock = self._db.execute("SELECT name, clock FROM epochs WHERE no = ?", (epoch,)).fetchone()
        return str(name), str(clock)

    def close(self) -> None:
        with self._lock:
            self._db.close()
            if self._held:
                self._held.close()
