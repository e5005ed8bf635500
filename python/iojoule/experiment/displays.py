"""Displays that a person reads: asked for before and after a step, where there is somebody to be asked.

What an experiment says a display shows at the start is of its first step alone: the display has moved on when the next
one begins, and a step that is not told has no energy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from iojoule.meters.config import MeterConfig
from iojoule.meters.manual import ManualConfig, note

Ask = Callable[[ManualConfig, str], float | None]
"""What a display shows "now" or "at the end"; None where nobody says."""


def nobody(config: ManualConfig, when: str) -> None:
    """There is nobody to be asked."""


def displays(configs: Sequence[MeterConfig]) -> Iterator[ManualConfig]:
    """Those of the meters that only a person can read."""
    return (config for config in configs if isinstance(config, ManualConfig))


def before(configs: Sequence[MeterConfig], ask: Ask, *, first: bool = True) -> list[MeterConfig]:
    """The meters of a step, each display with what it shows now. One with a file of notes is not asked for."""
    starts = {}
    for one in displays(configs):
        start = one.start if first else None
        starts[one.name] = ask(one, "now") if start is None and one.notes is None else start
    return [
        config.model_copy(update={"start": starts[config.name]}) if config.name in starts else config
        for config in configs
    ]


def after(configs: Sequence[MeterConfig], run: Path, ask: Ask) -> None:
    """Note what each display shows at the end of ``run``, for its meter to read."""
    for one in displays(configs):
        if (value := ask(one, "at the end")) is not None:
            note(one.notes or run / "raw" / f"{one.name}.notes", value, time.monotonic_ns())
