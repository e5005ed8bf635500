"""Pulses at both ends of a run tell which meter sees the load when it is, and which does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from iojoule.experiment.known_load import PATTERN, Submitted, reading
from iojoule.experiment.sync_pulses import document
from iojoule.report.data import RunData, run_data
from iojoule.report.pulses import pulses
from iojoule.store.reader import open_run
from iojoule.store.writer import RunWriter

S = 10**9
BEGAN_NS = 50 * S
WINDOW_NS = S // 10


def submitted() -> Submitted:
    """The pattern, 1 MiB every 5 ms while it is busy."""
    at, now = [], BEGAN_NS
    for busy_s, rest_s in PATTERN:
        at += list(range(now, now + round(busy_s * S), 5_000_000))
        now += round((busy_s + rest_s) * S)
    return Submitted(at, [float(1 << 20)] * len(at), BEGAN_NS, now, "reads")


def run_with(folder: Path, late_s: float, boundary: str = "dc_rail") -> RunData:
    """A run whose meter shows 5 W, and 7 W more for the share of each window in which the load was on."""
    load = submitted()
    edges, activity = load.activity()
    integral = np.concatenate(([0.0], np.cumsum(activity > 0) * np.diff(edges)))
    channel = {"id": "p", "quantity": "power", "unit": "W", "boundary": boundary, "kind": "window_mean"}
    with RunWriter(folder, {"experiment": "x", "meters": [{"name": "m", "channels": [channel]}]}) as run:
        run.event("sync_pulse", **document(load, "end"))
        rows = []
        for seq, start_ns in enumerate(range(BEGAN_NS - 3 * S, load.ended_ns + 3 * S, WINDOW_NS)):
            at = (np.array([start_ns, start_ns + WINDOW_NS]) - BEGAN_NS) / S - late_s
            share = float(np.diff(np.interp(at, edges, integral))[0]) / (WINDOW_NS / S)
            row = {"meter": "m", "channel": "p", "quantity": "power", "unit": "W", "seq": seq, "start_ns": start_ns}
            row |= {"end_ns": start_ns + WINDOW_NS, "u_time_ns": 1_000_000, "value": 5.0 + 7.0 * share}
            rows.append(row | {"u_value": 0.01, "quality": ""})
        run.readings(rows)
        run.status, run.exit_code = "complete", 0
    return run_data(open_run(folder))


def test_a_meter_on_time_is_no_doubt(tmp_path: Path) -> None:
    assert pulses(run_with(tmp_path / "run", late_s=0.0)) == []


@pytest.mark.parametrize("late_s", [0.4, -0.4])
def test_a_meter_that_is_late_or_early_is_told_of(tmp_path: Path, late_s: float) -> None:
    (found,) = pulses(run_with(tmp_path / "run", late_s))
    assert found.level == "warning" and "sync pulse at the end: m/p: its power comes" in found.text
    assert float(found.text.partition("comes ")[2].partition(" ")[0]) == pytest.approx(late_s, abs=0.03)


def test_a_model_has_no_clock_to_be_wrong(tmp_path: Path) -> None:
    assert pulses(run_with(tmp_path / "run", late_s=0.4, boundary="modelled")) == []


def test_a_file_is_read_over_and_over_and_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(bytes(range(256)) * (3 << 12))
    with reading(file) as (act, how):
        assert [act() for _ in range(7)] == [1 << 20] * 7
    assert str(file) in how and file.read_bytes() == bytes(range(256)) * (3 << 12)
