"""The text protocol of PTDaemon, so that harnesses written for it can drive our meters.

Commands and answers as the code of mlcommons/power-dev and SPEC's harness send and expect them; what no public code
shows (the answers to Mark and Reset, and to what is wrong) is marked unverified in the manual. One line in, one out;
only RL is followed by as many lines as its answer says.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from iojoule.meters.ptdaemon_log import UNKNOWN, Sample, written

HELLO = "Hello, PTDaemon here!"
#: Most samples of one measurement.
MOST = 500_000
#: SPEC's limit for the uncertainty of a sample.
LIMIT = 0.01


@dataclass(frozen=True, slots=True)
class Taken:
    """One sample: when its window ended, values by the names of a log line, relative half-width of Watts or NaN."""

    end_ns: int
    values: dict[str, float]
    half_width: float = math.nan


class Source(Protocol):
    """The meter behind the daemon."""

    @property
    def identity(self) -> str:
        """The answer to Identify."""

    @property
    def interval_s(self) -> float:
        """What the meter does by itself."""

    def ranges(self) -> tuple[tuple[int, float], tuple[int, float]]:
        """(automatic, range) of amperes and of volts: 1, 0 or -1 for unknown; -1.0 for unknown."""

    def set_range(self, which: str, value: float | None) -> str:
        """Set the range of "A" or "V", None for automatic; what is wrong, or nothing."""

    def samples(self, since_ns: int, now_ns: int, interval_s: float) -> list[Taken]:
        """Those that ended after ``since_ns`` and can be had now, one an interval."""

    def ready_ns(self, now_ns: int, interval_s: float) -> int:
        """When the next sample can be had, about."""

    def wall_ns(self, at_ns: int) -> int:
        """Local time of the daemon's machine."""


