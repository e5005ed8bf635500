"""Arrays as DiskSim 4.0 simulates them, from its own files: the requests' mean and 95th percentile agree within 5 %.

The peer's figures and how they were made are in the reference data, disksim/arrays/SOURCE.md.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import Any

import pytest

from iojoule.sim import design as designs
from iojoule.sim.run import run_point

PAIRS = """
single_bare r4k_d1_60
single_full r4k_d1_60
mirror2_rr_bare r4k_d1_60
mirror2_sq_bare r4k_d1_60
stripe4_bare r4k_d4_120
stripe4_full r4k_d4_120
stripe4_bare r4k_d4_300
stripe4_clook_bare r4k_d4_300
stripe4_bare r64k_d4_80
stripe4_bare r256k_d4_25
raid10_4_rr_bare r4k_d2_120
raid4_5_bare r4k_d4_120
raid5_5_bare r4k_d4_120
raid5_5_full r4k_d4_120
raid5_5_bare r64k_d4_80
raid5_5_bare r256k_d4_25
raid5_8_full r4k_d7_200
"""
ROWS = [tuple(line.split()) for line in PAIRS.split("\n") if line]


@functools.cache
def expected(folder: Path) -> dict[tuple[str, ...], dict[str, str]]:
    with (folder / "expected.csv").open() as file:
        return {(row["config"], row["trace"]): row for row in csv.DictReader(file)}


def simulated(parv: Path, trace: Path) -> dict[str, Any]:
    """As `iojoule sim run --disksim`, counting what DiskSim counts: requests that end before the trace does."""
    sweep = designs.read_with(
        None, {"drive": {"disksim": parv}, "trace": {"file": [trace]}, "report": {"end": "last_arrival"}}
    )
    return run_point(sweep, sweep.points[0])


def test_every_row_of_the_reference_is_run(reference_data: Path) -> None:
    assert set(expected(reference_data / "disksim" / "arrays")) == set(ROWS)


@pytest.mark.parametrize(("config", "trace"), ROWS)
def test_an_array_answers_as_fast_as_disksims(reference_data: Path, config: str, trace: str) -> None:
    folder = reference_data / "disksim" / "arrays"
    peer = expected(folder)[config, trace]
    ours = simulated(folder / f"{config}.parv", folder / f"{trace}.trace")
    response = ours["response_ms"]
    assert ours["requests"] == pytest.approx(int(peer["completed"]), abs=5)
    assert response["mean"] == pytest.approx(float(peer["mean_ms"]), rel=0.05)
    assert response["p95"] == pytest.approx(float(peer["p95_ms"]), rel=0.05)
