"""Follows a CSV log that another program writes, line by line while it grows; a line without its end waits for it.

Stamps in UTC are mapped to the host's monotonic clock by a pair of both, taken at each look: the log is written on this
host, or by a program whose clock is kept to ours within ``u_clock``. Without stamps, the time is when a line was seen.
"""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field, model_validator

from iojoule.meters import base, clock, log_text
from iojoule.meters.base import Bare, Channel, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.config import MeterConfig
from iojoule.quantities import Seconds


class LogFileConfig(MeterConfig):
    kind: Literal["log_file"] = "log_file"
    path: Path = Field(description="The log; it may come to be later.")
    value_column: str = Field(description="Name of the column of values in the header, or its number from 1.")
    time_column: str | None = Field(default=None, description="Column of stamps; without, when a line was seen counts.")
    time_format: str | None = Field(default=None, description="Of the stamps, as of strptime; told by itself for most.")
    unit: str | None = Field(default=None, description="Of the values: W, mW, kWh, ...; from the header if it says so.")
    window: Literal["before", "after", "instant"] = Field(
        default="before", description="Whether a value holds over the interval before its stamp, after it, or at it."
    )
    boundary: base.Boundary = Field(default="ac_wall", description="Where the logged meter sits.")
    sentinels: tuple[float, ...] = Field(default=(), description="Values that mean 'no value'.")
    u_rel: float | None = Field(default=None, ge=0, description="Relative standard uncertainty of a value.")
    u_abs: float | None = Field(default=None, ge=0, description="Standard uncertainty of a value, in its unit.")
    u_clock: Seconds = Field(default=0.0, description="Standard uncertainty of the stamps against this host's clock.")
    latency: Seconds = Field(default=0.0, description="How long after its window a value is logged, without stamps.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")
    poll: Seconds = Field(default=0.2, gt=0, description="Time between two looks at the log.")

    @model_validator(mode="after")
    def _unit_is_known(self) -> LogFileConfig:
        if self.unit is not None and self.unit not in log_text.UNITS:
            raise ValueError(f"unit {self.unit!r} is none of {', '.join(log_text.UNITS)}")
        return self


class LogLink(Protocol):
    """A log as it grows. ``head`` is what it holds from its beginning, ``fresh`` what was added since the last call."""

    def head(self) -> bytes: ...
    def skip(self) -> bytes:
        """Go to the end; what is left there of a line without its end."""

    def fresh(self) -> bytes: ...
    def close(self) -> None: ...


#: Device and inode of a log, and up to where it was read.
Left = tuple[int, int, int]


class FileTail:
    """A log on disk, read on from where it was ``left`` where it is still the same. Reconnect where it is not there, or
    was replaced or cut."""

    HEAD = 1 << 16

    def __init__(self, path: Path, left: Left | None = None) -> None:
        self.path = path
        try:
            self._fd = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise Reconnect(f"{path}: {error.strerror}; it is waited for") from error
        here = os.fstat(self._fd)
        self.goes_on = left is not None and (here.st_dev, here.st_ino) == left[:2] and here.st_size >= left[2] > 0
        if left and self.goes_on:
            os.lseek(self._fd, left[2], os.SEEK_SET)

    def left(self) -> Left:
        here = os.fstat(self._fd)
        return here.st_dev, here.st_ino, os.lseek(self._fd, 0, os.SEEK_CUR)

    def head(self) -> bytes:
        return os.pread(self._fd, self.HEAD, 0)

    def skip(self) -> bytes:
        end = os.lseek(self._fd, 0, os.SEEK_END)
        back = os.pread(self._fd, min(end, self.HEAD), max(0, end - self.HEAD))
        return back[back.rfind(b"\n") + 1 :]

    def fresh(self) -> bytes:
        data = b""
        while part := os.read(self._fd, self.HEAD):
            data += part
        if not data and self._replaced():
            raise Reconnect(f"{self.path} was replaced or cut; it is opened anew")
        return data

    def close(self) -> None:
        os.close(self._fd)

    def _replaced(self) -> bool:
        ours, at = os.fstat(self._fd), os.lseek(self._fd, 0, os.SEEK_CUR)
        try:
            there = self.path.stat()
        except OSError:
            return True
        return (there.st_ino, there.st_dev) != (ours.st_ino, ours.st_dev) or there.st_size < at


