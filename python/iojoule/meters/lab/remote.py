"""A machine with a wattmeter that serves it (``meters.serve``): its clock counts from another boot, and drifts.

The server's own sessions and spool, on the clock in use: only the wire is made up, each way of it 0.2 to 2 ms.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, ClassVar

from iojoule.meters import clock, wire
from iojoule.meters.base import Channel, read
from iojoule.meters.lab.instrument import Instrument, Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.serve.credentials import Credentials
from iojoule.meters.serve.server import Server
from iojoule.meters.serve.session import Session
from iojoule.meters.serve.spool import Spool


class RemoteFront:
    """One meter, ``wall``: means over 250 ms whose ends the server knows to a millisecond. Its own hub."""

    ABOUT: ClassVar[str] = "iojoule meter serve on another machine, with a WT310E, 300 V x 0.5 A"
    WATTS: ClassVar[tuple[float, float]] = (4.0, 60.0)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        self._draw = random.Random(f"remote/{seed}")
        self.truth, self.seed = truth, seed
        self.make = Make(
            rdg_pct=0.1, rng_pct=0.05, range=150.0, update_s=0.25, latency_s=0.02, phase_s=self._draw.uniform(0, 0.25),
            clock_offset_s=self._draw.uniform(-900, 1e6), clock_drift_ppm=self._draw.uniform(-50, 50),
        )  # fmt: skip
        self.instrument = Instrument(truth, self.make, seed)
        self.spool = Spool(None, f"boot-{seed}")
        accuracy: dict[str, Any] = {"u_rel": 0.1 / 100 / 3**0.5, "u_abs": 0.05 / 100 * 150.0 / 3**0.5}
        self.channel = Channel("power", "power", "W", "ac_wall", "window_mean", role="system", **accuracy)
        self._count: int | None = None
        self._seq = 0
        self._address = "127.0.0.1:4780"

    def section(self) -> dict[str, Any]:
        return {"kind": "remote", "address": self._address, "meter": "wall", "interval": "250ms"}

    def link(self) -> RemoteLine:
        return RemoteLine(self, random.Random(f"way/{self.seed}"))

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        ready, ending = threading.Event(), threading.Event()

        async def work() -> None:
            server = Server(self, Credentials())
            listener = await server.listen("127.0.0.1", port)
            self._address = "{}:{}".format(*listener.sockets[0].getsockname())
            ready.set()
            while not ending.is_set():
                await asyncio.sleep(0.02)
                if self.feed(clock.now_ns()):
                    server.wake()
            listener.close()
            await server.hang_up()

        thread = threading.Thread(target=lambda: asyncio.run(work()), name="lab-remote", daemon=True)
        thread.start()
        if not ready.wait(10.0):
            raise OSError(f"port {port} of loopback cannot be had")
        try:
            yield self._address
        finally:
            ending.set()
            thread.join(5.0)

    def truth_channels(self) -> tuple[str, ...]:
        return ("power",)

    def descriptions(self) -> list[dict[str, Any]]:
        channel = asdict(self.channel) | {"contains": []}
        identity = {"maker": "YOKOGAWA", "model": "WT310E", "serial": "C2UA12345E"}
        document = {"name": "wall", "driver": "yokogawa_wt310", "interval_s": self.make.update_s, "identity": identity}
        return [document | {"channels": [channel]}]

    def trouble(self, meter: str) -> tuple[str, str]:
        return "", ""

    def now_ns(self) -> int:
        return self.instrument.clock_ns(clock.now_ns())

    def feed(self, now_ns: int) -> int:
        """Spool what the meter has shown until now; how many readings that were."""
        shown = self.instrument.shown(now_ns)
        first = shown.count if self._count is None else self._count + 1
        self._count = shown.count
        for count in range(first, shown.count + 1):
            end_ns = shown.end_ns - (shown.count - count) * int(self.make.update_s * 1e9)
            one = self.instrument.shown(end_ns + int(self.make.latency_s * 1e9))
            start_ns, end_ns = (self.instrument.clock_ns(at) for at in (one.start_ns, one.end_ns))
            off_ns = round(self._draw.uniform(-1e6, 1e6))  # how well the server saw the edge
            reading = read(self.channel, start_ns + off_ns, end_ns + off_ns, 577_350, one.value)
            self.spool.append("wall", [(reading.end_ns, wire.row(replace(reading, seq=self._seq)))])
            self._seq += 1
        return max(0, shown.count + 1 - first)

    def next_ns(self, now_ns: int) -> int:
        return self.instrument.next_update_ns(now_ns)


class RemoteLine:
    """A ``Line`` straight to a session, on the clock in use."""

    def __init__(self, front: RemoteFront, draw: random.Random) -> None:
        self._front, self._draw = front, draw
        self._session = Session(front)
        self._coming: list[tuple[int, bytes]] = []
        self._come([self._session.greet()])

    def _come(self, lines: list[bytes]) -> None:
        """What was said now arrives later, in order."""
        for line in lines:
            at_ns = clock.now_ns() + int(self._draw.uniform(0.0002, 0.002) * 1e9)
            self._coming.append((max(at_ns, self._coming[-1][0] if self._coming else 0), line))

    def send(self, line: bytes) -> None:
        clock.sleep(self._draw.uniform(0.0002, 0.002))
        self._come(self._session.hear(line))

    def line(self, until_ns: int) -> bytes | None:
        while True:
            self._front.feed(clock.now_ns())
            self._come(self._session.pump())
            if self._coming and self._coming[0][0] <= until_ns:
                at_ns, line = self._coming.pop(0)
                clock.sleep_until(at_ns)
                return line
            due_ns = self._front.next_ns(clock.now_ns())
            if due_ns > until_ns:
                clock.sleep_until(until_ns)
                return None
            clock.sleep_until(due_ns)

    def unasked(self) -> bytes:
        return b""

    def close(self) -> None:
        self._coming.clear()
