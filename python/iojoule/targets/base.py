"""What every kind of target offers while it is measured, and what it is given to come up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Opening:
    """What a target is given: ``folder`` for its own files, the ``content`` a server serves, the paths the experiment
    may ``destroy``, whether the workload ``writes``, and the ``journal`` where every changed setting of the host is
    written down before it is changed. ``shared`` is a folder that all steps of a campaign share: what is made there is
    kept until the campaign ends. ``note`` is told how far long work has come, and may raise to stop it."""

    folder: Path
    content: Path | None = None
    destroy: frozenset[Path] = frozenset()
    writes: bool = False
    journal: Path | None = None
    shared: Path | None = None
    note: Callable[[str], None] = lambda text: None


class Running(Protocol):
    """A target that is up. ``warnings`` are for the run's events."""

    warnings: list[str]

    @property
    def pid(self) -> int | None:
        """Process of a server of ours; None where there is none."""

    def alive(self) -> bool:
        """Whether it can still be measured."""

    def describe(self) -> dict[str, Any]:
        """The target as the manifest holds it; plain JSON."""
