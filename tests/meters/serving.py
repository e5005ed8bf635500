"""``iojoule meter serve`` as a process that can be killed, a wire that can be cut, and a client that counts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from iojoule.meters import parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.supervisor import MeterSet

BENCH = """
[[meter]]
name = "fan"
kind = "constant"
interval = "50ms"
watts = 12.5
u_w = 0.1
"""


class Served:
    """The server of one file, on the port it had before if there was one."""

    def __init__(self, folder: Path, *options: str, bench: str = BENCH) -> None:
        self.file, self._options = folder / "bench.toml", list(options)
        self.file.write_text(bench)
        self.spool = folder / "bench.spool"
        self.port, self.ptd_port = 0, 0
        self.said: list[str] = []
        self._changed = threading.Condition()
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Served:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.end(signal.SIGTERM)

    def start(self) -> None:
        command = [sys.executable, "-m", "iojoule", "meter", "serve", str(self.file)]
        command += ["--listen", f"127.0.0.1:{self.port}", *self._options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment())
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()
        self.port = int(self.heard(r"serving .* on 127\.0\.0\.1:(\d+)")[1])
        self.heard(r"^[\w-]+: reading$")
        if "--ptdaemon" in self._options:
            self.ptd_port = int(self.heard(r"protocol for .* on 127\.0\.0\.1:(\d+)")[1])

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr
        for line in process.stderr:
            with self._changed:
                self.said.append(line.rstrip())
                self._changed.notify_all()

    def heard(self, pattern: str, timeout_s: float = 60.0) -> re.Match[str]:
        """The newest line that matches."""
        found: list[re.Match[str]] = []

        def look() -> bool:
            found[:] = [match for line in self.said if (match := re.search(pattern, line))]
            return bool(found)

        with self._changed:
            assert self._changed.wait_for(look, timeout_s), self.said
        return found[-1]

    def end(self, number: signal.Signals) -> int:
        assert self.process
        self.process.send_signal(number)
        self.said.clear()
        return self.process.wait(30)

    def record(self) -> list[tuple[str, int, int, float]]:
        """(channel, start, end, value) of every reading the spool holds, in order."""
        with contextlib.closing(sqlite3.connect(self.spool / "readings.sqlite")) as db:
            rows = [json.loads(row) for (row,) in db.execute("SELECT row FROM readings ORDER BY epoch, seq")]
        return [(row[0], row[4], row[5], row[7]) for row in rows]


def environment() -> dict[str, str]:
    package = str(Path(__file__).resolve().parents[2] / "python")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))}


class Wire:
    """A wire between a client and a server, on a port of its own, that can be cut and counts what passes."""

    def __init__(self, port: int) -> None:
        self._far = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.passed = 0
        #: Cut when so many bytes have passed to the client; then whole again.
        self.cut_after: int | None = None
        self.cuts = 0
        #: Nothing passes to the client while this is set.
        self.stalled = threading.Event()
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self._far), 5)
                except OSError:
                    near.close()
                    continue
                self._ends += [near, far]
                threading.Thread(target=self._pass, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near, True), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                while counted and self.stalled.is_set():
                    time.sleep(0.01)
                if counted and self.cut_after is not None and self.passed + len(data) >= self.cut_after:
                    sink.sendall(data[: self.cut_after - self.passed])
                    self.cut_after, self.passed, self.cuts = None, 0, self.cuts + 1
                    break
                self.passed += len(data) if counted else 0
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for thing in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                thing.close()


class Client:
    """A meter set with one remote meter, and what came from it."""

    def __init__(self, port: int, raw: Path | None = None, **keys: object) -> None:
        section: dict[str, object] = {"kind": "remote", "name": "fan", "interval": "50ms"}
        section |= {"address": f"127.0.0.1:{port}", "timeout": "2s"}
        self.readings: list[Reading] = []
        self.events: list[tuple[str, str]] = []
        self.news = threading.Condition()
        self.meters = MeterSet([parse_meter(section | keys)], raw, self._take, self._event)

    def _take(self, meter: str, readings: list[Reading]) -> None:
        with self.news:
            self.readings += readings
            self.news.notify_all()

    def _event(self, meter: str, kind: str, text: str) -> None:
        with self.news:
            self.events.append((kind, text))
            self.news.notify_all()

    def more(self, count: int = 10) -> None:
        """Wait for so many more readings."""
        with self.news:
            have = len(self.readings)
            assert self.news.wait_for(lambda: len(self.readings) >= have + count, 60), (have, self.events)

    def event(self, kind: str) -> str:
        """Wait for an event of that kind; its text."""
        with self.news:
            assert self.news.wait_for(lambda: any(kind == one for one, _ in self.events), 60), self.events
            return next(text for one, text in self.events if one == kind)

    @property
    def gaps(self) -> list[int]:
        return [reading.seq for reading in self.readings if "gap_before" in reading.quality]


@contextlib.contextmanager
def reading(port: int, raw: Path | None = None, **keys: object) -> Iterator[Client]:
    client = Client(port, raw, **keys)
    with client.meters:
        assert client.meters.wait_first_good(60) == {}, client.events
        yield client


def check_equal(client: Client, served: Served) -> None:
    """The client has every reading of the server's own record from its first to its last, each once, in order."""
    record = served.record()
    ends = [end_ns for _, _, end_ns, _ in record]
    first = min(range(len(ends)), key=lambda i: abs(ends[i] - client.readings[0].end_ns))
    part = record[first : first + len(client.readings)]
    assert len(part) == len(client.readings)
    for mine, (channel, start_ns, end_ns, value) in zip(client.readings, part, strict=True):
        assert (mine.channel, mine.value) == (channel, value)
        within_ns = 2_000_000 + 5 * mine.u_time_ns  # both ends are on this host's clock
        assert abs(mine.start_ns - start_ns) < within_ns and abs(mine.end_ns - end_ns) < within_ns
    assert [one.seq for one in client.readings] == list(range(len(client.readings)))
