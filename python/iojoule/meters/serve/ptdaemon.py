"""The text protocol of PTDaemon, so that harnesses written for it can drive our meters.

Commands and answers as the code of mlcommons/power-dev and SPEC's harness send and expect them; what no public code
shows (the answers to Mark and Reset, and to what is wrong) is marked unverified in the manual. One line in, one out;
only RL is followed by as many lines as its answer says.
"""

from __future__ import annotations

import math
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from iojoule.meters.base import Fatal, Reading
from iojoule.meters.config import MeterConfig
from iojoule.meters.ptdaemon_log import QUANTITIES, UNKNOWN, Sample, written
from iojoule.meters.serve.bench import Bench
from iojoule.meters.table import driver_class, parse_meter

HELLO = "Hello, PTDaemon here!"
#: Most samples of one measurement.
MOST = 500_000
#: Seconds a meter has to give a reading with another range.
RESTART_S = 20.0
#: A reading is here so long after its window's end at most.
_DELIVERY_S = 0.5
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


class BenchSource:
    """One meter of a bench. A sample is the mean of the readings that ended in its interval, each by its length."""

    KEEP = 10_000

    def __init__(self, bench: Bench, meter: str) -> None:
        self.bench, self.meter = bench, meter
        self._readings: deque[dict[str, Reading]] = deque(maxlen=self.KEEP)
        bench.readers.append(self._take)

    @property
    def _document(self) -> dict[str, Any]:
        return next(document for document in self.bench.descriptions() if document["name"] == self.meter)

    @property
    def interval_s(self) -> float:
        return float(self._document.get("interval_s") or self.bench.configs[self.meter].interval)

    @property
    def identity(self) -> str:
        known = self._document.get("identity", {})
        name = "_".join(str(known[key]) for key in ("maker", "model", "serial") if key in known) or self.meter
        return identity(f"iojoule {self._document['driver']}-{name}", self.interval_s)

    def _take(self, meter: str, readings: list[Reading]) -> None:
        if meter != self.meter:
            return
        # The first channel of each quantity; those of one window come together.
        first = {q: next((c["id"] for c in self._document["channels"] if c["quantity"] == q), None) for q in _NAMES}
        for reading in readings:
            if first.get(reading.quantity) != reading.channel:
                continue
            if not self._readings or reading.quantity in self._readings[-1]:
                self._readings.append({})
            self._readings[-1][reading.quantity] = reading

    def ranges(self) -> tuple[tuple[int, float], tuple[int, float]]:
        config = self.bench.configs[self.meter]

        def one(key: str) -> tuple[int, float]:
            value = getattr(config, key, None)
            if isinstance(value, int | float) and value > 0:
                return 0, float(value)
            return (1, -1.0) if value == "find" else (-1, -1.0)

        return one("current_range"), one("voltage_range")

    def set_range(self, which: str, value: float | None) -> str:
        key, quantity = {"A": ("current_range", "current"), "V": ("voltage_range", "voltage")}[which]
        before = self.bench.configs[self.meter]
        if key not in getattr(driver_class(before.kind), "RANGES", ()):
            return f"the ranges of a {before.kind} cannot be set"
        wrong = ""
        for wanted in _candidates(before, key, quantity, value):
            try:
                chosen = parse_meter({**before.model_dump(mode="json", exclude_none=True), key: wanted})
            except ValueError as error:
                wrong = str(error).splitlines()[-1].strip()
                continue
            if chosen == before or not (wrong := self._restarted(chosen)):
                return ""
            self.bench.restart(before)
        return wrong

    def _restarted(self, config: MeterConfig) -> str:
        """Run the meter anew and await its first reading; what is wrong, or nothing."""
        self.bench.restart(config)
        by = time.monotonic() + RESTART_S
        while time.monotonic() < by:
            kind, why = self.bench.trouble(self.meter)
            if kind != "lost":
                return why
            time.sleep(0.05)
        return f"no reading within {RESTART_S:g} s: {self.bench.trouble(self.meter)[1]}"

    def samples(self, since_ns: int, now_ns: int, interval_s: float) -> list[Taken]:
        rows = [row for row in list(self._readings) if "power" in row and row["power"].end_ns > since_ns]
        if interval_s < 1.5 * self.interval_s:
            return [self._taken([row]) for row in rows]
        found, group, edge_ns = list[Taken](), list[dict[str, Reading]](), since_ns + int(interval_s * 1e9)
        slack_ns = int(self.interval_s * 0.5e9)
        for row in rows:
            group.append(row)
            if row["power"].end_ns + slack_ns > edge_ns:
                found.append(self._taken(group))
                group, edge_ns = [], max(edge_ns, row["power"].end_ns - slack_ns) + int(interval_s * 1e9)
        return found

    @staticmethod
    def _taken(rows: Sequence[dict[str, Reading]]) -> Taken:
        values = {name: _mean([row[q] for row in rows if q in row]) for q, name in _NAMES.items()}
        volts_amps = values["Volts"] * values["Amps"]
        if values["PF"] == UNKNOWN and UNKNOWN not in (values["Volts"], values["Amps"], values["Watts"]) and volts_amps:
            values["PF"] = values["Watts"] / volts_amps
        power = [row["power"] for row in rows]
        shares = [math.sqrt(3) * one.u_value / abs(one.value) if one.value else math.nan for one in power]
        return Taken(power[-1].end_ns, values, max(shares) if all(map(math.isfinite, shares)) else math.nan)

    def ready_ns(self, now_ns: int, interval_s: float) -> int:
        last = self._readings[-1]["power"].end_ns if self._readings and "power" in self._readings[-1] else now_ns
        return max(now_ns, last + int(self.interval_s * 1e9))

    def wall_ns(self, at_ns: int) -> int:
        now = time.time()
        local_s = time.localtime(now).tm_gmtoff
        return at_ns + int(now * 1e9) - self.bench.now_ns() + local_s * 10**9


