"""The meters a server runs: each in a set of its own, so that one can be set anew while the others go on.

Readings go to the spool as they come; whoever waits for news is woken.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from iojoule.meters import clock, wire
from iojoule.meters.base import Reading
from iojoule.meters.config import MeterConfig
from iojoule.meters.serve.spool import Position, Spool
from iojoule.meters.supervisor import MeterSet


def clock_name() -> str:
    """Of CLOCK_MONOTONIC: it begins anew with every boot."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"boot-{int(time.time() - time.monotonic())}"


class Bench:
    """Starts, restarts and stops meters; the ``Hub`` of the sessions."""

    def __init__(
        self,
        configs: Sequence[MeterConfig],
        spool: Spool,
        raw: Path | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.configs = {config.name: config for config in configs}
        if len(self.configs) < len(configs):
            raise ValueError("two meters have the same name; give each its own")
        self.spool, self._raw, self._say = spool, raw, say
        self._sets: dict[str, MeterSet] = {}
        self._troubles: dict[str, tuple[str, str]] = dict.fromkeys(self.configs, ("lost", "not started yet"))
        self._dropped: dict[str, int] = {}
        self._silent = set(self.configs)
        self._lock = threading.Lock()
        #: Called after every batch and event, in a meter's thread.
        self.listeners: list[Callable[[], None]] = []
        #: Called with the readings themselves, in a meter's thread.
        self.readers: list[Callable[[str, list[Reading]], None]] = []
        spool.on_drop = self._drop

    def start(self) -> None:
        for name in self.configs:
            self._start(name)

    def _start(self, name: str) -> None:
        meters = MeterSet([self.configs[name]], self._raw, self._take, self._event)
        self._sets[name] = meters
        meters.start()

    def restart(self, config: MeterConfig) -> None:
        """Run the meter of that name with another configuration."""
        if old := self._sets.get(config.name):
            old.close()
        self.configs[config.name] = config
        with self._lock:
            self._troubles[config.name] = ("lost", "being set anew")
            self._silent.add(config.name)
        self._start(config.name)

    def close(self) -> None:
        for meters in self._sets.values():
            meters.close()

    def descriptions(self) -> list[dict[str, Any]]:
        return [document for meters in list(self._sets.values()) for document in meters.descriptions()]

    def trouble(self, meter: str) -> tuple[str, str]:
        with self._lock:
            return self._troubles[meter]

    def now_ns(self) -> int:
        return clock.now_ns()

    def wake(self) -> None:
        for call in self.listeners:
            call()

    def _take(self, meter: str, readings: list[Reading]) -> None:
        with self._lock:
            self._troubles[meter] = ("", "")
            first = meter in self._silent
            self._silent.discard(meter)
        if first:
            self._say(f"{meter}: reading")
        before = self.spool.trouble
        self.spool.append(meter, [(reading.end_ns, wire.row(reading)) for reading in readings])
        if self.spool.trouble != before:
            self._say(f"spool: {self.spool.trouble or 'has room again'}")
        for call in self.readers:
            call(meter, readings)
        self.wake()

    def _event(self, meter: str, kind: str, text: str) -> None:
        with self._lock:
            if kind in ("lost", "fatal"):
                self._troubles[meter] = (kind, text)
            elif kind == "back":
                self._troubles[meter] = ("", "")
        self._say(f"{meter}: {kind}{': ' if text else ''}{text}")
        self.wake()

    def _drop(self, meter: str, position: Position) -> None:
        times = self._dropped[meter] = self._dropped.get(meter, 0) + 1
        if times & (times - 1) == 0:  # at the first, second, fourth ... time
            self._say(f"{meter}: the spool is full; its oldest readings were dropped, {times} times by now")