@dataclass
class Dialogue:
    """One daemon. ``answer`` takes a line and returns when the answer is ready and its lines."""

    source: Source
    mark: str = "notset"
    running: bool = False
    all: list[tuple[Taken, Sample]] = field(default_factory=list)
    #: Called with each line of the log.
    log: Callable[[str], None] = lambda line: None
    _since_ns: int = 0
    _interval_s: float = 1.0
    _ramp: int = 0
    _read: int = 0

    def answer(self, line: str, now_ns: int) -> tuple[int, list[str]]:
        words = [word.strip() for word in line.split(",")]
        self.collect(now_ns)
        match [words[0].lower(), *words[1:]]:
            case ["hello"]:
                said = [HELLO]
            case ["identify"]:
                said = [self.source.identity]
            case ["rr"]:
                (a_auto, amps), (v_auto, volts) = self.source.ranges()
                said = [f"Ranges,{a_auto},{amps:g},{v_auto},{volts:g}"]
            case ["sr", which, value] if which.upper() in ("A", "V"):
                said = [self._set_range(which.upper(), value)]
            case ["go", *parameters]:
                said = [self._go(parameters, now_ns)]
            case ["stop"]:
                said = ["Stopping untimed measurement" if self.running else "Error: no measurement to stop"]
                self.running = False
            case ["reset"]:
                self.running, self.all, self._read = False, [], 0
                said = ["Measurement reset"]
            case ["mark", mark]:
                self.mark = mark
                said = [f"Mark changed to {mark}"]
            case ["r*"]:
                said = [_pairs(self.all[-1][0].values) if self.all else "No data"]
            case ["watts" | "volts" | "amps" | "pf" as which]:
                said = [self._statistics({"watts": "Watts", "volts": "Volts", "amps": "Amps", "pf": "PF"}[which])]
            case ["uncertainty" | "accuracy"]:
                said = [self._uncertainty()]
            case ["rl", *parameters]:
                return self._unread(parameters, now_ns)
            case ["sr" | "rr" | "mark" | "stop" | "hello" | "identify" | "watts" | "uncertainty", *_]:
                said = ["Invalid number of parameters"]
            case _:
                said = [f"Unknown command: {words[0][:40]}"]
        return now_ns, said

    def collect(self, now_ns: int) -> None:
        """Take what has been measured until now."""
        if not self.running:
            return
        for taken in self.source.samples(self._since_ns, now_ns, self._interval_s):
            self._since_ns = taken.end_ns
            if self._ramp > 0:
                self._ramp -= 1
                continue
            if len(self.all) >= MOST:
                self.running = False
                return
            sample = Sample(self.source.wall_ns(taken.end_ns), taken.values, self.mark)
            self.all.append((taken, sample))
            self.log(written(sample))

    @property
    def unread(self) -> int:
        """Samples nobody asked for yet."""
        return len(self.all) - self._read

    @property
    def interval_s(self) -> float:
        """Of the measurement that runs, or ran last."""
        return self._interval_s

    def _set_range(self, which: str, value: str) -> str:
        try:
            wanted = None if value.lower() == "auto" else float(value)
        except ValueError:
            return "Error in parameter"
        if self.running:
            return "Meter busy"
        wrong = self.source.set_range(which, wanted)
        return f"Error: {wrong}" if wrong else f"Range {which} changed"

    def _go(self, parameters: Sequence[str], now_ns: int) -> str:
        try:
            interval_ms = int(parameters[0]) if parameters else 0
            ramp = int(parameters[1]) if len(parameters) > 1 else 0
        except ValueError:
            return "Error in parameter"
        if len(parameters) > 3:
            return "Invalid number of parameters"
        if interval_ms < 0 or ramp < 0:
            return "Error in parameter"
        if self.running:
            return "Meter busy"
        self._interval_s = interval_ms / 1000 or self.source.interval_s
        self._ramp, self._since_ns, self.all, self._read = ramp, now_ns, [], 0
        self.mark = parameters[2] if len(parameters) > 2 and parameters[2] else "notset"
        self.running = True
        every_ms = round(self._interval_s * 1000)
        return f"Starting untimed measurement, maximum {MOST} samples at {every_ms}ms with {ramp} rampup samples"

    def _unread(self, parameters: Sequence[str], now_ns: int) -> tuple[int, list[str]]:
        """``RL``: what was not read yet; ``RL,n``: at most the last n of it; ``RL,*``: everything since Go."""
        if len(parameters) > 1:
            return now_ns, ["Invalid number of parameters"]
        which = parameters[0] if parameters else ""
        if which not in ("", "*") and not which.isdigit():
            return now_ns, ["Error in parameter"]
        ready_ns = now_ns
        if self.running and which != "*" and self._read == len(self.all):
            # As the daemon does: wait one interval for a sample.
            ready_ns = min(self.source.ready_ns(now_ns, self._interval_s), now_ns + int(self._interval_s * 1e9))
            self.collect(ready_ns)
        fresh = self.all if which == "*" else self.all[self._read :]
        self._read = len(self.all)
        if which.isdigit():
            fresh = fresh[-int(which) :] if int(which) else []
        if not fresh:
            return ready_ns, ["No unread samples available"]
        return ready_ns, [f"Last {len(fresh)} samples", *(written(sample) for _, sample in fresh)]

    def _statistics(self, name: str) -> str:
        """``Watts,average,minimum,maximum,samples,errors,valid``."""
        values = [taken.values.get(name, UNKNOWN) for taken, _ in self.all]
        good = [value for value in values if value != UNKNOWN]
        if not good:
            return f"{name},-1,-1,-1,{len(values)},{len(values)},0"
        mean = statistics.fmean(good)
        wrong = len(values) - len(good)
        return f"{name},{mean:.6f},{min(good):.6f},{max(good):.6f},{len(values)},{wrong},{len(good)}"

    def _uncertainty(self) -> str:
        """``Uncertainty,average,minimum,maximum,samples,above 1 %,valid,unknown``, as shares of the reading."""
        known = [taken.half_width for taken, _ in self.all if math.isfinite(taken.half_width)]
        unknown = len(self.all) - len(known)
        above = sum(width > LIMIT for width in known)
        if not known:
            return f"Uncertainty,-1,-1,-1,{len(self.all)},0,0,{unknown}"
        widths = f"{statistics.fmean(known):.6f},{min(known):.6f},{max(known):.6f}"
        return f"Uncertainty,{widths},{len(self.all)},{above},{len(known) - above},{unknown}"


def _pairs(values: dict[str, float]) -> str:
    return ",".join(f"{name},{value:.6f}" for name, value in values.items())


def identity(name: str, interval_s: float) -> str:
    """The answer to Identify. We are not accepted by SPEC and say so; the version is the protocol's we follow."""
    return (
        f"{name.replace(',', ' ')},{round(interval_s * 1000)},1,1,1,1,0,0,0,version=1.9.0-00000000-20260101,"
        "OS=Linux,mode=power,1,1,1"
    )
