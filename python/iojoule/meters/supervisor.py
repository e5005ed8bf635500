"""The meters of a run, seen from the runner: one process each, one thread that listens to all of them.

A meter that dies, hangs or loses its instrument leaves a gap and is started again; nothing of it reaches the workload.
The thread also spawns: the kernel's "die with your parent" signal follows the spawning thread, not the process.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import selectors
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from iojoule.meters.base import ClockProbe, Reading
from iojoule.meters.config import MeterConfig
from iojoule.meters.process import After, MeterProcess

#: (meter, readings), (meter, "lost" | "back" | "fatal" | "warning", text), (meter, probe of its clock); called in the
#: listening thread.
Sink = Callable[[str, list[Reading]], None]
OnEvent = Callable[[str, str, str], None]
OnProbe = Callable[[str, ClockProbe], None]
#: Messages are heard together, this often: a thread that wakes for each takes the processor from the load.
GATHER_S = 0.1


class MeterSet:
    """The meters of one run. ``start``, ``wait_first_good``, ``latest`` while it lasts, ``close``.

    ``after`` is where each meter's channels were left off by an earlier set whose readings these go on from.
    """

    def __init__(
        self,
        configs: Sequence[MeterConfig],
        raw_dir: Path | None = None,
        sink: Sink = lambda meter, readings: None,
        on_event: OnEvent = lambda meter, kind, text: None,
        after: Mapping[str, After] | None = None,
        on_probe: OnProbe = lambda meter, probe: None,
    ) -> None:
        names = [config.name for config in configs]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two meters are named {', '.join(twice)}; give each its own name")
        self._sink, self._on_event, self._on_probe = sink, on_event, on_probe
        self._meters = [
            MeterProcess(
                config,
                raw_dir / f"{config.name}.log" if raw_dir else None,
                self._event,
                self._probe,
                (after or {}).get(config.name, {}),
            )
            for config in configs
        ]
        #: What the sink or the event callback raised first. The meters go on; the runner decides.
        self.failure: Exception | None = None
        self._news: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self._changed = threading.Condition()
        self._selector = selectors.DefaultSelector()
        self._wake_in, self._wake_out = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._close_by: float | None = None
        self._thread = threading.Thread(target=self._listen, name="meters", daemon=True)

    def __enter__(self) -> MeterSet:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.close()

    def start(self) -> None:
        """Start every process; returns at once."""
        self._selector.register(self._wake_in, selectors.EVENT_READ)
        self._thread.start()

    def wait_first_good(self, timeout_s: float) -> dict[str, str]:
        """Wait until each meter gave a good reading, or one cannot; the meters that did not, with the reason."""
        by = time.monotonic() + timeout_s
        with self._changed:
            meters = self._meters
            self._changed.wait_for(lambda: all(m.good for m in meters) or any(m.fatal for m in meters), timeout_s)
            waited_s = timeout_s - max(0.0, by - time.monotonic())
            return {m.name: m.reason or f"no reading within {waited_s:.1f} s" for m in meters if not m.good}

    def descriptions(self) -> list[dict[str, Any]]:
        """What each meter said of itself, in the order of the experiment: the "meters" of a manifest."""
        with self._changed:
            return [meter.description for meter in self._meters]

    def clocks(self) -> dict[str, list[dict[str, Any]]]:
        """The clock of each meter that has one of its own, an entry a connection: fit, bound, how far it moved."""
        with self._changed:
            return {meter.name: clock for meter in self._meters if (clock := meter.clock.describe())}

    def clock_warnings(self) -> list[tuple[str, str]]:
        """(meter, text) of clocks that did not run as was fitted."""
        with self._changed:
            return [(meter.name, text) for meter in self._meters for text in meter.clock.warnings()]

    def pids(self) -> list[int]:
        """The processes at work."""
        with self._changed:
            return [meter.process.pid for meter in self._meters if meter.process]

    def latest(self) -> dict[tuple[str, str], float]:
        """Watts of the last good reading of each (meter, channel) of power or energy; nothing of a lost meter."""
        with self._changed:
            return {(m.name, channel): watts for m in self._meters for channel, watts in m.watts.items()}

    def close(self, timeout_s: float = 10.0) -> dict[str, dict[str, Any] | None]:
        """Stop and await all processes, at last by force; what each meter's own integral said. May be called twice."""
        if self._thread.is_alive():
            self._close_by = time.monotonic() + timeout_s
            with contextlib.suppress(BrokenPipeError):  # where no meter is left it may have gone by now
                os.write(self._wake_out, b"x")
            self._thread.join(timeout_s + 5.0)
            if not self._thread.is_alive():
                os.close(self._wake_out)
        return {meter.name: meter.final for meter in self._meters}

    def _listen(self) -> None:
        told = False
        for meter in self._meters:
            self._spawn(meter)
        while not (self._close_by is not None and all(meter.process is None for meter in self._meters)):
            for key, _ in self._selector.select(self._patience_s()):
                if key.data is None:
                    os.read(self._wake_in, 4096)
                else:
                    self._hear(key.data, key.fd)
            now = time.monotonic()
            if self._close_by is not None and not told:
                told = True
                for meter in self._meters:
                    meter.tell_to_stop()
            for meter in self._meters:
                if self._close_by is not None and now > self._close_by:
                    meter.kill("did not stop in time")
                elif meter.process is not None and now > meter.silent_by:
                    meter.kill(f"silent for {meter.patience_s:.0f} s")
                elif meter.process is None and self._close_by is None and now >= meter.restart_at:
                    self._spawn(meter)
            if self._close_by is None:
                select.select([self._wake_in], [], [], GATHER_S)
        self._selector.close()
        os.close(self._wake_in)

    def _patience_s(self) -> float:
        times = [m.silent_by if m.process else m.restart_at for m in self._meters]
        if self._close_by is not None:
            times = [self._close_by]
        return min(max(0.0, min(times, default=math.inf) - time.monotonic()) + 0.001, 1.0)

    def _spawn(self, meter: MeterProcess) -> None:
        try:
            for fd in meter.spawn():
                self._selector.register(fd, selectors.EVENT_READ, meter)
        except OSError as error:  # no process, no memory or no descriptor to be had now; perhaps later
            with self._changed:
                meter.failed(f"its process did not start: {error.strerror}")
            self._tell()

    def _hear(self, meter: MeterProcess, fd: int) -> None:
        data = os.read(fd, 1 << 20)
        with self._changed:
            readings = meter.heard(fd, data)
            self._changed.notify_all()
        self._tell()
        if readings:
            self._hand_on(self._sink, meter.name, readings)
        if not data:
            self._selector.unregister(fd)
            with self._changed:
                meter.ended(fd)
                self._changed.notify_all()
            self._tell()

    def _event(self, meter: str, kind: str, text: str) -> None:
        self._news.append((self._on_event, (meter, kind, text)))

    def _probe(self, meter: str, probe: ClockProbe) -> None:
        self._news.append((self._on_probe, (meter, probe)))

    def _tell(self) -> None:
        """Hand the news on, outside the lock: a callback may hold a lock that a reader of ``latest`` waits for."""
        news, self._news = self._news, []
        for call, what in news:
            self._hand_on(call, *what)

    def _hand_on(self, call: Callable[..., None], *what: object) -> None:
        try:
            call(*what)
        except Exception as error:
            self.failure = self.failure or error
