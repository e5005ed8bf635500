"""Storage that benches load: a file without holes, and a loop device on one. Loop devices need root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PIECE = 1 << 22


def written_file(path: Path, size: int) -> Path:
    """A file of ``size`` bytes that does not compress, on the disk and in the page cache."""
    with path.open("wb") as file:
        for _ in range(size // PIECE):
            file.write(os.urandom(PIECE))
        file.flush()
        os.fsync(file.fileno())
    return path


@contextmanager
def loop_device(file: Path, *options: str) -> Iterator[str]:
    """A loop device on the file; ``options`` are those of losetup."""
    attach = ["losetup", "--find", "--show", *options, str(file)]
    device = subprocess.run(attach, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)
