"""What a run keeps of a meter's clock: its last fit, and whether that fit contradicts what was stamped before."""

from __future__ import annotations

import pytest

from iojoule.meters.base import ClockProbe
from iojoule.meters.clock_history import ClockHistory

MS = 1_000_000
S = 1000 * MS


def history(offset_ms: list[float], way_ms: float = 2.0, since_ns: int = 0) -> ClockHistory:
    """Probes every 10 s of a clock that was ahead by ``offset_ms`` at each."""
    clock = ClockHistory()
    for n, ahead in enumerate(offset_ms):
        at = n * 10 * S
        clock.add(ClockProbe(at, int(at + way_ms / 2 * MS + ahead * MS), int(at + way_ms * MS)), 0, since_ns)
    return clock


def test_a_clock_that_drifts_evenly_is_fitted_and_nobody_is_warned() -> None:
    clock = history([250 + n * 0.2 for n in range(30)])  # 20 ppm
    (fit,) = clock.describe()
    assert fit["drift_ppm"] == pytest.approx(20, abs=1)
    assert fit["probes"] == 30 and fit["bound_s"] == pytest.approx(1e-3)
    assert clock.warnings() == []


def test_a_meter_whose_clock_was_set_in_mid_run_is_a_warning() -> None:
    clock = history([250.0] * 5 + [3250.0] * 5)
    (text,) = clock.warnings()
    assert "times their uncertainty" in text
    assert clock.describe()[0]["moved_u"] > 2


def test_a_meter_that_was_connected_anew_may_have_begun_another_count() -> None:
    clock = history([250.0] * 3)
    for n in range(3):
        at = (100 + 10 * n) * S
        clock.add(ClockProbe(at, at - 90 * S, at + MS), 0, since_ns=99 * S)
    assert [fit["since_ns"] for fit in clock.describe()] == [0, 99 * S]
    assert clock.warnings() == []


def test_more_probes_than_are_kept_leave_the_history_whole() -> None:
    clock = history([250.0] * 400)
    assert clock.warnings() == []


def test_a_meter_without_a_clock_has_no_history() -> None:
    assert ClockHistory().describe() == [] == ClockHistory().warnings()
