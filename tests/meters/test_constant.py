"""A constant is its value all the time, modelled, with the uncertainty its author gave."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from iojoule.meters import clock
from iojoule.meters.constant import Constant, ConstantConfig


def test_windows_follow_on_each_other_and_hold_the_value() -> None:
    with clock.use(clock.SimClock()) as sim:
        meter = Constant(ConstantConfig(watts=3.5, u_w=0.2))
        meter.configure()
        meter.start()
        began_ns = sim.now_ns()
        readings = []
        for _ in range(4):
            clock.sleep(meter.poll_s)
            readings += meter.next(sim.now_ns())
        meter.close()
    assert [(r.start_ns - began_ns, r.end_ns - began_ns) for r in readings] == [
        (n * 10**9, (n + 1) * 10**9) for n in range(4)
    ]
    assert {(r.value, r.u_value, r.flags) for r in readings} == {(3.5, 0.2, "modelled")}
    assert meter.describe().channels[0].boundary == "modelled"


def test_an_uncertainty_must_be_given() -> None:
    with pytest.raises(ValidationError, match="u_w"):
        ConstantConfig(watts=3.5)  # type: ignore[call-arg]
