"""A phase too short for its meters is found before it is run: ten windows, and what a shift in time may cost."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from iojoule.experiment.parse import loads
from iojoule.experiment.phase_length import short_phases
from iojoule.experiment.plan import Plan, make_plan
from iojoule.metrics.phase_length import alignment_s, shortest_s

FILE = """
[experiment]
name = "short"
destroy = ["disk.img"]
{header}
[[target]]
kind = "file"
path = "disk.img"
size = "64MiB"

[[workload]]
kind = "block"
pattern = "random"
block_size = "4KiB"
queue_depth = [1, 2]
duration = "{duration}"

[[meter]]
kind = "{kind}"
{meter}
"""


def plan(duration: str, kind: str = "hwmon", meter: str = 'interval = "1s"', header: str = "") -> Plan:
    return make_plan(loads(FILE.format(duration=duration, kind=kind, meter=meter, header=header), Path("short.toml")))


def test_the_least_length_is_that_of_the_golden_table(golden: Path) -> None:
    with (golden / "meter_alignment.csv").open() as lines:
        for row in csv.DictReader(lines):
            p_w, neighbour_w, shift_s, target = (
                float(row[name]) for name in ("p_w", "p_neighbour_w", "shift_s", "target_pct")
            )
            least = alignment_s((p_w - neighbour_w) / p_w, shift_s, target / 100)
            assert least == pytest.approx(float(row["recomputed_min_phase_s"]), rel=1e-9)


def test_a_phase_has_ten_windows_at_least() -> None:
    assert shortest_s(1.0, 0.0) == 10.0
    assert shortest_s(1.0, 0.5, 7 / 12, 0.001) == pytest.approx(291.6666667)


def test_a_phase_of_fewer_windows_is_warned_of_with_its_steps() -> None:
    short, other = short_phases(plan("8s"))
    assert (short.phase_s, short.needed_s, short.steps, other.steps) == (8.0, 10.0, (0,), (1,))
    assert "10 windows of 1 s" in short.text and "step 1" in short.text
    assert not short_phases(plan("10s"))


def test_a_latency_counts_at_the_worst_step_there_can_be() -> None:
    """0.15 s at 0.1 % and a load next to 0 W: 150 s."""
    manual = 'path = "power.csv"\nvalue_column = "Watts"\nu_clock = "150ms"\nu_rel = 0.01'
    (short, _) = short_phases(plan("100s", "log_file", manual, "alignment = 0.001"))
    assert short.needed_s == pytest.approx(150.0)
    assert "worst case" in short.text
    assert not short_phases(plan("100s", "log_file", manual, "alignment = 0.01"))


def test_a_model_of_power_has_no_windows_to_align() -> None:
    assert not short_phases(plan("1s", "utilisation", "idle_w = 20\nu_rel = 0.1"))


def test_the_plan_tells_it_in_its_document_too() -> None:
    document = plan("8s").describe()["short_phases"]
    assert [one["needed_s"] for one in document] == [10.0, 10.0] and document[0]["step_share"] == 1.0


def test_a_controller_whose_delay_nobody_knows_may_be_off_by_half_an_update() -> None:
    unknown = short_phases(plan("40s", "redfish", 'url = "https://192.0.2.9"\nupdate = "1s"'))
    assert {(one.needed_s, "a shift of 0.5 s" in one.why) for one in unknown} == {(50.0, True)}
    assert short_phases(plan("40s", "redfish", 'url = "https://192.0.2.9"\nupdate = "1s"\nlatency = 0.2')) == []
