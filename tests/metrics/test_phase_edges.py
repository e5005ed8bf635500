"""The edges of a phase, not the meter, are where short phases go wrong: benches/meters/phase_edges.py, all shifts."""

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[2] / "benches" / "meters" / "phase_edges.py"


@pytest.fixture(scope="module")
def biases() -> dict[str, tuple[float, float]]:
    """Mean and greatest error of each rule, per cent."""
    spec = importlib.util.spec_from_file_location("phase_edges", BENCH)
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    return {name: (mean, greatest) for name, mean, greatest in bench.biases(400)}


def test_our_energy_is_within_a_tenth_of_a_per_cent_at_every_shift(biases: dict[str, tuple[float, float]]) -> None:
    mean, greatest = biases["iojoule"]
    assert abs(mean) <= 0.1 and abs(greatest) <= 0.1


@pytest.mark.parametrize(
    ("rule", "percent"),
    [("mean of what arrived in the phase", -3.8), ("trapezoid over what arrived", -11.9),
     ("windows shared out by overlap", -1.9)],
)  # fmt: skip
def test_what_others_do_is_off_by_per_cents(rule: str, percent: float, biases: dict[str, tuple[float, float]]) -> None:
    assert biases[rule][0] == pytest.approx(percent, abs=0.05)
