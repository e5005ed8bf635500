"""Two looks at a display are one step of energy; a look that is missing is none."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from iojoule.meters import clock
from iojoule.meters.base import Reading, Retry
from iojoule.meters.manual import Manual, ManualConfig, note, noted


def made(notes: Path, **keys: Any) -> Manual:
    meter = Manual(ManualConfig(**({"unit": "kWh", "resolution": 0.1, "class_pct": 1.0, "notes": notes} | keys)))
    meter.configure()
    meter.start()
    return meter


def energy(readings: list[Reading]) -> list[Reading]:
    return [reading for reading in readings if reading.channel == "energy"]


def test_a_step_of_the_register_spans_the_two_looks(tmp_path: Path) -> None:
    """EKM 2000: 0.1 kWh is the last digit, class 1."""
    notes = tmp_path / "wall.notes"
    meter = made(notes)
    note(notes, 1234.5, 1_000_000_000)
    first = meter.next(0)
    assert [(r.channel, r.value, r.unit) for r in first] == [("display", 1234.5, "kWh")]
    note(notes, 1235.0, 3_601_000_000_000)
    (step,) = energy(meter.next(0))
    assert step.value == pytest.approx(0.5 * 3.6e6)
    assert (step.start_ns, step.end_ns, step.u_time_ns) == (1_000_000_000, 3_601_000_000_000, 1_000_000_000)
    channel = meter.describe().channels[1]
    assert channel.u_rel == pytest.approx(0.01 / math.sqrt(3))
    assert channel.u_abs == pytest.approx(0.1 * 3.6e6 / math.sqrt(12))  # at each end


def test_a_look_that_is_missing_is_no_energy_and_says_what_to_type(tmp_path: Path) -> None:
    meter = made(tmp_path / "wall.notes")
    with pytest.raises(Retry, match=r"iojoule meter manual-note .*wall\.notes VALUE"):
        meter.next(0)
    note(tmp_path / "wall.notes", 7.0, 10**9)
    assert energy(meter.next(0)) == []
    assert meter.next(0) == []


def test_a_half_written_note_and_one_that_is_none_are_not_taken(tmp_path: Path) -> None:
    notes = tmp_path / "wall.notes"
    notes.write_text("1000 5.0\nabout five\n2000 6.")
    assert noted(notes) == [(1000, 5.0)]


def test_a_note_by_hand_may_give_utc(tmp_path: Path) -> None:
    notes = tmp_path / "wall.notes"
    notes.write_text(f"{datetime.now(UTC).isoformat()} 5.5\n")
    ((at_ns, value),) = noted(notes)
    assert value == 5.5
    assert abs(at_ns - clock.now_ns()) < 5 * 10**9


def test_a_register_that_rolls_over_is_corrected_and_one_that_falls_is_not(tmp_path: Path) -> None:
    for rollover, flags, joules in ((100_000.0, "wrapped", 0.3 * 3.6e6), (None, "invalid wrap_uncertain", math.nan)):
        notes = tmp_path / f"{rollover}.notes"
        note(notes, 99_999.9, 10**9)
        note(notes, 0.2, 2 * 10**9)
        (step,) = energy(made(notes, rollover=rollover).next(0))
        assert step.flags == flags
        assert step.value == pytest.approx(joules, nan_ok=True)


def test_looks_out_of_order_end_no_step(tmp_path: Path) -> None:
    notes = tmp_path / "wall.notes"
    note(notes, 5.0, 2 * 10**9)
    note(notes, 4.0, 10**9)
    readings = made(notes).next(0)
    assert energy(readings) == []
    assert [reading.flags for reading in readings] == ["", "invalid"]


def test_the_start_may_be_known_already(tmp_path: Path) -> None:
    meter = made(tmp_path / "wall.notes", start=12.0)
    assert [reading.value for reading in meter.next(0)] == [12.0]
    assert meter.next(0) == []


def test_a_display_in_watts_is_read_at_instants(tmp_path: Path) -> None:
    notes = tmp_path / "wall.notes"
    note(notes, 41.0, 10**9)
    meter = made(notes, unit="W", resolution=1.0)
    (reading,) = meter.next(0)
    assert (reading.quantity, reading.value, reading.start_ns) == ("power", 41.0, reading.end_ns)
    assert reading.u_value == pytest.approx(math.hypot(41 * 0.01 / math.sqrt(3), 1 / math.sqrt(12)))


def test_watts_do_not_roll_over() -> None:
    with pytest.raises(ValidationError, match="rollover is of an energy register"):
        ManualConfig(unit="W", resolution=1, rollover=1000)
