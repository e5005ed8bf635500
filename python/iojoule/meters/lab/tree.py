"""A folder that looks like a part of /sys and changes as an instrument does: with each step of a simulated clock, and
on the host's by a thread. A reader sees a whole old attribute or a whole new one, as from the kernel.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from iojoule.meters import clock

MEMORY = Path("/dev/shm")


class Tree:
    """``fixed`` attributes are written once, what ``moving(now_ns)`` gives at every step."""

    def __init__(self, fixed: Mapping[str, object], moving: Callable[[int], Mapping[str, object]]) -> None:
        # In memory, like the kernel's: on a disk each replacing of a file may wait for it.
        self._folder = TemporaryDirectory(prefix="iojoule-lab-", dir=MEMORY if MEMORY.is_dir() else None)
        self.root = Path(self._folder.name) / "sys"
        self._moving = moving
        #: Attributes that say something else than they should, by name; a test sets them.
        self.instead: dict[str, str] = {}
        self._lock = threading.Lock()
        self._plugged = True
        for name, value in fixed.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(f"{value}\n")
        self.step(clock.now_ns())
        if simulated := clock.simulated():
            simulated.on_advance.append(self.step)

    def step(self, now_ns: int) -> None:
        """Write what the attributes are at ``now_ns``."""
        with self._lock:
            if not self._plugged:
                return
            for name, value in self._moving(now_ns).items():
                path = self.root / name
                fresh = path.with_name(f".{path.name}")
                fresh.write_text(self.instead.get(name, f"{value}\n"))
                fresh.replace(path)

    def unplug(self) -> None:
        """Take the device away: its attributes are gone."""
        with self._lock:
            self._plugged = False
            self.root.rename(self.root.with_name("gone"))

    def plug(self) -> None:
        """Put it back."""
        with self._lock:
            self.root.with_name("gone").rename(self.root)
            self._plugged = True

    @contextlib.contextmanager
    def moving(self, every_s: float) -> Iterator[Path]:
        """Step by the host's clock while the block lasts; the root."""
        ending = threading.Event()

        def go() -> None:
            while not ending.wait(every_s):
                self.step(clock.now_ns())

        thread = threading.Thread(target=go, name="lab-tree", daemon=True)
        thread.start()
        try:
            yield self.root
        finally:
            ending.set()
            thread.join(5.0)
