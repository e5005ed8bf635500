"""A bench: its load follows a script or I/O, its truth is on disk, its plugs can be pulled."""

from __future__ import annotations

import csv
import json
import os
import socket
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from iojoule.meters import clock, parse_meter
from iojoule.meters.lab.activity import ByteRate, OfRun, of_device
from iojoule.meters.lab.bench import Bench, Place, place_of, port_of, toml
from iojoule.meters.lab.load import Driven, Load, State
from iojoule.meters.lab.script import states
from iojoule.meters.lab.table import FRONTS, front_class
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.store.writer import process_stamp


def test_a_script_is_a_row_of_states() -> None:
    assert states("idle 5s, spin-up 1.5s,12.5W 2min") == [State(5.0, 5.0), State(24.0, 1.5), State(12.5, 120.0)]
    assert states("rest 1s", {"rest": 3.0}) == [State(3.0, 1.0)]


@pytest.mark.parametrize("text", ["", "idle", "idle 5s active 10s", "asleep 5s", "idle soon", "-3W 1s", "idle 0s"])
def test_what_is_no_script_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        states(text)


def test_bytes_per_second_of_a_disk_come_from_its_sectors(tmp_path: Path) -> None:
    stat = tmp_path / "diskstats"
    line = "   8       0 sda 10 0 {} 5 10 0 {} 5 0 5 5\n   8      16 sdb 1 0 7 5 1 0 7 5 0 5 5\n"
    stat.write_text(line.format(1000, 500))
    with clock.use(clock.SimClock()):
        rate = ByteRate(of_device("sda", tmp_path))
        clock.sleep(0.5)
        stat.write_text(line.format(1600, 900))
        assert rate() == (600 + 400) * 512 / 0.5
        clock.sleep(0.5)
        assert rate() == 0.0
    assert of_device("sdc", tmp_path)() is None


def test_a_run_is_followed_while_it_runs(tmp_path: Path) -> None:
    moved = OfRun(tmp_path)
    assert moved() is None
    ours = tmp_path / "20260101T000000Z_x_1"
    ours.mkdir()
    manifest = {"kind": "campaign", "status": "running", "process": process_stamp(os.getpid())}
    (ours / "manifest.json").write_text(json.dumps(manifest))
    moved = OfRun(tmp_path)
    before = moved()
    assert before is not None
    (ours / "manifest.json").write_text(json.dumps(manifest | {"process": f"{os.getpid()}@1"}))
    assert OfRun(tmp_path)() is None, "a process of the same number that began at another time is another one"


def test_a_load_that_follows_io_holds_what_it_saw_until_the_next_look() -> None:
    rates = iter([0.0, 50.0, 400.0, 0.0])
    driven = Driven(lambda: next(rates), 100.0, 5.0, 7.0)
    for second in range(4):
        driven.look(second * 10**9)
    assert [driven.watts(int(at * 1e9)) for at in (0.5, 1.5, 2.5, 9.0)] == [5.0, 8.5, 12.0, 5.0]
    assert driven.joules(500_000_000, 2_500_000_000) == pytest.approx(0.5 * 5 + 8.5 + 0.5 * 12)


def test_the_truth_on_disk_is_the_truth(tmp_path: Path) -> None:
    load = Load([State(5.0, 0.15), State(12.0, 0.15)], clock.now_ns(), noise_w=0.5, seed=3, repeat=True)
    with Bench(load, [], tmp_path / "truth.csv"):
        clock.sleep(0.65)
    rows = list(csv.DictReader((tmp_path / "truth.csv").open()))
    assert len(rows) >= 3
    first, last = int(rows[0]["start_ns"]), int(rows[-1]["end_ns"])
    assert float(rows[-1]["joules"]) == pytest.approx(load.joules(first, last))
    assert sum(float(row["watts"]) * 0.1 for row in rows) == pytest.approx(load.joules(first, last))
    assert all(a["end_ns"] == b["start_ns"] for a, b in pairwise(rows))


def test_a_plug_that_is_pulled_and_put_back_is_at_the_same_address() -> None:
    place = Place("wall", Wt310Front(Load([State(9.0, 1.0)], clock.now_ns()), 1))
    with Bench(place.front.truth, [place]) as bench:
        port = place.port
        socket.create_connection(("127.0.0.1", port)).close()
        assert bench.command("unplug wall") == "unplug wall"
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1)
        bench.command("plug wall")
        socket.create_connection(("127.0.0.1", port)).close()
        assert place.port == port
        bench.command("garbage wall 2")
        assert list(place.front.faults.next) == ["garbage", "garbage"]


@pytest.mark.parametrize("line", ["silent", "silent lamp", "explode wall", "silent wall often", "a b c d"])
def test_a_command_that_is_none_is_refused(line: str) -> None:
    place = Place("wall", Wt310Front(Load([State(9.0, 1.0)], 0), 1))
    with pytest.raises(ValueError):
        Bench(place.front.truth, [place]).command(line)


@pytest.mark.parametrize("name", FRONTS)
def test_the_section_of_every_front_can_be_written_down_and_read_again(name: str) -> None:
    section = {"name": "m", **front_class(name)(Load([State(9.0, 1.0)], 0), 1).section()}
    (read,) = tomllib.loads(toml([section]))["meter"]
    assert read == json.loads(json.dumps(section))
    assert parse_meter(read).kind == section["kind"]


def test_a_section_is_served_where_it_says() -> None:
    load = Load([State(9.0, 1.0)], 0)
    section = {"kind": "yokogawa_wt310", "resource": "TCPIP0::127.0.0.1::5999::SOCKET"}
    place = place_of(section, load, 1)
    assert (place.name, place.port) == ("yokogawa_wt310", 5999)
    with pytest.raises(ValueError, match="no instrument of kind 'powercapp'"):
        place_of({"kind": "powercapp"}, load, 1)
    with pytest.raises(ValueError, match=r"an address on 127\.0\.0\.1"):
        place_of(section | {"resource": "TCPIP0::192.0.2.7::INSTR"}, load, 1)
    assert port_of({"url": "http://localhost:8080/x"}) == 8080
    assert port_of({"host": "127.0.0.1", "port": 502}) == 502
