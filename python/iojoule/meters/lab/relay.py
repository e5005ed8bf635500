"""How an outside server that answers for the laboratory asks it: one line there and one back, on a loopback port."""

from __future__ import annotations

import socket

PATIENCE_S = 5.0
"""How long an answer is waited for; until then such a server says nothing to anybody."""
NONE = "NONE"
"""There is no answer."""


class Laboratory:
    """The front on a loopback port. A line that was not answered whole is left, so that no answer comes to the next."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._line: socket.socket | None = None

    def ask(self, question: str) -> str:
        try:
            if self._line is None:
                self._line = socket.create_connection(("127.0.0.1", self._port), PATIENCE_S)
            self._line.sendall(f"{question}\n".encode())
            heard = b""
            while not heard.endswith(b"\n"):
                if not (data := self._line.recv(4096)):
                    raise OSError
                heard += data
        except OSError:
            if self._line is not None:
                self._line.close()
            self._line = None
            return NONE
        return heard.decode("ascii", errors="replace").strip()
