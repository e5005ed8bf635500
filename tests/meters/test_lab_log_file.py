"""The laboratory's log of a plug: read as any CSV file and by our driver it tells the truth."""

from __future__ import annotations

import csv
import time
from datetime import datetime
from pathlib import Path

import pytest

from iojoule.experiment.coverage import cover
from iojoule.meters import clock
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.log_file import MAKE, LogFileFront
from iojoule.meters.log_file import LogFile
from iojoule.meters.table import parse_meter


def test_a_reader_of_csv_and_our_driver_and_the_truth_agree() -> None:
    load = Load([State(18.0, 1.0)], time.monotonic_ns())
    front = LogFileFront(load, seed=5)
    with front.served() as path:
        driver = LogFile(parse_meter(front.section()))  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        ours = []
        by = time.monotonic() + 30
        while len(ours) < 2 and time.monotonic() < by:
            clock.sleep(0.1)
            ours += driver.next(0)
        with Path(path).open() as file:
            rows = {row["Time"]: float(row["Power (W)"]) for row in csv.DictReader(file)}
        driver.close()
    assert len(ours) >= 2
    ahead_s = time.time() - time.monotonic()
    stamped = {round(datetime.fromisoformat(at).timestamp() - ahead_s, 1): watts for at, watts in rows.items()}
    for reading in ours:
        assert stamped[round(reading.end_ns * 1e-9, 1)] == reading.value
        limit = 18.0 * MAKE.rdg_pct / 100 + MAKE.rng_pct / 100 * MAKE.range + MAKE.resolution / 2
        assert abs(reading.value - load.joules(reading.start_ns, reading.end_ns)) <= limit


@pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.stress)])
def test_the_truth_lies_within_what_is_quoted(runs: int) -> None:
    covered, trials = cover("log_file", range(runs))
    assert covered.share >= 0.95, [one for one in trials if one.joules is not None and not one.contains]
    assert covered.quoted >= 0.9 * runs, [one.note for one in trials if one.joules is None]
    assert covered.useful <= 1.5 or runs < 200, covered
