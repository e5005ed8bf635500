"""A block device as a target: a disk or a partition that is there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field

from iojoule.errors import ConfigError, HostError
from iojoule.host.disk import disk, number_of
from iojoule.host.journal import NAME, Journal
from iojoule.host.kernel import number
from iojoule.host.settings import in_force
from iojoule.targets.base import Opening
from iojoule.targets.block_device import set_for_the_step
from iojoule.targets.guard import device_for_writing, warnings_for_reading
from iojoule.targets.keys import DiskKeys
from iojoule.targets.made import workshop
from iojoule.targets.storage import Storage


class DeviceTarget(DiskKeys):
    """``[[target]]`` with ``kind = "device"``."""

    kind: Literal["device"] = "device"
    path: Path = Field(description="The device's node, best by its lasting name under /dev/disk/by-id.")


@contextmanager
def open_device(config: DeviceTarget, opening: Opening) -> Iterator[Storage]:
    """Hold the device. ConfigError where it is none or is not named in destroy, DeviceError where it is in use."""
    writes = opening.writes or config.purge != "never"
    path = config.path.resolve()
    found = disk(told) if (told := number_of(path)) else None
    if found is None:
        what = "is not there" if not path.exists() else "is no block device"
        raise ConfigError(f"{config.path} {what}", key="target.path", value=str(config.path))
    if not os.access(path, os.R_OK | (os.W_OK if writes else 0)):
        raise HostError(f"{path} may not be opened", missing=str(path), remedy="run as root")
    if writes and number(found.folder / "ro"):
        raise ConfigError(f"{path} is read-only", key="target.path", value=str(path))
    with ExitStack() as stack:
        warnings = []
        if writes:
            stack.enter_context(device_for_writing(path, opening.destroy))
        else:
            warnings = warnings_for_reading(path)
        folder = stack.enter_context(workshop(opening))
        journal = stack.enter_context(Journal(opening.journal or opening.folder / NAME))
        stack.enter_context(set_for_the_step(config, path, journal, opening))
        described = found.described()
        yield Storage(
            config.name,
            config.kind,
            [path],
            found.size_bytes,
            described["logical_block_bytes"] or 512,
            warnings,
            {"given": str(config.path), "disk": described, "partition": found.name if found.is_partition else None},
            in_force(found),
            writable=writes,
            purge=config.purge,
            drop_caches=config.drop_caches,
            shared=folder,
        )
