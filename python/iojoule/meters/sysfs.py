"""Attributes of the kernel (/sys, /proc), read with the times that bracket the read and errors sorted by what helps."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from iojoule.meters import clock
from iojoule.meters.base import Fatal, Reconnect, Retry

#: The device behind the attribute is gone; look for it anew.
_GONE = {errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ENOTDIR}
_FORBIDDEN = {errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True)
class Look:
    """The text of an attribute and the host times just before and after the read."""

    text: str
    before_ns: int
    after_ns: int

    @property
    def at_ns(self) -> int:
        return (self.before_ns + self.after_ns) // 2

    @property
    def u_ns(self) -> int:
        """Standard uncertainty of ``at_ns``: anywhere between the two stamps, rectangular."""
        return int((self.after_ns - self.before_ns) / 2 / 3**0.5)


def look(path: Path | str, allow: str = "") -> Look:
    """Read ``path`` once. ``allow`` is the command that gives the right to read it, named in the error."""
    before_ns = clock.now_ns()
    try:
        data = _read(path)
    except OSError as error:
        if error.errno in _FORBIDDEN:
            raise Fatal(f"{path} may not be read by this user{f'; allow it with: {allow}' if allow else ''}") from error
        if error.errno in _GONE:
            raise Reconnect(f"{path} is gone: {error.strerror}") from error
        raise Retry(f"{path}: {error.strerror}") from error
    return Look(data.decode("ascii", errors="replace"), before_ns, clock.now_ns())


def _read(path: Path | str) -> bytes:
    """The bytes of ``path``, by as few system calls as it takes: this is done a thousand times a second."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = part = os.read(fd, 1 << 16)
        # One line is an attribute, and whole. The tables of /proc come in parts.
        while part and data.find(b"\n") != len(data) - 1:
            part = os.read(fd, 1 << 16)
            data += part
        return data
    finally:
        os.close(fd)


def number(path: Path | str, allow: str = "") -> tuple[int, Look]:
    """The integer in ``path`` and how it was read; Retry when the text is not an integer."""
    seen = look(path, allow)
    try:
        return int(seen.text), seen
    except ValueError:
        raise Retry(f"{path} holds {seen.text[:40]!r}, not an integer") from None


def optional_number(path: Path) -> int | None:
    """The integer in ``path``, or None where there is no such attribute."""
    return number(path)[0] if path.exists() else None


def optional_text(path: Path) -> str | None:
    """The stripped text of ``path``, or None where there is no such attribute."""
    return look(path).text.strip() if path.exists() else None
