"""The process of one meter: ``python -m iojoule.meters.sampler``.

One JSON line comes in on stdin, ``{"meter": {...}, "raw": path or null, "after": {...}}``. JSON lines go out on
stdout: ``{"describe": ...}``, ``{"readings": [...]}``, ``{"probe": [sent, meter, received], ...}`` of its clock,
``{"event": "lost|retry|back|fatal|warning", "text": ...}`` and at the end ``{"final": ...}``. The line ``stop``, or the
end of stdin, ends it; so does the death of its parent.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

from iojoule.meters import wire
from iojoule.meters.base import ClockProbe, Driver, Fatal, MeterError, Reconnect, Retry
from iojoule.meters.continuity import Continuity
from iojoule.meters.punctual import punctual
from iojoule.meters.rawlog import RawFile
from iojoule.meters.table import driver_class, parse_meter

#: Seconds before the n-th attempt to win a lost meter back.
BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
#: Attempts on the same connection before it is made anew.
_ATTEMPTS = 3
#: Seconds between two probes of the meter's clock, and how many are made at either end: the quickest tells most.
SYNC_S = 10.0
_PROBES_AT_THE_ENDS = 4
#: Readings of a fast meter leave together, this often.
_GATHER_NS = 50_000_000


class Commands:
    """Lines on a file descriptor, waited for until a host time."""

    def __init__(self, fd: int) -> None:
        self._fd, self._buffer = fd, b""

    def line(self) -> bytes:
        """The next whole line, however long it takes; empty at the end of the stream."""
        while b"\n" not in self._buffer:
            if not (data := os.read(self._fd, 1 << 16)):
                return b""
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def stopped(self, until_ns: int) -> bool:
        """Wait until ``until_ns`` of the host clock, or until told to stop; whether it was told."""
        while True:
            rest_s = max(0.0, (until_ns - time.monotonic_ns()) * 1e-9)
            if b"\n" not in self._buffer and not select.select([self._fd], [], [], rest_s)[0]:
                return False
            if self.line().strip() in (b"stop", b""):
                return True


class Sampler:
    """Keeps the pace of one driver, wins it back when it is lost, and numbers what it reads."""

    def __init__(self, driver: Driver, name: str, kind: str, interval_s: float, continuity: Continuity) -> None:
        self.driver, self.name, self.kind, self.interval_s = driver, name, kind, interval_s
        self.continuity = continuity
        self.connected = False
        self.failures = 0
        self.due_ns = 0
        self.described: dict[str, Any] = {}
        self.scheduling = ""
        self.since_ns = 0
        self.sync_due_ns = 0
        self._probed: ClockProbe | None = None
        self._rows: list[wire.Row] = []
        self._rows_ns = 0

    def run(self, commands: Commands, raw: RawFile | None) -> int:
        """Sample until told to stop; the exit code."""
        try:
            while True:
                try:
                    if not self.connected:
                        self._connect()
                    if commands.stopped(self.due_ns):
                        break
                    self._sample()
                    # After a reading there is the most time until the next.
                    if time.monotonic_ns() >= self.sync_due_ns:
                        self._sync(1)
                except Fatal:
                    raise
                except MeterError as error:
                    self._lost(error)
                    if commands.stopped(time.monotonic_ns() + int(self._backoff_s() * 1e9)):
                        break
                if raw and raw.failure:
                    _say(event="warning", text=raw.failure)
                    raw.failure = ""
            self._finish()
        except Fatal as error:
            self._hand_over()
            _say(event="fatal", text=str(error))
            return 3
        finally:
            try:
                self._hand_over()
            finally:
                self.driver.close()
                if raw:
                    raw.flush()
        return 0

    def _connect(self) -> None:
        self.driver.configure()
        self.since_ns = time.monotonic_ns()
        self._sync(_PROBES_AT_THE_ENDS)
        described = self.driver.describe().document(self.name, self.kind, self.driver.poll_s or self.interval_s)
        described |= {"scheduling": self.scheduling} if self.scheduling else {}
        self.driver.start()
        self.connected = True
        gc.collect()
        # To look through all that was imported would be milliseconds in the way of a reading.
        gc.freeze()
        gc.set_threshold(20_000)
        if described != self.described:
            _say(describe=described)
            self.described = described
        poll_ns = int((self.driver.poll_s or 0.0) * 1e9)
        self.due_ns = time.monotonic_ns() + poll_ns // 2
        if poll_ns:
            # The meters of a host look together: what one of them brought into the caches serves the next, and the
            # load is held up once, not by each at a time of its own.
            self.due_ns += -self.due_ns % poll_ns

    def _sample(self) -> None:
        """One call of the driver. Deadlines are absolute, so a late reading does not delay the ones after it."""
        poll_ns = int((self.driver.poll_s or 0.0) * 1e9)
        now_ns = time.monotonic_ns()
        try:
            readings = self.driver.next(now_ns + (poll_ns or int(self.interval_s * 3e9) + 10**9))
        finally:
            if poll_ns:
                missed = max(0, (time.monotonic_ns() - self.due_ns) // poll_ns)
                self.due_ns += (missed + 1) * poll_ns
        if not readings:
            return
        self._rows += [wire.row(reading) for reading in self.continuity.stamp(readings)]
        if not poll_ns or poll_ns > _GATHER_NS or self.failures or now_ns - self._rows_ns > _GATHER_NS:
            self._hand_over()
            self._rows_ns = now_ns
        if self.failures:
            self.failures = 0
            _say(event="back", text="")

    def _hand_over(self) -> None:
        if self._rows:
            _say(readings=self._rows)
            self._rows = []

    def _sync(self, probes: int) -> None:
        """Look at the meter's clock, where it has one by now. A look that was told is not told again."""
        for _ in range(probes):
            self.sync_due_ns = time.monotonic_ns() + int(SYNC_S * 1e9)
            try:
                probe = self.driver.sync()
            except Retry as error:
                self._hand_over()
                _say(event="warning", text=f"its clock was not read: {error}")
                continue
            if probe is None or probe == self._probed:
                return
            self._probed = probe
            stamps = [probe.sent_ns, probe.meter_ns, probe.received_ns]
            _say(probe=stamps, resolution_ns=probe.resolution_ns, since_ns=self.since_ns)

    def _lost(self, error: MeterError) -> None:
        if not self.failures:
            self.continuity.interrupted()
        self.failures += 1
        self._hand_over()
        _say(event="lost" if self.failures == 1 else "retry", text=str(error))
        if isinstance(error, Reconnect) or self.failures % _ATTEMPTS == 0:
            self.driver.close()
            self.connected = False

    def _backoff_s(self) -> float:
        return BACKOFF_S[min(self.failures, len(BACKOFF_S)) - 1]

    def _finish(self) -> None:
        final = None
        self._hand_over()
        if self.connected:
            try:
                self._sync(_PROBES_AT_THE_ENDS)
                final = self.driver.stop()
            except MeterError as error:
                _say(event="warning", text=f"no final reading: {error}")
        _say(final=final)


def main() -> int:
    """Entry of the process."""
    _end_with_parent()
    commands = Commands(sys.stdin.fileno())
    job = json.loads(commands.line() or b"null")
    if job is None:
        return 0
    try:
        config = parse_meter(job["meter"])
    except ValueError as error:
        _say(event="fatal", text=str(error))
        return 2
    raw = RawFile(Path(job["raw"])) if job.get("raw") else None
    make: Any = driver_class(config.kind)
    driver: Driver = make(config, raw)
    kept = bool(getattr(driver, "keeps", False))
    if kept and job.get("after"):
        driver.resume(job["after"])  # type: ignore[attr-defined]
    continuity = Continuity(driver.poll_s or config.interval, job.get("after"), kept)
    sampler = Sampler(driver, config.name, config.kind, config.interval, continuity)
    sampler.scheduling = punctual(driver.poll_s)
    return sampler.run(commands, raw)


def _say(**document: Any) -> None:
    data = wire.line(**document)
    while data:
        data = data[os.write(1, data) :]


def _end_with_parent() -> None:
    """Ctrl-C on the terminal is the runner's business; its death is ours, even when it was killed."""
    import ctypes

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    sys.exit(main())
