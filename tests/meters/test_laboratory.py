"""What the laboratory serves is known as made; what merely sits on loopback is not."""

from __future__ import annotations

from typing import Any

import pytest

from iojoule.meters import clock, laboratory
from iojoule.meters.lab.bench import Bench, Place
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.table import front_class


@pytest.mark.parametrize("front", ["yokogawa_wt310", "yokogawa_wt210_serial", "powercap", "shelly", "modbus"])
def test_a_meter_of_a_bench_is_known_as_made_while_the_bench_serves(front: str) -> None:
    load = Load([State(5.0, 1.0)], clock.now_ns())
    place = Place("it", front_class(front)(load, 1))
    with Bench(load, [place]):
        section = place.section()
        assert laboratory.is_made(section)
    assert not laboratory.is_made(section)


@pytest.mark.parametrize(
    "section",
    [
        {"kind": "shelly", "url": "http://127.0.0.1:4001"},
        {"kind": "modbus", "host": "192.0.2.7", "port": 4000},
        {"kind": "shelly", "url": "http://192.0.2.7:4000"},
        {"kind": "powercap", "root": "/sys/class/powercap"},
        {"kind": "constant", "watts": 5.0},
    ],
)
def test_a_real_meter_is_not_taken_for_a_made_one(section: dict[str, Any]) -> None:
    with laboratory.noted([{"kind": "shelly", "url": "http://127.0.0.1:4000"}, {"root": "/tmp/tree"}]):
        assert not laboratory.is_made(section)
        assert laboratory.is_made({"kind": "modbus", "host": "127.0.0.1", "port": 4000})