class LogFile(Bare):
    """One channel, ``power`` (or the quantity of its unit); ``next`` gives what whole lines say."""

    Config: ClassVar[type[LogFileConfig]] = LogFileConfig

    def __init__(self, config: LogFileConfig, raw: RawLog | None = None, link: LogLink | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self.poll_s = config.poll
        self.channel: Channel | None = None
        self._scale = 1.0
        self.log: LogLink | None = None
        self._tail: FileTail | None = None
        #: Since when whatever the log says is of our time: it was not there, or was left by us.
        self._awaited = False
        self._left: Left | None = None
        self._rest = b""
        self._how = log_text.Dialect(",", ".")
        self._value_at = 0
        self._time_at: int | None = None
        self._looked_ns = 0
        self._count: tuple[int, float] | None = None
        self._old = True

    def configure(self) -> None:
        config = self.config
        awaited, self._awaited = self._awaited, True
        if self._link is None:
            self._tail = FileTail(config.path, self._left)
        self.log = self._link or self._tail
        assert self.log
        lines = self.log.head().decode("utf-8-sig", errors="replace").splitlines(keepends=True)
        whole = [line.strip() for line in lines if line.endswith(("\n", "\r")) and line.strip()]
        if not whole:
            raise Reconnect(f"{config.path} has no whole line yet; it is waited for")
        try:
            self._how = log_text.dialect(whole[:20])
        except ValueError as error:
            raise Fatal(f"{config.path}: {error}") from error
        names = log_text.cells(whole[0], self._how)
        self._value_at = self._place(names, config.value_column)
        self._time_at = None if config.time_column is None else self._place(names, config.time_column)
        unit = config.unit or log_text.header_unit(names[self._value_at])[1]
        if unit is None:
            raise Fatal(f"{config.path}: the header names no unit of column {config.value_column}; give unit = 'W'")
        self._old = not awaited
        quantity, base_unit, self._scale = log_text.UNITS[unit]
        kind: base.Kind = (
            "counter" if quantity == "energy" else "instant" if config.window == "instant" else "window_mean"
        )
        self.channel = Channel(
            quantity, quantity, base_unit, config.boundary, kind, u_rel=config.u_rel,
            u_abs=None if config.u_abs is None else config.u_abs * self._scale,
            latency_s=config.latency, role=config.role, drive=config.drive,
        )  # fmt: skip

    def _place(self, names: list[str], column: str) -> int:
        """Where a column stands; names are compared without their unit and case too."""
        if column.isdigit() and 1 <= int(column) <= len(names):
            return int(column) - 1
        plain = [log_text.header_unit(name)[0].lower() for name in names]
        for known, wanted in ((names, column), (plain, column.lower())):
            if wanted in known:
                return known.index(wanted)
        raise Fatal(f"{self.config.path} has no column {column!r} (there are: {', '.join(names)}; or give its number)")

    def describe(self) -> Description:
        assert self.channel
        identity: dict[str, Any] = {"path": str(self.config.path), "delimiter": self._how.delimiter}
        identity |= {"decimal": self._how.decimal, "value_column": self._value_at + 1}
        identity |= {"time_column": None if self._time_at is None else self._time_at + 1}
        return Description(identity, (self.channel,))

    def start(self) -> None:
        """From here on, where the log was there before us: what it holds is of another time, and a half line at its end
        is waited for whole. A log that came while we waited for it, or took the place of ours, is ours from its begin.
        """
        assert self.log
        if self._old:
            self._rest, self._count = self.log.skip(), None
            self._looked_ns = clock.now_ns()
        elif not (self._tail and self._tail.goes_on):
            self._looked_ns = self._looked_ns or clock.now_ns()
            self._rest = self.log.fresh()
            self.raw.received(self._rest)
            head, _, values = self._rest.partition(b"\n")
            row = log_text.cells(head.decode("utf-8-sig", errors="replace").strip(), self._how)
            if math.isnan(log_text.number(row[self._value_at], self._how.decimal)):
                self._rest = values

    def next(self, deadline_ns: int) -> list[Reading]:
        if self.log is None:
            raise Reconnect("the log is not open")
        before_ns, self._looked_ns = self._looked_ns, clock.now_ns()
        if data := self.log.fresh():
            self.raw.received(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [
            reading
            for line in lines
            if line.strip()
            and (reading := self._reading(line.decode("utf-8", errors="replace"), before_ns)) is not None
        ]

    def _reading(self, line: str, before_ns: int) -> Reading | None:
        """What a line says; None for one that has no such columns, which the raw log keeps."""
        assert self.channel
        config, row = self.config, log_text.cells(line, self._how)
        if len(row) <= max(self._value_at, self._time_at or 0):
            return None
        seen_ns = self._looked_ns
        if self._time_at is None:
            # It came between the look before and this one.
            at_ns = (before_ns + seen_ns) // 2 - int(config.latency * 1e9)
            u_time_s = (seen_ns - before_ns) * 1e-9 / math.sqrt(12)
        else:
            try:
                found = log_text.stamp(row[self._time_at], config.time_format)
            except ValueError:
                return None
            if not found.utc:
                raise Fatal(f"{config.path}: {row[self._time_at]!r} is no UTC; leave time_column out to use arrival")
            at_ns = found.ns - (time.time_ns() - time.monotonic_ns())
            # A stamp is cut to its step: the time was up to one step later.
            at_ns += found.step_ns // 2
            u_time_s = math.hypot(found.step_ns * 1e-9 / math.sqrt(12), config.u_clock)
        window_ns = int(config.interval * 1e9)
        start_ns, end_ns = {
            "before": (at_ns - window_ns, at_ns), "after": (at_ns, at_ns + window_ns), "instant": (at_ns, at_ns)
        }[config.window]  # fmt: skip
        value = log_text.number(row[self._value_at], self._how.decimal)
        flags = {"sentinel", "invalid"} if value in config.sentinels or math.isnan(value) else set()
        value = math.nan if flags else value * self._scale
        if self.channel.kind == "counter":
            return self._step(at_ns, u_time_s, value)
        return read(self.channel, start_ns, end_ns, int(u_time_s * 1e9), value, *flags)

    def _step(self, at_ns: int, u_time_s: float, count: float) -> Reading | None:
        """Energy since the line before; the first count is no consumption, and one that falls was set back."""
        before, self._count = self._count, (at_ns, count)
        if math.isnan(count):
            self._count = before
        if before is None or at_ns < before[0]:
            return None
        used = count - before[1]
        flags = ("sentinel", "invalid") if math.isnan(count) else ("wrap_uncertain", "invalid") if used < 0 else ()
        assert self.channel
        return read(self.channel, before[0], at_ns, int(u_time_s * 1e9), math.nan if flags else used, *flags)

    def close(self) -> None:
        if self._tail:
            self._left = self._tail.left()
        if self.log:
            self.log.close()
        self.log = self._tail = None
