"""A run without a workload: meters on, phases named by whoever watches, meters off. It is stored like any other run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from iojoule.experiment.metering import Metering
from iojoule.meters.config import MeterConfig
from iojoule.store.writer import RunWriter

TICK_S = 0.1


class Recording:
    """Records into ``folder`` while the context lasts. ``tick`` often; ``mark`` begins the next phase."""

    def __init__(
        self, configs: Sequence[MeterConfig], folder: Path, show: Callable[[str], None], facts: dict[str, Any]
    ) -> None:
        step = {"target": "bench", "workload": "record", "repeat": 1, "parameters": {}}
        self.run = RunWriter(folder, {"experiment": "record", "step": step, "interval_s": 1.0, **facts})
        self.metering = Metering(configs, self.run, show, "choose a larger range")
        self._phase = ""
        self._began_ns = 0

    def __enter__(self) -> Recording:
        try:
            self.metering.begin()
        except BaseException as error:
            self._leave(error)
            raise
        self.mark("measure")
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        ours = error is None or isinstance(error, KeyboardInterrupt)
        self.end_phase()
        if self._began_ns and ours:  # windows that are open at the end of the phase are still to come
            until = time.monotonic() + self.metering.longest_s
            while time.monotonic() < until:
                self.tick()
                time.sleep(TICK_S)
        self.metering.close()
        if ours:
            self.run.status, self.run.exit_code = "complete", 0
        else:
            self.run.manifest["error"] = str(error)
        self.run.close()

    def mark(self, name: str) -> None:
        """End the phase that lasts and begin the next, named ``name``."""
        self.end_phase()
        self._phase, self._began_ns = name, time.monotonic_ns()

    @property
    def phase(self) -> str:
        return self._phase

    def tick(self) -> None:
        """Clock pairs and commits; raises what keeping a reading raised."""
        with self.metering.lock:
            self.run.tick()
        if self.metering.failure is not None:
            raise self.metering.failure

    def end_phase(self) -> None:
        """End the phase that lasts; what comes now is of none."""
        if self._phase:
            with self.metering.lock:
                self.run.phase(self._phase, self._began_ns, time.monotonic_ns())
        self._phase = ""
