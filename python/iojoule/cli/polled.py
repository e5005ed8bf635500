"""A look at something, again and again while it goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def polled(look: Callable[[], object], every_s: float) -> Iterator[None]:
    """Looks, from a thread, until the block is left, and once more then."""
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(every_s):
            look()

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        look()
