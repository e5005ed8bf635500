"""A port is free, or it is known who has it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from iojoule.errors import HostError
from iojoule.targets.ports import LOOPBACK, free_port, holder, require_free


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_a_free_port_can_be_had() -> None:
    require_free(free_port())


def test_a_taken_port_is_refused_with_its_number_and_its_holder(taken: int) -> None:
    with pytest.raises(HostError, match=rf"port {taken} is in use by process {os.getpid()} "):
        require_free(taken)


def test_nobody_holds_a_free_port() -> None:
    assert holder(free_port()) is None


def test_the_holder_is_found_by_the_inode_of_its_socket(tmp_path: Path) -> None:
    head = "  sl  local_address rem_address   st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode\n"
    row = "   0: 0100007F:1F90 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 33 0 {inode} 1\n"
    (tmp_path / "proc/net").mkdir(parents=True)
    # 1F90 is port 8080; 0A is LISTEN, 01 an open connection of the same port.
    text = head + row.format(state="01", inode=4711) + row.format(state="0A", inode=4712)
    (tmp_path / "proc/net/tcp").write_text(text)
    for pid, inode in ((100, 4711), (200, 4712)):
        (tmp_path / f"proc/{pid}/fd").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/fd/3").symlink_to(f"socket:[{inode}]")
        (tmp_path / f"proc/{pid}/comm").write_text("apache2\n")
    assert holder(8080, tmp_path) == (200, "apache2")
    assert holder(8081, tmp_path) is None


def test_the_listener_is_found_behind_a_free_descriptor() -> None:
    """Listing the descriptors of a process of ours opens one, at the lowest free number, which closes meanwhile."""
    gap = os.open("/dev/null", os.O_RDONLY)
    with socket.socket() as listener:
        os.close(gap)
        assert listener.fileno() > gap
        listener.bind((LOOPBACK, 0))
        listener.listen()
        found = holder(listener.getsockname()[1])
    assert found is not None
    assert found[0] == os.getpid()
