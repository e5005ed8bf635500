"""A Quarch module through QIS: rails multiplied one by one, sign and exponent kept, an overrun is a gap."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, NoRawLog, Reading, Reconnect
from iojoule.meters.continuity import Continuity
from iojoule.meters.quarch import QisLink, Quarch

MODULE = "tcp::qtl1995-01-012"
STRIPE_S = 2**14 / 250_000  # 16k
HEADER = "Version: 5\r\nFormat: 15\r\nAverage: 14"
OPENING = [
    ("*idn?", "Family: HD Programmable Power\r\nName: PPM\r\nPart#: QTL1999-01"),
    ("rec stop", "OK"),
    ("record:trigger:mode manual", "OK"),
    ("record:averaging 16k", "OK"),
    ("record:averaging?", "16k"),
    ("rec stream", "OK"),
    ("stream text header", HEADER),
]


class Transcript:
    """QIS played back on a simulated clock: each answer takes a millisecond."""

    def __init__(self, *said: tuple[str, str]) -> None:
        self.said = list(said)

    def ask(self, command: str) -> str:
        asked, answer = self.said.pop(0)
        assert command == f"{MODULE} {asked}"
        clock.sleep(0.001)
        return answer

    def close(self) -> None:
        pass


def running(buffered: int, status: str = "Running") -> tuple[str, str]:
    return "stream?", f"{status}\r\nStripes Buffered: {buffered} of 1024000"


def stripes(*lines: str) -> tuple[str, str]:
    return "stream text 4096", "\r\n".join([*lines, "eof"])


@pytest.fixture(autouse=True)
def simulated() -> Iterator[None]:
    with clock.use(clock.SimClock()):
        yield


def opened(*said: tuple[str, str], opening: list[tuple[str, str]] = OPENING) -> tuple[Quarch, Transcript]:
    link = Transcript(*opening, *said)
    driver = Quarch(parse_meter({"kind": "quarch", "module": MODULE}), link=link)  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    return driver, link


def watts(readings: list[Reading]) -> dict[str, float]:
    return {reading.channel: reading.value for reading in readings}


def test_power_is_the_sum_of_rails_and_not_the_sum_of_volts_times_the_sum_of_amperes() -> None:
    driver, link = opened(running(1), stripes("0 0 5000 0 12000 1000000"))
    assert watts(driver.next(0)) == pytest.approx({"power_5v": 0.0, "power_12v": 12.0, "total": 12.0})
    assert link.said == []


def test_sign_and_exponent_of_a_value_are_kept() -> None:
    driver, _ = opened(running(1), stripes("0,0,5000,-250000,12000,1.5e5"))
    assert watts(driver.next(0)) == pytest.approx({"power_5v": -1.25, "power_12v": 1.8, "total": 0.55})


def test_the_total_holds_the_rails_and_is_never_added_to_them() -> None:
    driver, _ = opened()
    contains = {channel.id: channel.contains for channel in driver.describe().channels}
    assert contains == {"power_5v": (), "power_12v": (), "total": ("power_5v", "power_12v")}


def test_a_module_with_one_rail_has_one_channel() -> None:
    opening = [*OPENING[:-1], ("stream text header", "Version: 5\r\nFormat: 3\r\nAverage: 14")]
    driver, _ = opened(running(1), stripes("0 0 12000 1000000"), opening=opening)
    assert watts(driver.next(0)) == pytest.approx({"power_12v": 12.0})


def test_windows_touch_and_lie_before_now() -> None:
    driver, _ = opened(running(3), stripes(*(f"{n} 0 5000 100000 12000 0" for n in range(3))))
    clock.sleep(1.0)
    rail = [reading for reading in driver.next(0) if reading.channel == "power_5v"]
    assert [b.start_ns - a.end_ns for a, b in pairwise(rail)] == [0, 0]
    assert rail[0].end_ns - rail[0].start_ns == round(STRIPE_S * 1e9)
    assert rail[-1].end_ns < clock.now_ns()


def test_an_overrun_loses_nothing_that_was_buffered_and_leaves_a_gap() -> None:
    again = [*OPENING]
    driver, link = opened(
        running(2, "Overrun"), stripes("0 0 5000 100000 12000 0", "1 0 5000 100000 12000 0"),
        *again, running(1), stripes("0 0 5000 200000 12000 0"),
    )  # fmt: skip
    continuity = Continuity(STRIPE_S)
    kept = continuity.stamp(driver.next(0))
    assert [reading.value for reading in kept if reading.channel == "power_5v"] == pytest.approx([0.5, 0.5])
    with pytest.raises(Reconnect, match="Overrun"):
        driver.next(0)
    continuity.interrupted()
    driver.close()
    clock.sleep(5.0)
    driver.configure()
    after = continuity.stamp(driver.next(0))
    assert [reading.flags for reading in after] == ["gap_before"] * 3
    assert link.said == []


def test_an_overrun_that_a_look_at_the_clock_finds_loses_nothing_either() -> None:
    driver, link = opened(running(1, "Overrun"), stripes("0 0 5000 100000 12000 0"))
    driver.sync()
    assert watts(driver.next(0))["power_5v"] == pytest.approx(0.5)
    with pytest.raises(Reconnect, match="Overrun"):
        driver.next(0)
    assert link.said == []


def test_stripes_that_are_missing_leave_a_gap() -> None:
    driver, _ = opened(running(12), stripes("0 0 5000 0 12000 0", "11 0 5000 0 12000 0"))
    clock.sleep(1.0)
    kept = [one.flags for one in Continuity(STRIPE_S).stamp(driver.next(0)) if one.channel == "total"]
    assert kept == ["", "gap_before"]


@pytest.mark.parametrize("line", ["0 0 5000 0 12000", "0 0 5000 0 12000 0 7", "garbage", "0 0 5000 x 12000 0"])
def test_half_a_stripe_is_no_reading(line: str) -> None:
    driver, _ = opened(running(1), stripes(line))
    with pytest.raises(Reconnect, match="does not hold 4 values"):
        driver.next(0)


def test_averaging_the_module_did_not_take_ends_it() -> None:
    with pytest.raises(Fatal, match="the module says 32k"):
        opened(opening=[*OPENING[:4], ("record:averaging?", "32k")])


def test_a_stream_that_averages_otherwise_ends_it() -> None:
    header = ("stream text header", "Version: 5\r\nFormat: 15\r\nAverage: 10")
    with pytest.raises(Fatal, match=r"averages 2\^10 samples, not 16k"):
        opened(opening=[*OPENING[:-1], header])


@contextlib.contextmanager
def server(answer: Callable[[str], list[bytes]]) -> Iterator[tuple[str, int]]:
    """Something that talks like QIS: a welcome, then parts of an answer to each line."""
    listener = socket.create_server(("127.0.0.1", 0))

    def talk() -> None:
        with contextlib.suppress(OSError):
            peer, _ = listener.accept()
            with peer, peer.makefile("rb") as lines:
                peer.sendall(b"Quarch Instrument Server\r\n>")
                for line in lines:
                    for part in answer(line.decode().strip()):
                        peer.sendall(part)
                        time.sleep(0.02)

    thread = threading.Thread(target=talk, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()
    finally:
        listener.close()
        thread.join(5)


def link(address: tuple[str, int], timeout_s: float = 5.0) -> QisLink:
    return QisLink(*address, timeout_s, NoRawLog())


def test_an_answer_in_parts_is_one_answer() -> None:
    with server(lambda line: [b"Running\r", b"\nStripes Buffered: 1 of 9\r\n", b">"]) as address:
        qis = link(address)
        assert qis.ask("stream?") == "Running\r\nStripes Buffered: 1 of 9"
        qis.close()


def test_a_bare_prompt_before_the_answer_is_passed_over() -> None:
    with server(lambda line: [b">", b"OK\r\n>"]) as address:
        qis = link(address)
        assert qis.ask("rec stop") == "OK"
        qis.close()


def test_a_server_that_falls_silent_is_left() -> None:
    with server(lambda line: [b"Runn"]) as address:
        qis = link(address, timeout_s=0.2)
        with pytest.raises(Reconnect, match="b'Runn' so far"):
            qis.ask("stream?")
        qis.close()


def test_a_server_that_is_not_there_is_waited_for() -> None:
    with pytest.raises(Reconnect, match="no QIS at"):
        link(("127.0.0.1", 1))
