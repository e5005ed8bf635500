"""What a client says to a server of meters and what it makes of the answers, as a transcript; left-overs fail."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect, Retry
from iojoule.meters.remote import PROBES, Remote
from iojoule.meters.serve import protocol

Document = dict[str, Any]
SECTION = {"kind": "remote", "name": "wall", "address": "192.0.2.7:4780", "interval": "250ms"}
CHANNEL: Document = {
    "id": "power", "quantity": "power", "unit": "W", "boundary": "ac_wall", "kind": "window_mean", "modulus": None,
    "u_rel": 0.0006, "u_abs": 0.04, "latency_s": 0.0, "min_interval_s": 0.1, "contains": [],
    "role": "drive", "drive": "sdb",
}  # fmt: skip
METER: Document = {"name": "wall", "driver": "yokogawa_wt310", "interval_s": 0.25, "identity": {"serial": "C2UA12345E"}}
METER |= {"channels": [CHANNEL]}
#: The server's clock is two hours behind ours.
BEHIND_NS = 7200 * 10**9
HELLO = ({"hello": 1, "nonce": "ours", "proof": None}, [{"hello": 1, "proof": None, "meters": [METER]}])
SUBSCRIBE = (
    {"subscribe": "wall", "after": None, "since": None},
    [{"subscribed": "wall", "after": ["e1", 41]}],
)
Exchange = tuple[Document, list[Document]]


def row(seq: int, start_s: float, watts: float | None = 18.0, flags: str = "", number: int | None = None) -> list[Any]:
    start_ns = int(start_s * 1e9)
    return [
        seq,
        "power",
        "power",
        "W",
        seq if number is None else number,
        start_ns,
        start_ns + 250_000_000,
        1000,
        watts,
        0.05,
        flags,
    ]


def rows(*of: list[Any], epoch: str = "e1", boot: str = "b1") -> Document:
    return {"rows": list(of), "epoch": epoch, "clock": boot}


class Transcript:
    """A line that knows what will be said. Documents without a question come by themselves after their predecessor."""

    def __init__(self, exchanges: Iterable[Exchange], boot: str = "b1") -> None:
        self.exchanges, self.boot = list(exchanges), boot
        self.coming: list[Document] = [{"iojoule_meters": 1, "nonce": "theirs", "token": False}]
        self.raw = b""

    def send(self, line: bytes) -> None:
        clock.sleep(0.0005)
        said = json.loads(line)
        if "time" in said:
            self.coming.append({"time": said["time"], "ns": clock.now_ns() - BEHIND_NS, "clock": self.boot})
            return
        expected, answers = self.exchanges.pop(0)
        assert said == expected
        self.coming += answers

    def line(self, until_ns: int) -> bytes | None:
        if not self.coming:
            clock.sleep_until(until_ns)
            return None
        clock.sleep(0.0005)
        return json.dumps(self.coming.pop(0)).encode()

    def unasked(self) -> bytes:
        return b""

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[clock.SimClock]:
    monkeypatch.setattr(protocol, "nonce", lambda: "ours")
    monkeypatch.delenv("IOJOULE_METER_TOKEN", raising=False)
    sim = clock.SimClock(10**13)
    with clock.use(sim):
        yield sim


def through(*exchanges: Exchange, **keys: object) -> tuple[Remote, Transcript]:
    line = Transcript(exchanges)
    return Remote(parse_meter(SECTION | keys), None, line), line  # type: ignore[arg-type]


def started(*answers: Document, then: list[Exchange] | None = None) -> tuple[Remote, Transcript]:
    driver, line = through(HELLO, (SUBSCRIBE[0], [*SUBSCRIBE[1], *answers]), *(then or []))
    driver.configure()
    driver.start()
    return driver, line


def following(driver: Remote) -> list[Reading]:
    return driver.next(clock.now_ns() + 10**9)


def test_the_channels_are_those_of_the_far_meter() -> None:
    driver, _ = through(HELLO)
    driver.configure()
    described = driver.describe()
    (power,) = described.channels
    assert (power.u_rel, power.u_abs, power.role, power.drive) == (0.0006, 0.04, "drive", "sdb")
    assert described.identity["serial"] == "C2UA12345E" and described.identity["driver"] == "yokogawa_wt310"


def test_windows_come_in_host_time_and_what_was_handed_on_is_acknowledged() -> None:
    have: Exchange = ({"have": ["e1", 43]}, [])
    driver, line = started(rows(row(42, 100.0), row(43, 100.25)), then=[have])
    one, two = following(driver)
    assert one.start_ns == pytest.approx(BEHIND_NS + 100 * 10**9, abs=1_000_000) and one.end_ns == two.start_ns
    # Probes of 1 ms way bound the clock to 0.5 ms; the far meter's own 1 µs hardly counts. Drift over two hours does.
    assert one.u_time_ns >= 0.5e6 / math.sqrt(3)
    assert (one.value, one.u_value) == (18.0, 0.05)
    assert driver.next(clock.now_ns()) == [] and not line.exchanges, "the driver said less than the transcript"
    assert len(driver.maps["b1"].probes) == 1 and PROBES == 4


def test_flags_and_missing_values_are_kept() -> None:
    driver, _ = started(rows(row(42, 100.0, None, "invalid overload"), row(43, 100.25, -0.5), row(44, 100.5, 0.0)))
    bad, back, zero = following(driver)
    assert bad.flags == "invalid overload" and math.isnan(bad.value)
    assert (back.value, zero.value) == (-0.5, 0.0) and not back.quality


def test_a_reading_that_comes_twice_is_one() -> None:
    driver, _ = started(rows(row(42, 100.0), row(43, 100.25)), rows(row(43, 100.25), row(44, 100.5)))
    assert len(following(driver)) == 3


def test_after_a_cut_line_the_rest_is_asked_for() -> None:
    again: list[Exchange] = [
        ({"have": ["e1", 42]}, []),
        HELLO,
        ({"subscribe": "wall", "after": ["e1", 42], "since": None},
         [{"subscribed": "wall", "after": ["e1", 42]}, rows(row(43, 100.25))]),
    ]  # fmt: skip
    driver, line = started(rows(row(42, 100.0)), then=again)
    first = following(driver)
    assert driver.next(clock.now_ns()) == []
    line.coming = [{"iojoule_meters": 1, "nonce": "theirs", "token": False}]
    driver.configure()
    driver.start()
    (second,) = following(driver)
    assert not second.quality and abs(second.start_ns - first[0].end_ns) < 1_000_000 and not line.exchanges


def test_a_new_life_of_the_server_is_a_gap_only_if_something_is_missing() -> None:
    joined = rows(row(0, 100.25), epoch="e2")
    apart = rows(row(0, 103.0), epoch="e3")
    driver, _ = started(rows(row(42, 100.0)), joined, apart)
    assert [one.flags for one in following(driver)] == ["", "", "gap_before"]


def test_readings_the_spool_dropped_are_counted_and_said() -> None:
    have: Exchange = ({"have": ["e1", 42]}, [])
    driver, _ = started(
        rows(row(42, 100.0)), {"lost": 7, "why": "the spool is small"}, rows(row(50, 102.0)), then=[have]
    )
    assert len(driver.next(clock.now_ns() + 10**9)) == 1
    with pytest.raises(Retry, match="7 readings are lost: the spool is small"):
        following(driver)
    (after,) = following(driver)
    assert after.flags == "gap_before" and driver.lost == 7


def test_readings_of_a_clock_that_was_never_compared_are_lost_aloud() -> None:
    driver, _ = started(rows(row(42, 5.0), row(43, 5.25), boot="an earlier boot"))
    with pytest.raises(Retry, match="2 readings are lost: they are of before"):
        following(driver)


def test_a_far_meter_that_is_lost_is_said_until_it_is_back() -> None:
    driver, line = started({"event": "lost", "text": "unplugged"})
    for _ in range(2):
        with pytest.raises(Retry, match=r"wall of 192\.0\.2\.7:4780: unplugged"):
            following(driver)
    line.coming = [{"event": "back", "text": ""}, rows(row(42, 100.0))]
    assert len(following(driver)) == 1


def test_a_process_that_took_over_leaves_out_what_was_handed_on() -> None:
    """It knows the end of the last window in host time; the server is asked from a little before that."""
    line = Transcript([])
    driver = Remote(parse_meter(SECTION), None, line)  # type: ignore[arg-type]
    handed_ns = BEHIND_NS + 100_500_000_000
    driver.resume({"power": (41, handed_ns)})

    line.exchanges = [HELLO]
    driver.configure()
    sent: list[Document] = []
    send = line.send

    def listen(data: bytes) -> None:
        said = json.loads(data)
        if "subscribe" in said:
            sent.append(said)
            line.coming += [
                {"subscribed": "wall", "after": ["e1", 41]},
                rows(*(row(42 + n, 100.25 + n / 4) for n in range(3))),
            ]
        else:
            send(data)

    line.send = listen  # type: ignore[method-assign]
    driver.start()
    assert sent[0]["after"] is None and sent[0]["since"][0] == "b1"
    assert sent[0]["since"][1] == pytest.approx(100_375_000_000, abs=1_000_000)
    assert [one.start_ns - BEHIND_NS for one in following(driver)] == pytest.approx([100.5e9, 100.75e9], abs=1e6)


@pytest.mark.parametrize(
    ("hello", "error", "why"),
    [
        ({"refused": "the token is wrong or missing"}, Fatal, "token"),
        ({"hello": 1, "proof": None, "meters": [METER | {"name": "other"}]}, Fatal, "it has: other"),
        ({"hello": 1, "proof": None, "meters": [METER | {"channels": []}]}, Reconnect, "not there yet"),
        ({"hello": 1, "proof": None, "meters": [METER | {"interval_s": 1.0}]}, Fatal, 'interval = "1s"'),
        ({"what": 1}, Reconnect, "no part of the protocol"),
    ],
)
def test_what_a_server_may_answer_to_hello(hello: Document, error: type[Exception], why: str) -> None:
    driver, _ = through((HELLO[0], [hello]))
    with pytest.raises(error, match=why):
        driver.configure()


def test_a_server_that_does_not_know_the_token_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("0123456789abcdef")
    proof = protocol.proof(b"0123456789abcdef", "client", "theirs", "ours")
    said = {"hello": 1, "nonce": "ours", "proof": proof}
    driver, _ = through((said, [{"hello": 1, "proof": None, "meters": [METER]}]), token_file=tmp_path / "token")
    with pytest.raises(Fatal, match="does not know the token"):
        driver.configure()


@pytest.mark.parametrize(
    "said",
    [
        {"rows": [[42, "power"]], "epoch": "e1", "clock": "b1"},
        {"rows": [row(42, 100.0)]},
        {"rows": 7, "epoch": "e1", "clock": "b1"},
        {"rows": [row(42, 100.0, flags="splendid")], "epoch": "e1", "clock": "b1"},
        {"lost": "many", "why": ""},
        {"describe": 1},
        {"time": 99},
    ],
)
def test_documents_that_are_half_right_are_never_readings(said: Document) -> None:
    driver, _ = started(said)
    with pytest.raises(Reconnect):
        following(driver)
    assert driver.received == 0 and driver.position == ("e1", 41)


def test_silence_breaks_the_line() -> None:
    driver, _ = started()
    with pytest.raises(Reconnect, match="silent for 10 s"):
        driver.next(clock.now_ns() + 60 * 10**9)


@pytest.mark.parametrize("address", ["localhost", ":80", "host:", "host:0", "host:70000", "host:http"])
def test_an_address_is_a_host_and_a_port(address: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        parse_meter(SECTION | {"address": address})
