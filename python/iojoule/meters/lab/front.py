"""What every front of the laboratory is: an instrument behind a protocol, in this process or on a real line."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from iojoule.meters.lab.load import Truth


class Front(Protocol):
    """Built from a truth and a seed, which draws the instrument's errors, delays and the state of its clock."""

    #: A line that says what it stands for.
    ABOUT: ClassVar[str]
    #: Watts the made instrument is meant for: the harness draws its loads between them.
    WATTS: ClassVar[tuple[float, float]]

    def __init__(self, truth: Truth, seed: int = 0) -> None: ...

    def section(self) -> dict[str, Any]:
        """The ``[[meter]]`` section that reads it: while it is served at its address, else one for ``link``."""

    def link(self) -> Any:
        """What the driver takes as ``link`` to speak to it in this process, on the clock in use; None where the
        section alone says it all (a tree of files)."""

    def served(self, port: int = 0) -> AbstractContextManager[str]:
        """Serve on loopback while the block lasts; the address an independent client would be given."""

    def truth_channels(self) -> tuple[str, ...]:
        """The driver's channels (or rails) of power or energy whose energy is the truth's."""
