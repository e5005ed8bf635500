"""A loop device as a target: a block device on a file, made for the step and taken away after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from iojoule.errors import HostError
from iojoule.host.disk import disk, number_of
from iojoule.host.journal import NAME, Journal
from iojoule.host.kernel import text
from iojoule.host.loop import attach
from iojoule.host.restore import undo
from iojoule.host.settings import in_force
from iojoule.host.usage import file_uses
from iojoule.targets.base import Opening
from iojoule.targets.block_device import set_for_the_step
from iojoule.targets.file import hole_warnings, ready_file, surroundings
from iojoule.targets.guard import device_for_writing, file_for_writing, refuse
from iojoule.targets.keys import DiskKeys, FileKeys
from iojoule.targets.made import is_ours, workshop
from iojoule.targets.storage import Place, Storage


class LoopTarget(DiskKeys, FileKeys):
    """``[[target]]`` with ``kind = "loop"``."""

    kind: Literal["loop"] = "loop"
    direct_io: bool = Field(False, description="The loop device reads and writes its file past the page cache.")
    sector_size: Literal[512, 4096] = Field(512, description="Logical block of the device, in bytes.")

    @property
    def place(self) -> Place:
        return Place(self.name, self.size, self.sector_size)

    @model_validator(mode="after")
    def _whole_sectors(self) -> LoopTarget:
        if self.size is not None and self.size % self.sector_size:
            raise ValueError(f"'size' is no multiple of the sector, {self.sector_size} bytes")
        return self


@contextmanager
def open_loop(config: LoopTarget, opening: Opening) -> Iterator[Storage]:
    """Attach the device, until the block is left. ConfigError, DeviceError or HostError where that cannot be."""
    writes = opening.writes or config.purge != "never"
    with ExitStack() as stack:
        folder = stack.enter_context(workshop(opening))
        journal = stack.enter_context(Journal(opening.journal or opening.folder / NAME))
        file = ready_file(config, opening, folder)
        ours = is_ours(file, folder)
        if writes or ours:
            file_for_writing(file, opening.destroy, ours=ours)
        else:
            # Two loop devices on one file: ours could not be told from the other when it is to be detached.
            refuse(file, [use for use in file_uses(file) if use.rule == "loop"])
        device = stack.enter_context(_attached(config, file, journal, opening, read_only=not (writes or ours)))
        if writes:
            stack.enter_context(device_for_writing(device, [device]))
        stack.enter_context(set_for_the_step(config, device, journal, opening))
        facts, _, _, warnings = surroundings(file)
        number = number_of(device)
        found = disk(number) if number else None
        if found is None:
            raise HostError(f"/sys does not know {device}", missing=f"/sys/block/{device.name}")
        in_force_now = in_force(found) | {"direct_io": text(found.folder / "loop/dio") == "1"}
        if config.direct_io and not in_force_now["direct_io"]:
            warnings.append(f"{device} does not take direct I/O on {file}: it goes through the page cache")
        yield Storage(
            config.name,
            config.kind,
            [device],
            found.size_bytes,
            config.sector_size,
            warnings + hole_warnings(file),
            {"backing": {"path": str(file), **facts}, "disk": found.described()},
            in_force_now,
            backing=[file],
            writable=writes,
            purge=config.purge,
            drop_caches=config.drop_caches,
            shared=folder,
        )


@contextmanager
def _attached(config: LoopTarget, file: Path, journal: Journal, opening: Opening, *, read_only: bool) -> Iterator[Path]:
    there = file.stat()
    change = journal.begin("loop", path=str(file), device=there.st_dev, inode=there.st_ino)
    try:
        yield attach(file, direct_io=config.direct_io, sector_size=config.sector_size, read_only=read_only)
    finally:
        outcome = undo(change, journal=journal)
        if outcome.result not in ("restored", "gone"):
            opening.note(f"warning: {outcome.what}: {outcome.text}")
