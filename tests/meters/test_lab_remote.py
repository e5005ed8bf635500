"""The made machine that serves a meter: a client of a few lines agrees with the truth, our driver with the client."""

from __future__ import annotations

import json
import socket
from itertools import pairwise

import pytest
from plugged import Held, plugged_in, watched

from iojoule.experiment.coverage import cover
from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Reading
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.remote import RemoteFront
from iojoule.meters.remote import Remote

WATTS = 23.0
S = 10**9


def test_a_foreign_client_reads_the_truth_and_our_driver_what_it_reads() -> None:
    front = RemoteFront(Held(WATTS), seed=3)
    with plugged_in(front) as line:
        with socket.create_connection(("127.0.0.1", line.port), 5) as plain, plain.makefile("rw") as lines:
            assert json.loads(lines.readline())["iojoule_meters"] == 1

            def say(**document: object) -> dict[str, object]:
                lines.write(json.dumps(document) + "\n")
                lines.flush()
                return dict(json.loads(lines.readline()))

            welcome = say(hello=1, nonce="0123456789")
            assert welcome["meters"][0]["channels"][0]["boundary"] == "ac_wall"  # type: ignore[index]
            say(subscribe="wall", after=None, since=None)
            rows: list[list[float]] = []
            while len(rows) < 3:
                rows += json.loads(lines.readline()).get("rows", [])
        theirs = [row[8] for row in rows]
        assert theirs == pytest.approx([WATTS] * len(theirs), abs=(0.1 * WATTS + 0.05 * 150) / 100)
        assert all(row[6] - row[5] == pytest.approx(0.25 * S, rel=1e-3) for row in rows)
        with watched(front) as seen:
            ours = seen.more(3)
    assert [one.value for one in ours] == [theirs[0]] * len(ours)
    assert seen.events == []


@pytest.mark.parametrize("seed", range(5))
def test_windows_of_a_clock_of_another_boot_are_where_they_were(seed: int) -> None:
    """A load that steps at 60 s, by a server up to eleven days off and 50 ppm fast or slow."""
    sim = clock.SimClock()
    with clock.use(sim):
        begun_ns = sim.now_ns()
        front = RemoteFront(Load([State(10.0, 60.0), State(50.0, 100.0)], begun_ns), seed)
        driver = Remote(parse_meter({"name": "m", **front.section()}), link=front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        power, due_ns = list[Reading](), begun_ns + 10 * S
        while sim.now_ns() < begun_ns + 90 * S:
            power += driver.next(sim.now_ns() + S)
            if sim.now_ns() > due_ns:
                due_ns += 10 * S
                driver.sync()
    (over,) = (one for one in power if 11 < one.value < 49)
    share = (over.value - 10) / 40
    stepped_ns = over.end_ns - share * (over.end_ns - over.start_ns)
    assert abs(stepped_ns - begun_ns - 60 * S) < 3 * over.u_time_ns and over.u_time_ns < 5_000_000
    assert all(abs(b.start_ns - a.end_ns) < 5_000_000 for a, b in pairwise(power))


def check_coverage(runs: int) -> None:
    found, trials = cover("remote", range(runs))
    assert found.quoted == runs, [one for one in trials if one.joules is None]
    assert found.share >= 0.95 and found.used <= 1


def test_what_is_quoted_holds_the_truth() -> None:
    check_coverage(20)


@pytest.mark.stress
def test_what_is_quoted_holds_the_truth_in_many_runs() -> None:
    check_coverage(200)
