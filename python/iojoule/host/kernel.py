"""The kernel's small text files below /proc and /sys: one value each, absent on another kernel or in a container."""

from __future__ import annotations

from pathlib import Path


def text(path: Path) -> str | None:
    """The file's text without the newline at its end; None if it is not there or may not be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def number(path: Path) -> int | None:
    """The file's whole number; None if it is not there or holds something else."""
    found = text(path)
    try:
        return None if found is None else int(found)
    except ValueError:
        return None


def chosen(path: Path) -> str | None:
    """The value in brackets of a file that lists all it could be: ``mq-deadline [none]``."""
    found = text(path)
    if found is None:
        return None
    start, end = found.find("["), found.find("]")
    return found[start + 1 : end] if 0 <= start < end else found


def fields(path: Path) -> dict[str, str]:
    """``key: value`` lines, as in /proc/meminfo; the first of a repeated key, as in /proc/cpuinfo."""
    pairs = (line.partition(":") for line in (text(path) or "").splitlines())
    found: dict[str, str] = {}
    for key, colon, value in pairs:
        if colon:
            found.setdefault(key.strip(), value.strip())
    return found
