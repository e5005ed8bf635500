"""One meter's process as the supervisor keeps it: its pipes, what it said last, when it is to be started again."""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import iojoule
from iojoule.meters import laboratory, wire
from iojoule.meters.base import ClockProbe, Rail, Reading
from iojoule.meters.clock_history import ClockHistory
from iojoule.meters.config import MeterConfig

#: Seconds before the n-th restart of a process that died.
RESTART_S = (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
#: Room in the pipe, so that a fast meter never waits for its listener.
_PIPE_BYTES = 1 << 20
#: Of each channel the number of its last reading and the end of its window.
After = Mapping[str, tuple[int, int]]


class MeterProcess:
    """Not thread safe: the supervisor's thread drives it, others read under the supervisor's lock."""

    def __init__(
        self,
        config: MeterConfig,
        raw: Path | None,
        on_event: Callable[[str, str, str], None],
        on_probe: Callable[[str, ClockProbe], None],
        after: After,
    ) -> None:
        self.name, self._config, self._raw = config.name, config, raw
        self._on_event, self._on_probe = on_event, on_probe
        self.clock = ClockHistory()
        self.description: dict[str, Any] = {"name": config.name, "driver": config.kind, "identity": {}, "channels": []}
        self.process: subprocess.Popen[bytes] | None = None
        #: Watts of the last good reading by channel; empty while the meter is lost.
        self.watts: dict[str, float] = {}
        self._volts: dict[str, float] = {}
        self.good = self.fatal = False
        #: Why there is no reading at the moment.
        self.reason = ""
        self.final: dict[str, Any] | None = None
        self.restart_at = 0.0
        #: The longest silence of a healthy meter.
        self.patience_s = max(15.0, 5 * config.interval)
        self.silent_by = math.inf
        self._after = dict(after)
        self._lost = False
        self._restarts = 0
        self._ended = False
        self._killed = ""
        self._out = self._err = b""
        self._open: set[int] = set()

    def spawn(self) -> tuple[int, int]:
        """Start the process; its stdout and stderr."""
        package = str(Path(iojoule.__file__).parent.parent)
        path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "iojoule.meters.sampler"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            process_group=0,  # Ctrl-C on the terminal must not reach it
            bufsize=0,
        )
        assert process.stdin and process.stdout and process.stderr
        with contextlib.suppress(OSError):
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        job = {"meter": self._config.model_dump(mode="json"), "raw": str(self._raw) if self._raw else None}
        self.process, self._out, self._err, self._ended, self._killed = process, b"", b"", False, ""
        self.silent_by = time.monotonic() + self.patience_s
        self._write(wire.line(**job, after=self._after))
        self._open = {process.stdout.fileno(), process.stderr.fileno()}
        return process.stdout.fileno(), process.stderr.fileno()

    def tell_to_stop(self) -> None:
        """Ask for the final document and the end."""
        self._write(b"stop\n")

    def kill(self, why: str) -> None:
        """End the process by force; its end is noticed when its pipes close."""
        if self.process and not self._killed:
            self._killed = why
            self.process.kill()

    def heard(self, fd: int, data: bytes) -> list[Reading]:
        """Take what came from one pipe; the readings in it."""
        assert self.process and self.process.stdout
        if fd != self.process.stdout.fileno():
            self._err = (self._err + data)[-4096:]
            return []
        self.silent_by = time.monotonic() + self.patience_s
        *lines, self._out = (self._out + data).split(b"\n")
        readings = []
        for line in lines:
            try:
                readings += self._line(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                self._on_event(self.name, "warning", f"its process said {line[:80]!r}: {error}")
        return readings

    def _line(self, said: dict[str, Any]) -> list[Reading]:
        if "readings" in said:
            readings = [wire.reading(row) for row in said["readings"]]
            for reading in readings:
                self._after[reading.channel] = (reading.seq, reading.end_ns)
                if (watts := reading.watts) is not None:
                    self.watts[reading.channel] = watts
                else:
                    self.watts.pop(reading.channel, None)
                self.good |= reading.good
            self._watch_rails(readings)
            self._found()
            return readings
        if "describe" in said:
            self.description = said["describe"] | self._config.stated
            if laboratory.is_made(self._config.model_dump()):
                self.description["identity"] = {"laboratory": laboratory.MADE} | self.description["identity"]
        elif "probe" in said:
            sent_ns, meter_ns, received_ns = map(int, said["probe"])
            probe = ClockProbe(sent_ns, meter_ns, received_ns, int(said["resolution_ns"]))
            self.clock.add(probe, probe.resolution_ns, said["since_ns"])
            self._on_probe(self.name, probe)
        elif "final" in said:
            self.final, self._ended = said["final"], True
        elif said["event"] == "fatal":
            self.fatal = True
            self._missing(said["text"], "fatal")
        elif said["event"] in ("lost", "retry"):
            self._missing(said["text"], "lost")
        elif said["event"] == "warning":
            self._on_event(self.name, "warning", said["text"])
        return []

    def _watch_rails(self, readings: list[Reading]) -> None:
        """Watts of the rails, of the last samples of their two channels as they are."""
        self._volts |= {reading.channel: reading.value for reading in readings if reading.unit == "V"}
        for entry in self.description.get("rails", ()):
            rail = Rail.of(entry)
            watts = rail.watts(*(self._volts.get(channel, math.nan) for channel in (rail.voltage, rail.shunt)))
            if math.isfinite(watts):
                self.watts[rail.id] = watts
            else:
                self.watts.pop(rail.id, None)

    def ended(self, fd: int) -> None:
        """One pipe closed. When both have, the process is reaped, and unless it was told to stop, it is lost."""
        self._open.discard(fd)
        if self._open or self.process is None:
            return
        code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        self.process, self.silent_by = None, math.inf
        if self._ended or self.fatal:
            self.restart_at = math.inf
            return
        last = self._err.decode(errors="replace").strip().rpartition("\n")[2]
        self.failed(self._killed or last or f"its process ended with {code}")

    def failed(self, why: str) -> None:
        """There is no process now: lost, and to be started again after a while."""
        self._missing(why, "lost")
        self.restart_at = time.monotonic() + RESTART_S[min(self._restarts, len(RESTART_S) - 1)]
        self._restarts += 1

    def _missing(self, text: str, kind: str) -> None:
        self.watts.clear()
        self._volts.clear()
        self.reason = text
        if not self._lost or kind == "fatal":
            self._lost = True
            self._on_event(self.name, kind, text)

    def _found(self) -> None:
        if self._lost:
            self._on_event(self.name, "back", "")
        self._lost, self.reason, self._restarts = False, "", 0

    def _write(self, data: bytes) -> None:
        if self.process and self.process.stdin:
            with contextlib.suppress(OSError):
                self.process.stdin.write(data)
