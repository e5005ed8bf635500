"""Our meters behind the protocol of PTDaemon, driven as MLPerf's harness does: find ranges, fix them, measure."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from ptd_harness import Harness, maxima
from serving import Served

from iojoule.meters.base import Channel, Reading, read
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.meters.serve.ptdaemon_bench import BenchSource


def test_a_harness_finds_ranges_and_measures(tmp_path: Path) -> None:
    front = Wt310Front(Load([State(18.0, 1.0)], time.monotonic_ns()), 3)
    log = tmp_path / "ptd.txt"
    with front.served() as address:
        host, _, port = address.rpartition(":")
        bench = f'[[meter]]\nname = "wall"\nkind = "yokogawa_wt310"\nresource = "TCPIP0::{host}::{port}::SOCKET"\n'
        bench += 'interval = "100ms"\nvoltage_range = 600\ncurrent_range = 20\n'
        options = ("--ptdaemon", "0", "--ptdaemon-log", str(log))
        with Served(tmp_path, *options, bench=bench) as served, Harness(served.ptd_port) as ptd:
            assert ptd.cmd("Hello") == "Hello, PTDaemon here!"
            identity = ptd.cmd("Identify").split(",")
            assert identity[11] == "mode=power" and identity[8] == "0", "not accepted by SPEC, and says so"
            # As SPEC's harness takes it apart, which wants 1.4.1 at least.
            version = re.fullmatch(r"version=([\d.]+)-([0-9a-f]{8})-(\d{8})", identity[9])
            assert version and version[1] >= "1.4.1" and int(identity[1]) == 100
            assert ptd.ranges() == (0, 20, 0, 600)
            for which in "VA":
                assert ptd.cmd(f"SR,{which},Auto") == f"Range {which} changed"
            assert ptd.ranges()[0] == ptd.ranges()[2] == 1
            started = "Starting untimed measurement, maximum 500000 samples at 500ms with 0 rampup samples"
            assert ptd.cmd("Go,500,0,x_ranging") == started
            assert ptd.cmd("SR,V,300") == "Meter busy"
            time.sleep(1.6)
            assert ptd.cmd("Stop") == "Stopping untimed measurement"
            volts, amps = maxima(log, "x_ranging")
            assert volts == pytest.approx(230, rel=0.01) and amps == pytest.approx(18 / 230 / 0.6, rel=0.1)
            assert ptd.cmd(f"SR,V,{volts:.4f}") == "Range V changed"
            assert ptd.cmd(f"SR,A,{amps:.4f}") == "Range A changed"
            (a_auto, amperes, v_auto, now_volts) = ptd.ranges()
            assert (a_auto, v_auto) == (0, 0) and amperes >= amps and 600 > now_volts >= volts
            assert ptd.cmd("Go,500,1,x_testing").endswith("with 1 rampup samples")
            seen = ptd.samples()
            while len(seen) < 3:
                seen += ptd.samples()
            for sample in seen:
                assert sample["Watts"] == pytest.approx(18.0, rel=0.02)
                assert sample["Volts"] * sample["Amps"] * sample["PF"] == pytest.approx(sample["Watts"], rel=1e-3)
            assert ptd.cmd("Stop") == "Stopping untimed measurement"
            watts, uncertainty = ptd.cmd("Watts").split(","), ptd.cmd("Uncertainty").split(",")
            assert float(watts[1]) == pytest.approx(18.0, rel=0.02) and int(watts[4]) >= 3 and watts[5] == "0"
            # (0.1 % of 18 W + 0.05 % of the range) of 18 W.
            expected = (0.018 + 0.0005 * amperes * now_volts) / 18
            assert float(uncertainty[1]) == pytest.approx(expected, rel=0.03) and uncertainty[7] == "0"
            assert ptd.cmd("Stop") == "Error: no measurement to stop"


def test_what_is_wrong_is_answered_and_ends_nothing(tmp_path: Path) -> None:
    with Served(tmp_path, "--ptdaemon", "0") as served, Harness(served.ptd_port) as ptd:
        said = {
            "Nonsense": "Unknown command: Nonsense",
            "SR,V": "Invalid number of parameters",
            "SR,V,much": "Error in parameter",
            "SR,V,300": "Error: the ranges of a constant cannot be set",
            "Go,fast": "Error in parameter",
            "RL,*,*": "Invalid number of parameters",
            "RL": "No unread samples available",
            "Watts": "Watts,-1,-1,-1,0,0,0",
        }
        assert {command: ptd.cmd(command) for command in said} == said
        assert ptd.ranges() == (-1, -1, -1, -1)
        ptd.cmd("Go,100,0,m")
        while not (seen := ptd.samples()):  # RL waits one interval; the meter may take longer to begin
            time.sleep(0.05)
        assert seen[0]["Watts"] == 12.5 and seen[0]["Volts"] == -1, "what the meter does not have is unknown"


class Bench:
    """A bench whose meter reads what a test says."""

    def __init__(self) -> None:
        self.readers: list[object] = []
        self.document = {
            "name": "wall",
            "driver": "d",
            "interval_s": 0.25,
            "channels": [{"id": "power", "quantity": "power"}],
        }

    def descriptions(self) -> list[dict[str, object]]:
        return [self.document]


def test_a_sample_is_the_mean_of_its_interval_and_unknown_where_one_reading_is_none() -> None:
    source = BenchSource(Bench(), "wall")  # type: ignore[arg-type]
    channel = Channel("power", "power", "W", "ac_wall", "window_mean", u_abs=0.1)

    def take(number: int, watts: float, *flags: str) -> Reading:
        return read(channel, number * 250_000_000, (number + 1) * 250_000_000, 0, watts, *flags)

    power = [10.0, 12.0, 14.0, 16.0, 0.0, -1.5, 5.0, 5.0, 9.0, 9.0, 9.0, 9.0]
    for number, watts in enumerate(power):
        source._take("wall", [take(number, watts, *(["invalid"] if number == 10 else []))])
    seconds = source.samples(0, 0, 1.0)
    assert [one.values["Watts"] for one in seconds] == [13.0, 2.125, -1.0]
    assert [one.end_ns for one in seconds] == [10**9, 2 * 10**9, 3 * 10**9]
    assert len(source.samples(0, 0, 0.25)) == 12
