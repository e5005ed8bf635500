"""A meter of a bench behind the protocol of PTDaemon: its readings become samples, its ranges can be set."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from iojoule.meters.base import Fatal, Reading
from iojoule.meters.config import MeterConfig
from iojoule.meters.ptdaemon_log import QUANTITIES, UNKNOWN
from iojoule.meters.serve.bench import Bench
from iojoule.meters.serve.ptdaemon import Dialogue, Taken, identity
from iojoule.meters.table import driver_class, parse_meter

#: Seconds a meter has to give a reading with another range.
RESTART_S = 20.0
#: A reading is here so long after its window's end at most.
_DELIVERY_S = 0.5
_NAMES = {quantity: name for name, (quantity, _) in QUANTITIES.items()}


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
