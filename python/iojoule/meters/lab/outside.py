"""Servers of the laboratory that are processes of their own: started, waited for until they listen, and ended."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import iojoule

START_S = 30.0


@contextlib.contextmanager
def running(command: Sequence[str], ready: bytes, environment: Mapping[str, str] | None = None) -> Iterator[None]:
    """``command`` while the block lasts, from when it has said ``ready``; OSError with what it said where it does not.

    It finds this package where we found it.
    """
    package = str(Path(iojoule.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": path} | dict(environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout
    said, until = b"", time.monotonic() + START_S
    try:
        while ready not in said:
            heard = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]
            data = os.read(process.stdout.fileno(), 4096) if heard else b""
            if not data:
                raise OSError(f"{command[0]} does not start: {said[-400:].decode(errors='replace')}")
            said += data
        yield
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def free_udp_port() -> int:
    """A port of loopback that nobody has, for a server that must be told one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
