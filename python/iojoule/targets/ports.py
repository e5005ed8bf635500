"""Loopback TCP ports: one that is free, and who holds one that is not (read from /proc/net/tcp, proc(5))."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from pathlib import Path

from iojoule.errors import HostError

LOOPBACK = "127.0.0.1"
_LISTEN = "0A"


def free_port() -> int:
    """A port that nobody listens on at this moment; the caller must be ready to lose the race for it."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int) -> None:
    """HostError, with the holder if it can be told, unless the port can be bound."""
    with socket.socket() as probe:
        # As servers do: a port whose last connections are in TIME_WAIT counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise HostError(
                    f"port {port} is in use{_by(holder(port))}",
                    missing=f"port {port}",
                    remedy="stop that server, or leave 'port' out of the target so that a free one is taken",
                ) from None
            if error.errno == errno.EACCES:
                raise HostError(
                    f"port {port} may only be opened by root",
                    missing=f"port {port}",
                    remedy="take a port of 1024 or above",
                ) from None
            raise


def holder(port: int, root: Path = Path("/")) -> tuple[int, str] | None:
    """Process id and command of who listens on the port; None if there is nobody or we may not see them."""
    inodes = {inode for table in ("tcp", "tcp6") for inode in _listening(root / "proc/net" / table, port)}
    if not inodes:
        return None
    sockets = {f"socket:[{inode}]" for inode in inodes}
    for process in (root / "proc").glob("[0-9]*"):
        if any(link in sockets for link in _open_files(process)):
            try:
                return int(process.name), (process / "comm").read_text().strip()
            except OSError:
                continue
    return None


def _open_files(process: Path) -> Iterator[str]:
    """What the descriptors of a process are; fewer where it goes away meanwhile, none where it is someone else's."""
    try:
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return
    for descriptor in descriptors:
        # Of our own process, one is the descriptor that read this very list: it is closed again by now.
        with contextlib.suppress(OSError):
            yield str(descriptor.readlink())


def _listening(table: Path, port: int) -> list[str]:
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port]


def _by(who: tuple[int, str] | None) -> str:
    return "" if who is None else f" by process {who[0]} ({who[1]})"
