"""The spool: bounded, numbered, as good as the disk below it, and honest where it is not."""

from __future__ import annotations

import json
import random
import resource
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from serving import Served, check_equal, reading

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Retry
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.remote import RemoteFront
from iojoule.meters.remote import Remote
from iojoule.meters.serve.session import Session
from iojoule.meters.serve.spool import Position, Spool, SpoolInUse


def fill(spool: Spool, count: int, meter: str = "m", since: int = 0) -> None:
    for n in range(since, since + count):
        spool.append(meter, [(n * 10**9, f"[{n}]")])


def values(spool: Spool, after: Position, meter: str = "m") -> tuple[list[int], int]:
    """Everything after a position, and how many were lost on the way."""
    got, lost = list[int](), 0
    while True:
        stored, gone = spool.read(meter, after, 7)
        lost += gone
        if not stored:
            return got, lost
        got += [json.loads(one.row)[0] for one in stored]
        after = stored[-1].position


def test_numbers_begin_anew_with_each_life_and_positions_go_on_across_them(tmp_path: Path) -> None:
    first = Spool(tmp_path, "boot")
    fill(first, 10)
    at = first.read("m", first.before_all(), 4)[0][-1].position
    name = first.name_of(at.epoch)[0]
    first.close()
    second = Spool(tmp_path, "boot")
    fill(second, 5, since=10)
    found = second.find(name, at.seq)
    assert found == at and values(second, at) == (list(range(4, 15)), 0)
    assert second.find("never heard of", 3) is None
    assert values(second, second.end("m")) == ([], 0) and values(second, second.before_all())[0] == list(range(15))


def test_readings_after_a_time_are_found(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "boot")
    fill(spool, 10)
    assert values(spool, spool.before("m", "boot", 6 * 10**9))[0] == [7, 8, 9]
    assert values(spool, spool.before("m", "another boot", 0))[0] == []


@pytest.mark.parametrize("seed", range(8))
def test_what_is_read_and_what_is_lost_is_all_there_was(seed: int, tmp_path: Path) -> None:
    """Whatever the bound, the lives of the server and the pace of a reader: nothing twice, and every loss counted."""
    draw = random.Random(seed)
    spool, total, seen, lost = Spool(tmp_path, "boot", 400), 0, list[int](), 0
    after = spool.before_all()
    for _ in range(30):
        count = draw.choice([0, 1, 5, 60, 200])
        fill(spool, count, since=total)
        fill(spool, draw.choice([0, 30]), "another")
        total += count
        if draw.random() < 0.3:
            spool.close()
            spool = Spool(tmp_path, "boot", 400)
        if draw.random() < 0.5:
            stored, gone = spool.read("m", after, draw.choice([1, 3, 50]))
            lost += gone
            seen += [json.loads(one.row)[0] for one in stored]
            after = stored[-1].position if stored else after
    rest, gone = values(spool, after)
    seen += rest
    assert seen == sorted(set(seen)) and (not seen or seen[-1] < total)
    # What was dropped after the last reading there is is told with the next one.
    fill(spool, 1, since=total)
    last, gone_last = values(spool, Position(after.epoch, after.seq) if not rest else _last(spool, total - 1))
    assert len(seen) + len(last) + lost + gone + gone_last == total + 1


def _last(spool: Spool, number: int) -> Position:
    stored, _ = spool.read("m", spool.before_all(), 100_000)
    while stored:
        for one in stored:
            if json.loads(one.row)[0] == number:
                return one.position
        stored, _ = spool.read("m", stored[-1].position, 100_000)
    raise AssertionError(number)


def test_a_full_disk_costs_nothing_that_memory_holds(tmp_path: Path) -> None:
    spool = Spool(tmp_path, "boot")
    fill(spool, 5)
    pages = spool._db.execute("PRAGMA page_count").fetchone()[0]
    spool._db.execute(f"PRAGMA max_page_count={pages}")
    rows = [(n * 10**9, json.dumps([n, "x" * 500])) for n in range(5, 200)]
    for row in rows:
        spool.append("m", [row])
    assert "full" in spool.trouble
    assert values(spool, spool.before_all()) == (list(range(200)), 0)
    spool._db.execute("PRAGMA max_page_count=100000")
    fill(spool, 1, since=200)
    assert spool.trouble == "" and values(spool, spool.before_all()) == (list(range(201)), 0)
    with sqlite3.connect(tmp_path / "readings.sqlite") as db:
        assert db.execute("SELECT count(*) FROM readings").fetchone() == (201,)


def test_two_servers_do_not_share_a_spool(tmp_path: Path) -> None:
    first = Spool(tmp_path, "boot")
    with pytest.raises(SpoolInUse):
        Spool(tmp_path, "boot")
    first.close()
    Spool(tmp_path, "boot").close()


def test_a_disk_that_takes_no_more_while_a_client_reads(tmp_path: Path) -> None:
    """The server's files may not grow for a while (RLIMIT_FSIZE): said at both ends, and nothing is missing."""
    with Served(tmp_path) as served, reading(served.port) as client:
        client.more(5)
        assert served.process
        most = (served.spool / "readings.sqlite-wal").stat().st_size
        unlimited = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        assert "wait in memory" in client.event("lost")
        client.more(10)
        resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, unlimited)
        served.heard("spool: has room again")
        client.more(5)
        client.meters.close()
        check_equal(client, served)
    assert client.gaps == []


class Hub:
    """A bench with one meter that is filled by hand."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool

    def descriptions(self) -> list[dict[str, Any]]:
        return [{"name": "m", "channels": []}]

    def trouble(self, meter: str) -> tuple[str, str]:
        return "", ""

    def now_ns(self) -> int:
        return 0


def test_a_session_keeps_nothing_for_a_client_that_does_not_listen(tmp_path: Path) -> None:
    """What is said is pulled: a client that is slow for long costs the server no memory, and is told what it missed."""
    spool = Spool(tmp_path, "boot", 2000)
    session = Session(Hub(spool))
    session.hear(b'{"hello": 1, "nonce": "12345678"}')
    session.hear(b'{"subscribe": "m", "after": null, "since": null}')
    fill(spool, 5000)
    said = [json.loads(line) for line in session.pump()]
    numbers = [row[0] for document in said if "rows" in document for row in document["rows"]]
    while more := session.pump():
        numbers += [row[0] for line in more for row in json.loads(line).get("rows", [])]
    lost = sum(document.get("lost", 0) for document in said)
    assert lost + len(numbers) == 5000 and numbers == list(range(lost, 5000)) and lost > 4000


def test_a_client_that_was_away_for_too_long_is_told_how_much_it_missed() -> None:
    """On the simulated clock: half an hour without a look, and a spool of a few minutes."""
    sim = clock.SimClock()
    with clock.use(sim):
        front = RemoteFront(Load([State(20.0, 7200)], sim.now_ns()), 1)
        front.spool = Spool(None, "boot-1", 100_000)
        driver = Remote(parse_meter({"name": "m", **front.section()}), None, front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        begun = driver.position
        before = len(driver.next(clock.now_ns() + 10**9))
        clock.sleep(1800)
        with pytest.raises(Retry, match="readings are lost"):
            for _ in range(3):
                driver.next(clock.now_ns() + 10**9)
        readings = driver.next(clock.now_ns() + 10**9)
        assert "gap_before" in readings[0].quality
        for _ in range(8):
            readings += driver.next(clock.now_ns() + 10**9)
    assert driver.position and begun
    assert before == 1 and driver.received == before + len(readings)
    assert driver.received + driver.lost == driver.position[1] - begun[1] and driver.lost > 5000
