"""Devices that answer HTTP, on a real socket with the faults of a bench, and in this process on the clock in use."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from iojoule.meters import clock
from iojoule.meters.http_link import Reply
from iojoule.meters.lab.faults import Faults


@dataclass(frozen=True, slots=True)
class Request:
    """Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


#: (request, now) → (when the answer is ready, the answer).
Answer = Callable[[Request, int], tuple[int, Reply]]


def reply_of(document: Any, status: int = 200, **headers: str) -> Reply:
    """JSON, with headers written like ``x_auth_token``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, json.dumps(document).encode(), {"content-type": "application/json", **named})


class LabWeb:
    """A ``Web`` straight to a front; each way takes ``way_s``."""

    def __init__(self, answer: Answer, way_s: float = 0.002) -> None:
        self._answer, self._way_s = answer, way_s
        self._headers: dict[str, str] = {}

    def authorize(self, headers: Mapping[str, str]) -> None:
        self._headers |= {name.lower(): value for name, value in headers.items()}

    def get(self, path: str) -> Reply:
        return self._asked(Request("GET", path, self._headers))

    def post(self, path: str, document: Mapping[str, Any]) -> Reply:
        return self._asked(Request("POST", path, self._headers, json.dumps(document).encode()))

    def delete(self, path: str) -> Reply:
        return self._asked(Request("DELETE", path, self._headers))

    def close(self) -> None:
        pass

    def _asked(self, request: Request) -> Reply:
        clock.sleep(self._way_s)
        ready_ns, reply = self._answer(request, clock.now_ns())
        clock.sleep_until(ready_ns)
        clock.sleep(self._way_s)
        return reply


@contextlib.contextmanager
def served_on_http(
    answer: Answer, faults: Faults, port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, int]]:
    """Serve on loopback, many connections at a time; host and port. ``tls`` makes it HTTPS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.get("content-length", 0)))
            ready_ns, reply = answer(Request(self.command, self.path, headers, body), clock.now_ns())
            clock.sleep_until(ready_ns)
            lines = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
            lines += [f"{name}: {value}" for name, value in reply.headers.items()]
            head = "\r\n".join([*lines, f"content-length: {len(reply.body)}", "", ""]).encode()
            whole, sent = head + reply.body, 0
            for wait_s, part in faults.parts(whole, self.path):
                clock.sleep(wait_s)
                if part is None:
                    break
                self.wfile.write(part)
                sent += len(part)
            self.close_connection = sent != len(whole)

        do_GET = do_POST = do_DELETE = _any  # noqa: N815 - what http.server calls

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a reader that hung up

    server = Server(("127.0.0.1", port), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    connections: list[Any] = []
    server.process_request = _noting(server.process_request, connections)  # type: ignore[method-assign]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="lab-http", daemon=True)
    thread.start()
    try:
        yield "127.0.0.1", server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(2)  # who is connected notices that the plug is pulled
        thread.join(5.0)


def _noting(call: Callable[..., None], connections: list[Any]) -> Callable[..., None]:
    def noted(request: Any, client_address: Any) -> None:
        connections.append(request)
        call(request, client_address)

    return noted