def _candidates(config: MeterConfig, key: str, quantity: str, value: float | None) -> list[object]:
    """What to set a range to: the value if the meter has it, else the smallest of its ranges above."""
    if value is None:
        return ["find"]
    driver: Any = driver_class(config.kind)
    tiny = dict.fromkeys(("voltage", "current"), 1e-3)
    try:
        fixed = driver.ranged(config.model_copy(update={key: "find"}), tiny | {quantity: value})
    except (AttributeError, Fatal):
        return [value]
    return [value, getattr(fixed, key)]


_NAMES = {quantity: name for name, (quantity, _) in QUANTITIES.items()}


def _mean(readings: Sequence[Reading]) -> float:
    """Weighted by the windows; unknown where any is not a measurement, since nothing may be left out."""
    if not readings or not all(one.good for one in readings):
        return UNKNOWN
    lengths = [max(1, one.end_ns - one.start_ns) for one in readings]
    return sum(one.value * length for one, length in zip(readings, lengths, strict=True)) / sum(lengths)


class Ptdaemon:
    """The daemon of one meter of a bench, for any number of connections: like SPEC's, it has one measurement."""

    def __init__(self, bench: Bench, meter: str, log: Callable[[str], None] = lambda line: None) -> None:
        self._dialogue = Dialogue(BenchSource(bench, meter), log=log)
        self._bench, self._lock = bench, threading.Lock()
        bench.readers.append(self._collect)

    def _collect(self, meter: str, readings: list[Reading]) -> None:
        """Nobody need ask: the log is written as samples come. While a range is set there is nothing to collect."""
        if self._lock.acquire(blocking=False):
            try:
                self._dialogue.collect(self._bench.now_ns())
            finally:
                self._lock.release()

    def answer(self, line: str) -> list[str]:
        """The lines of the answer, after the wait the protocol has for RL."""
        if line.lower().startswith("rl"):
            self._await_sample()
        with self._lock:
            return self._dialogue.answer(line, self._bench.now_ns())[1]

    def _await_sample(self) -> None:
        """Wait for an unread sample as long as RL does."""
        by = time.monotonic() + self._dialogue.interval_s + _DELIVERY_S
        while time.monotonic() < by and self._dialogue.running and not self._dialogue.unread:
            with self._lock:
                self._dialogue.collect(self._bench.now_ns())
            time.sleep(0.01)
