"""A meter that pauses between two windows, as one that measures when it is asked does, loses no energy in a burst."""

from __future__ import annotations

import numpy as np
import pytest

from iojoule.metrics.integrate import envelope


@pytest.mark.parametrize("pause_s", [0.0, 0.002, 0.0035, -0.002])
def test_the_envelope_of_a_steady_load_is_its_energy_whatever_the_pause(pause_s: float) -> None:
    """5 W, then 40 W for 3 s, then 5 W, in windows of 0.2 s; a negative pause is windows that seem to overlap."""
    start = np.arange(-2.0, 5.0, 0.2 + pause_s)
    end = start + 0.2
    active = np.clip(np.minimum(end, 3.0) - np.maximum(start, 0.0), 0.0, None)
    watts = 5.0 + 35.0 * active / 0.2
    joules = envelope(start, end, watts, 0.0, 3.0, 0.0, 5.0)
    # The edges fall into windows, or into pauses of at most 1.75 % of a window.
    assert joules == pytest.approx(120.0, abs=35.0 * abs(pause_s) * 2 + 1e-9)
