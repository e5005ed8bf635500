"""A Yokogawa WT310E on a TCP port: the dialogue of its manual, an update every interval, and faults on demand.

``power(t)`` gives the true watts of the load; a window's value is its mean over the window, as the meter would show.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

RATES = {"100MS": 0.1, "250MS": 0.25, "500MS": 0.5, "1S": 1.0, "2S": 2.0, "5S": 5.0}


class Wt310Emulator:
    """Serves one connection at a time, like the instrument."""

    def __init__(self, power: Callable[[float], float] = lambda t: 18.0) -> None:
        self.power = power
        self.settings: dict[str, str] = {":RATE": "1S"}
        #: What the meter takes although something else was set: {":INP:VOLT:RANG": "600.0E+00"}.
        self.stubborn: dict[str, str] = {}
        #: Words shown instead of values, by item: {"P": "NAN"}.
        self.shown: dict[str, str] = {}
        self.condition = 0
        #: Bytes sent once instead of the next values, then the line goes on, or ends where ``hang_up`` says so.
        self.instead: list[bytes] = []
        self.hang_up = False
        self.late_s = 0.0
        self.heard: list[str] = []
        self.integrating_since: float | None = None
        self.joules = 0.0
        self._epoch = time.monotonic()
        self._read_updates = 0
        self._listener: socket.socket | None = None
        self._peer: socket.socket | None = None
        self.port = 0

    @property
    def resource(self) -> str:
        return f"TCPIP0::127.0.0.1::{self.port}::SOCKET"

    def plug(self) -> None:
        """Listen, on the port it had before if there was one."""
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._serve, args=(listener,), daemon=True).start()

    def unplug(self) -> None:
        """Stop listening and drop the line."""
        listener, self._listener = self._listener, None
        for thing in (listener, self._peer):
            if thing:
                with contextlib.suppress(OSError):
                    thing.shutdown(socket.SHUT_RDWR)
                thing.close()

    def _serve(self, listener: socket.socket) -> None:
        while self._listener is listener:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            self._peer = peer
            with peer, contextlib.suppress(OSError):
                self._talk(peer)

    def _talk(self, peer: socket.socket) -> None:
        with peer.makefile("rb") as lines:
            for line in lines:
                command = line.decode("ascii").strip()
                self.heard.append(command)
                answer = self._answer(command)
                if answer is None:
                    continue
                if command.startswith(":NUM:NORM:VAL?"):
                    time.sleep(self.late_s)
                    if self.instead:
                        peer.sendall(self.instead.pop(0))
                        if self.hang_up:
                            self.hang_up = False
                            return
                        continue
                peer.sendall(answer.encode("ascii") + b"\n")

    def _answer(self, command: str) -> str | None:
        head, _, value = command.partition(" ")
        fixed = {"*IDN?": "YOKOGAWA,WT310E,C2UA12345E,F1.01", ":STAT:ERR?": '0,"No error"'}
        if command in fixed:
            return fixed[command]
        if command == ":STAT:COND?":
            return str(self.condition)
        if command == ":STAT:EESR?":
            fresh, self._read_updates = self._count() > self._read_updates, self._count()
            return "1" if fresh else "0"
        if command == ":COMM:WAIT 1":
            while self._count() <= self._read_updates:
                time.sleep(0.0005)
            return None
        if head == ":NUM:NORM:VAL?":
            words = self._values()
            return words[int(value) - 1] if value else ",".join(words)
        if head.startswith(":INTEG:"):
            return self._integrate(head)
        if head.endswith("?"):
            return self.stubborn.get(head[:-1], self._written(self.settings.get(head[:-1], "0")))
        self.settings[head] = value
        if head == ":RATE":
            self._epoch, self._read_updates = time.monotonic(), 0
        return None

    def _integrate(self, head: str) -> str | None:
        running = self.integrating_since is not None
        if head == ":INTEG:STAT?":
            return "STAR" if running else "STOP" if self.joules else "RES"
        if head == ":INTEG:STAR":
            self.integrating_since = time.monotonic()
        elif head == ":INTEG:STOP" and self.integrating_since is not None:
            self.joules += self._mean(self.integrating_since, time.monotonic()) * (
                time.monotonic() - self.integrating_since
            )
            self.integrating_since = None
        elif head == ":INTEG:RES":
            self.joules = 0.0
        return None

    def _interval(self) -> float:
        return RATES[self.settings[":RATE"]]

    def _count(self) -> int:
        return int((time.monotonic() - self._epoch) / self._interval())

    def _values(self) -> list[str]:
        end = self._epoch + self._count() * self._interval()
        watts = self._mean(end - self._interval(), end)
        values = {"U": 230.1, "I": watts / 230.1 / 0.6, "P": watts, "LAMB": 0.6, "IPP": 3 * watts / 230.1}
        values["WH"] = self.joules / 3600
        names = [self.settings.get(f":NUM:NORM:ITEM{i}", "U,1").partition(",")[0] for i in range(1, 7)]
        return [self.shown.get(name, f"{values[name]:.7E}") for name in names]

    def _mean(self, start: float, end: float, points: int = 50) -> float:
        step = (end - start) / points
        return sum(self.power(start + (i + 0.5) * step) for i in range(points)) / points

    @staticmethod
    def _written(value: str) -> str:
        """As the meter writes it: 300V is 300.0E+00, 500MA is 500.0E-03, ON is 1."""
        words = {"ON": "1", "OFF": "0", "ASCII": "ASC"}
        if value in words:
            return words[value]
        for unit, factor in (("MA", "E-03"), ("MS", "E-03"), ("V", "E+00"), ("A", "E+00"), ("S", "E+00")):
            if value.endswith(unit) and value[: -len(unit)].replace(".", "").isdigit():
                return f"{float(value[: -len(unit)]):.1f}{factor}"
        return value


@contextlib.contextmanager
def plugged_in(power: Callable[[float], float] = lambda t: 18.0) -> Iterator[Wt310Emulator]:
    """An emulator that listens while the block lasts."""
    meter = Wt310Emulator(power)
    meter.plug()
    try:
        yield meter
    finally:
        meter.unplug()
