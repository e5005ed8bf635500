"""What is asked of a web server before it is measured: does it answer, and does it serve the content."""

from __future__ import annotations

import http.client
import os
import ssl
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote, urlsplit


def get(url: str, timeout: float) -> tuple[int, str]:
    """Status and Server header of one GET; OSError if no HTTP server answers. The body is not read."""
    parts = urlsplit(url)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        # Whether the server is the right one is for the measuring client; here it matters that it answers.
        trusting = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=timeout, context=trusting)
    else:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)
    try:
        connection.request("GET", parts.path or "/", headers={"Connection": "close"})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Server", "")
    except http.client.HTTPException as error:
        raise ConnectionError(f"the answer is not HTTP: {error!r}") from None
    finally:
        connection.close()


def first_file(folder: Path) -> str:
    """Relative URL of one file below the folder, "" if there is none."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        if files:
            return quote(str((Path(parent) / min(files)).relative_to(folder)))
    return ""


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
