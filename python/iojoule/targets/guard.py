"""What may be written to: only what the experiment names under ``destroy``, and only while nobody else uses it.

Every refusal tells the rule, what was found, and what to do. A device is held with O_EXCL from the check until the step
is over, so that nobody mounts it in between.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from iojoule.errors import ConfigError, DeviceError, HostError
from iojoule.host.disk import disk, number_of
from iojoule.host.usage import Use, device_uses, file_uses
from iojoule.targets.signature import member_of

_RING_PATIENCE_S = 2.0


@contextmanager
def device_for_writing(path: Path, destroy: Iterable[Path], *, key: str = "target.path") -> Iterator[None]:
    """Hold a block device for writing. ConfigError where ``destroy`` does not name it, DeviceError where it is used."""
    require_named(path, destroy, key=key)
    number = number_of(path)
    device = None if number is None else disk(number)
    if device is None:
        raise ConfigError(f"{path} is no block device", key=key, value=str(path))
    refuse(path, device_uses(device))
    with _held(path):
        # Read only when nobody else has it: what lies on a disk in use may change under the look.
        refuse(path, [use for number in device.family() if (use := member_of(number))])
        yield


def file_for_writing(path: Path, destroy: Iterable[Path], *, ours: bool, key: str = "target.path") -> None:
    """Let a file be written to: one we made, an empty one, or one named in ``destroy``; and nobody else uses it."""
    if not ours and path.stat().st_size:
        require_named(path, destroy, key=key)
    refuse(path, file_uses(path))
    refuse(path, _open_elsewhere(path))


def folder_for_writing(path: Path, destroy: Iterable[Path], *, ours: bool, key: str = "target.path") -> None:
    """Let files be made in a directory: one we made, an empty one, or one named in ``destroy``."""
    if not ours and path.exists() and any(path.iterdir()):
        require_named(path, destroy, key=key)


def require_named(path: Path, destroy: Iterable[Path], *, key: str = "target.path") -> None:
    """ConfigError where ``path`` is not what one of ``destroy`` names, by whatever name and link."""
    if not any(is_same(path, named) for named in destroy):
        raise ConfigError(
            f"{path} holds data and would be written to; name it to allow that: "
            f'[experiment] destroy = ["{path.absolute()}"]',
            key=key,
            value=str(path),
        )


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths are one thing: the same file, or nodes of the same device."""
    if one.resolve() == other.resolve():
        return True
    number = number_of(one)
    if number is not None:
        return number == number_of(other)
    try:
        return one.samefile(other)
    except OSError:
        return False


def refuse(path: Path, uses: Iterable[Use]) -> None:
    """DeviceError that tells everyone who uses it; nothing where nobody does."""
    uses = list(uses)
    if uses:
        found = "; ".join(f"{use.what} [{use.rule}]" for use in uses)
        raise DeviceError(f"{path} is not written to: {found}\n  remedy: {uses[0].remedy}", device=str(path))


def warnings_for_reading(path: Path) -> list[str]:
    """What disturbs a measurement that only reads a device: others use it, too."""
    number = number_of(path)
    device = None if number is None else disk(number)
    uses = [] if device is None else device_uses(device)
    return [f"{path} is in use, and the load of others is measured with ours: {use.what}" for use in uses]


@contextmanager
def _held(path: Path) -> Iterator[None]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
    except PermissionError:
        raise HostError(f"{path} may not be opened", missing=str(path), remedy="run as root") from None
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise DeviceError(f"{path} cannot be opened: {error.strerror}", device=str(path)) from error
        refuse(path, [Use("exclusive", f"{path} is held by another program (O_EXCL)", f"fuser -v {path}")])
        raise
    try:
        yield
    finally:
        os.close(descriptor)


def _open_elsewhere(path: Path) -> list[Use]:
    """A write lease is only given on a file that nobody else has open (fcntl(2), F_SETLEASE).

    The ring of a load that has just ended may still have it: the kernel closes a ring's files on a worker of its own
    (io_ring_exit_work)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    deadline = time.monotonic() + _RING_PATIENCE_S
    try:
        while True:
            try:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EBUSY):
                    return []  # not ours to lease, or a file system without leases: the other rules are all there is
                if time.monotonic() > deadline:
                    return [Use("open", f"{path} is open in another program", f"fuser -v {path}")]
                time.sleep(0.02)
            else:
                fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                return []
    finally:
        os.close(descriptor)
