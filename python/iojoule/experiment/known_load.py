"""A load of known times, to see when each meter sees it: writes or reads past the page cache, or a busy processor.

It comes in pulses. They and the rests differ in length, so that the pattern fits its own echo at one lag only.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from iojoule.errors import HostError
from iojoule.meters.blockdev import device_of

PATTERN = ((0.0, 1.0), (1.0, 0.8), (1.5, 1.2), (0.7, 0.9), (1.2, 1.3))
"""Busy and rest of each pulse, in units of ``scale``."""
BLOCK = 1 << 20
FILE_BLOCKS = 256
BIN_S = 0.02
CPU_STEP_S = 0.005


Act = tuple[Callable[[], float], str]
"""Does a piece of load and says how much it was (bytes, or seconds of processor); and how it is done, in words."""
Load = contextlib.AbstractContextManager[Act]


@dataclass(frozen=True, slots=True)
class Submitted:
    """What was submitted: host times and amounts (bytes, or seconds of processor), and how it was done."""

    at_ns: list[int]
    amount: list[float]
    began_ns: int
    ended_ns: int
    how: str

    def activity(self) -> tuple[Any, Any]:
        """Edges in seconds since the beginning, and the amount per second between them."""
        count = max(1, round((self.ended_ns - self.began_ns) * 1e-9 / BIN_S))
        edges = np.arange(count + 1) * BIN_S
        at = (np.array(self.at_ns, dtype=np.float64) - self.began_ns) * 1e-9
        amount, _ = np.histogram(at, bins=edges, weights=np.array(self.amount))
        return edges, amount / BIN_S


def disk_under(folder: Path) -> str:
    """The disk that writes in ``folder`` reach; HostError where they reach none."""
    try:
        name, found = device_of(folder)
    except OSError as error:
        raise HostError(f"{folder}: {error.strerror}", missing=str(folder)) from error
    if name is None or not folder.is_dir():
        why = found if folder.is_dir() else f"there is no folder {folder}"
        raise HostError(
            f"nothing to write on: {why}", missing="a disk", remedy="name a folder on the disk with --on, or use --cpu"
        )
    return name


def drive(load: Load, scale: float, tick: Callable[[], None]) -> Submitted:
    """The whole pattern. ``tick`` is called after each act, and at least ten times a second."""
    at: list[int] = []
    amount: list[float] = []
    began_ns = time.monotonic_ns()
    with load as (act, how):
        for busy_s, rest_s in PATTERN:
            until = time.monotonic() + busy_s * scale
            while time.monotonic() < until:
                at.append(time.monotonic_ns())
                amount.append(act())
                tick()
            until = time.monotonic() + rest_s * scale
            while (left := until - time.monotonic()) > 0:
                tick()
                time.sleep(min(0.1, left))
    return Submitted(at, amount, began_ns, time.monotonic_ns(), how)


def pattern_s(scale: float) -> float:
    """Seconds of the whole pattern."""
    return scale * sum(busy + rest for busy, rest in PATTERN)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[Act]:
    """One block after the other to a file below ``folder``, over and over, each on the disk before the next; it
    is removed afterwards. HostError where it cannot be written past the page cache."""
    buffer = mmap.mmap(-1, BLOCK)
    buffer.write(os.urandom(BLOCK))
    try:
        file = NamedTemporaryFile(dir=folder, prefix=".sync-pulse-")  # noqa: SIM115 - closed below
    except OSError as error:
        raise HostError(f"{folder} cannot be written: {error.strerror}", missing=str(folder)) from error
    with file:
        try:
            fd = os.open(file.name, os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)
        except OSError as error:
            raise HostError(
                f"{folder} cannot be written past the page cache: {error.strerror}",
                missing="O_DIRECT",
                remedy="name a folder on a disk with --on, or use --cpu",
            ) from error
        turn = 0

        def write() -> float:
            nonlocal turn
            written = os.pwrite(fd, buffer, turn % FILE_BLOCKS * BLOCK)
            turn += 1
            return float(written)

        try:
            yield write, f"sequential writes of 1 MiB past the page cache in {folder}"
        finally:
            os.close(fd)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Act]:
    """One block after the other of a device or file, from its begin to its end and over again; nothing is changed.
    HostError where it cannot be read past the page cache."""
    buffer = mmap.mmap(-1, BLOCK)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        raise HostError(f"{path} cannot be read past the page cache: {error.strerror}", missing="O_DIRECT") from error
    try:
        blocks = max(1, os.lseek(fd, 0, os.SEEK_END) // BLOCK)
        turn = 0

        def read() -> float:
            nonlocal turn
            taken = os.preadv(fd, [buffer], turn % blocks * BLOCK)
            turn += 1
            return float(taken)

        yield read, f"sequential reads of 1 MiB past the page cache of {path}"
    finally:
        os.close(fd)


@contextlib.contextmanager
def computing() -> Iterator[Act]:
    """A processor that does nothing useful."""

    def spin() -> float:
        until = time.monotonic() + CPU_STEP_S
        while time.monotonic() < until:
            pass
        return CPU_STEP_S

    yield spin, "one busy processor"
