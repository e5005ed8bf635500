"""A run without a meter: nobody listens in vain, and nothing is left of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from iojoule.meters.supervisor import MeterSet


def test_a_set_without_meters_ends_whoever_is_quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    meters = MeterSet([])
    meters.start()
    write = os.write

    def late(descriptor: int, data: bytes) -> int:
        meters._thread.join(10)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", late)
    assert meters.close() == {}


def test_a_set_without_meters_wakes_once_a_second_beside_the_load() -> None:
    meters = MeterSet([])
    with meters:
        assert meters._patience_s() == 1.0


def test_sets_of_many_steps_leave_no_descriptor_open() -> None:
    with MeterSet([]):
        pass
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with MeterSet([]) as meters:
            pass
        meters.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
