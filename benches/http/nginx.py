"""nginx as these benches want it: Debian's, one worker, no access log, one 8,700-byte file, a loopback port."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

FILE_SIZE = 8700
"""Bytes of a mean object of the web logs the engine is made for, as in the http_load scenario."""

CONFIG = """
worker_processes 1;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/www; }}
}}
"""


@contextlib.contextmanager
def running() -> Iterator[str]:
    """The base URL of a server that has `/file`."""
    with tempfile.TemporaryDirectory(prefix="iojoule-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "www").mkdir()
        (folder / "www" / "file").write_bytes(os.urandom(FILE_SIZE))
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        config = folder / "nginx.conf"
        config.write_text(CONFIG.format(folder=folder, port=port))
        server = subprocess.Popen(["nginx", "-p", name, "-c", str(config)], stderr=subprocess.DEVNULL)
        try:
            _await(port)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def _await(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise SystemExit("nginx did not start")
