"""What targets that are block devices share: their settings for the length of a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iojoule.errors import HostError
from iojoule.host.disk import disk, number_of
from iojoule.host.journal import Journal
from iojoule.host.restore import undo
from iojoule.host.settings import change_settings
from iojoule.targets.base import Opening
from iojoule.targets.keys import DiskKeys


@contextmanager
def set_for_the_step(config: DiskKeys, device: Path, journal: Journal, opening: Opening) -> Iterator[None]:
    """Set what the target asks for on the disk of ``device``, and put it back when the block is left."""
    wanted = config.wanted_settings()
    number = number_of(device)
    found = disk(number) if number else None
    if not wanted:
        yield
        return
    if found is None:
        raise HostError(f"/sys does not know {device}; nothing can be set on it", missing="/sys/dev/block")
    change = change_settings(found, wanted, journal)
    try:
        yield
    finally:
        outcome = undo(change, journal=journal)
        if outcome.result not in ("restored", "gone"):
            opening.note(f"warning: {outcome.what} not restored: {outcome.text}; see iojoule host restore")
