"""What was said and heard is kept byte for byte, in order, and a full disk stops nothing but the keeping."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from iojoule.meters import rawlog
from iojoule.meters.rawlog import RawFile, records


def kept(path: Path) -> list[tuple[str, bytes]]:
    return [(direction, data) for _, direction, data in records(path.read_bytes())]


def test_what_was_sent_is_on_disk_at_once_with_all_before_it(tmp_path: Path) -> None:
    raw = RawFile(tmp_path / "m.log")
    raw.received(b"READY\r\n")
    raw.sent(b"*IDN?\n")
    assert kept(tmp_path / "m.log") == [("<", b"READY\r\n"), (">", b"*IDN?\n")]


def test_what_only_comes_in_is_written_every_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = RawFile(tmp_path / "m.log")
    raw.received(b"first")
    monkeypatch.setattr(rawlog, "LATEST_NS", 2**62)
    raw.received(b"second")
    assert kept(tmp_path / "m.log") == [("<", b"first")]
    monkeypatch.setattr(rawlog, "LATEST_NS", 0)
    raw.received(b"third")
    assert [data for _, data in kept(tmp_path / "m.log")] == [b"first", b"second", b"third"]


def test_what_is_heard_in_another_thread_while_something_is_sent_is_kept(tmp_path: Path) -> None:
    """The MQTT library hears in a thread of its own."""
    raw = RawFile(tmp_path / "m.log")
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        hearing = threading.Thread(target=lambda: [raw.received(b"%d" % n) for n in range(5000)])
        hearing.start()
        while hearing.is_alive():
            raw.sent(b"?")
        hearing.join()
    finally:
        sys.setswitchinterval(before)
    raw.flush()
    said = [data for direction, data in kept(tmp_path / "m.log") if direction == "<"]
    assert said == [b"%d" % n for n in range(5000)]


def test_bytes_that_look_like_a_record_are_data(tmp_path: Path) -> None:
    raw = RawFile(tmp_path / "m.log")
    raw.sent(b"1 < 3\nabc\n")
    assert kept(tmp_path / "m.log") == [(">", b"1 < 3\nabc\n")]


def test_half_a_record_at_the_end_is_left_out() -> None:
    assert records(b"1 > 2\nab\n2 < 9\ncut") == [(1, ">", b"ab")]


def test_a_full_disk_is_said_once_and_stops_nothing_else() -> None:
    raw = RawFile(Path("/dev/full"))
    raw.sent(b"x")
    assert raw.failure == "raw log stopped: No space left on device"
    raw.failure = ""
    raw.sent(b"y")
    assert raw.failure == ""
