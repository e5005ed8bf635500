"""A harness for PTDaemon as others wrote theirs: lines with CR LF over one socket, and the log read back by mark.

Written after the dialogue of mlcommons/power-dev (ranging, then testing with the ranges found), without our reader.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path

LOG_LINE = re.compile(r"^Time,[^,]*,Watts,(?P<w>[^,]*),Volts,(?P<v>[^,]*),Amps,(?P<a>[^,]*),.*,Mark,(?P<mark>[^,]*)$")


class Harness:
    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 10)
        self._socket.settimeout(30)
        self._buffer = b""

    def __enter__(self) -> Harness:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def cmd(self, command: str) -> str:
        self._socket.sendall(command.encode() + b"\r\n")
        return self.line()

    def line(self) -> str:
        while b"\r\n" not in self._buffer:
            data = self._socket.recv(4096)
            assert data, "the daemon hung up"
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line.decode()

    def samples(self) -> list[dict[str, float]]:
        """What RL gives, by name."""
        said = self.cmd("RL").split()
        if said[0] != "Last":
            return []
        found = []
        for _ in range(int(said[1])):
            words = self.line().split(",")
            found.append({name: float(value) for name, value in zip(words[2:-2:2], words[3:-2:2], strict=True)})
        return found

    def ranges(self) -> tuple[float, float, float, float]:
        head, a_auto, amps, v_auto, volts = self.cmd("RR").split(",")
        assert head == "Ranges"
        return float(a_auto), float(amps), float(v_auto), float(volts)


def maxima(log: Path, mark: str) -> tuple[float, float]:
    """Greatest volts and amperes of the lines with a mark."""
    rows = [found for line in log.read_text().splitlines() if (found := LOG_LINE.match(line)) and found["mark"] == mark]
    return max(float(row["v"]) for row in rows), max(float(row["a"]) for row in rows)
