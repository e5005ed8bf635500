"""``iojoule trace synth``: the traces of Table 3 of the SR-Array paper at full length, measured by ``trace info``, and
beside a plain loop."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from iojoule import _native
from iojoule.cli import main

ROWS = {"cello-base": "Cello base", "cello-disk6": "Cello disk 6", "tpcc": "TPC-C"}
LENGTH = 0.05 if _native.DEBUG_BUILD else 1.0


def synth(output: Path, profile: str | None = None, **changes: Any) -> dict[str, Any]:
    asked = {"output": str(output), "profile": profile, "changes": changes}
    answer: dict[str, Any] = json.loads(_native.trace_synth(json.dumps(asked)))
    return answer


def info(path: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_native.trace_info(json.dumps({"paths": [str(path)]})))
    return answer


def wanted(golden: Path, profile: str) -> dict[str, float]:
    with (golden / "002_table3_traces.csv").open() as file:
        row = next(row for row in csv.DictReader(file) if row["trace"] == ROWS[profile])
    return {
        "ios": float(row["ios"]) * LENGTH,
        "duration_s": float(row["duration_s"]) * LENGTH,
        "rate_per_s": float(row["recomputed_rate_per_s"]),
        "data_bytes": float(row["data_size_gb"]) * 1e9,
        "reads": float(row["reads_pct"]) / 100,
        "async_writes": float(row["async_writes_pct"]) / 100,
        "seek_locality": float(row["seek_locality"]),
        "read_after_write_1h": float(row["read_after_write_1h_pct"]) / 100,
    }


@pytest.mark.parametrize("profile", ROWS)
@pytest.mark.parametrize("seed", [0, 1, 2024])
def test_every_row_of_table_3_is_met_within_5_percent(profile: str, seed: int, golden: Path, tmp_path: Path) -> None:
    synth(tmp_path / "t.parquet", profile, seed=seed, length=LENGTH)
    told = info(tmp_path / "t.parquet")
    for row, value in wanted(golden, profile).items():
        assert told[row] == pytest.approx(value, rel=0.05), row


@pytest.mark.parametrize("profile", ROWS)
def test_a_plain_loop_finds_the_same_rows(profile: str, golden: Path, tmp_path: Path) -> None:
    """Nothing of `info` is used: columns from Parquet, sums by NumPy, reads after writes by a dictionary."""
    length = 0.05
    synth(tmp_path / "t.parquet", profile, seed=3, length=length)
    table = pq.read_table(tmp_path / "t.parquet")
    at, offset, size = (table[name].to_numpy() for name in ("at_ns", "offset", "bytes"))
    read = np.asarray(table["op"].cast("string")) == "read"
    row = wanted(golden, profile)
    offset, size = offset.astype(np.int64), size.astype(np.int64)
    assert len(at) == pytest.approx(row["ios"] / LENGTH * length, rel=0.05)
    assert (np.diff(at) >= 0).all() and at[0] == 0
    assert (offset + size).max() <= row["data_bytes"]
    assert read.mean() == pytest.approx(row["reads"], rel=0.05)
    moved = np.abs(offset[1:] - (offset + size)[:-1]).mean()
    assert row["data_bytes"] / 3 / moved == pytest.approx(row["seek_locality"], rel=0.05)
    written: dict[int, int] = {}
    again = 0
    for when, place, count, is_read in zip(at.tolist(), offset.tolist(), size.tolist(), read.tolist(), strict=True):
        blocks = range(place // 4096, (place + count - 1) // 4096 + 1)
        if not is_read:
            written |= dict.fromkeys(blocks, when)
        else:
            again += any(when - written.get(block, -(10**18)) < 3600 * 10**9 for block in blocks)
    assert again / len(at) == pytest.approx(row["read_after_write_1h"], rel=0.05)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in {"a": 5, "b": 5, "c": 6}.items():
        synth(tmp_path / f"{name}.parquet", "cello-disk6", seed=seed, length=0.01)
    first, second, other = ((tmp_path / f"{name}.parquet").read_bytes() for name in "abc")
    assert first == second
    assert first != other


def test_the_table_says_what_it_was_made_of(tmp_path: Path) -> None:
    answer = synth(tmp_path / "t.parquet", "tpcc", length=0.001, reads=0.6)
    metadata = pq.read_metadata(tmp_path / "t.parquet").metadata
    source = json.loads(metadata[b"iojoule.source"])["synth"]
    assert source["profile"] == "tpcc"
    assert source["config"] == answer["config"]
    assert (source["config"]["reads"], source["config"]["data_bytes"]) == (0.6, 9_000_000_000)


def test_cello_is_burstier_than_poisson_and_tpcc_is_not(tmp_path: Path) -> None:
    synth(tmp_path / "cello.parquet", "cello-base", length=0.1)
    synth(tmp_path / "tpcc.parquet", "tpcc", length=0.1)
    cello, tpcc = (info(tmp_path / f"{name}.parquet")["inter_arrival"] for name in ("cello", "tpcc"))
    assert cello["dispersion_1s"] > 5 and cello["dispersion_10s"] > 2 * cello["dispersion_1s"] and cello["cv"] > 2
    # 720 windows of 1 s: the standard error of the dispersion of Poisson counts is the root of 2/719, 0.053.
    assert tpcc["dispersion_1s"] == pytest.approx(1, abs=0.25)
    assert tpcc["cv"] == pytest.approx(1, abs=0.01)


def test_the_verb_writes_a_trace_with_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "load.parquet"
    words = ["--ios", "20000", "--duration", "1000s", "--data-size", "2GiB", "--reads", "0.7", "--async-writes", "0.1"]
    words += ["--seek-locality", "3", "--sizes", "2KiB:1,64KiB:3", "--scale-rate", "2", "--flush-period", "5s"]
    with pytest.raises(SystemExit) as left:
        main(["trace", "synth", "-o", str(output), *words])
    assert (left.value.code, capsys.readouterr().out.startswith(str(output))) == (0, True)
    told = info(output)
    assert told["ios"] == 20_000
    assert told["duration_s"] == pytest.approx(500, rel=0.01)
    assert told["reads"] == pytest.approx(0.7, abs=0.02)
    assert told["async_writes"] == pytest.approx(0.1, abs=0.001)
    assert told["seek_locality"] == pytest.approx(3, rel=0.05)
    shares = {one["bytes"]: one["share"] for one in told["sizes"]["common"]}
    assert shares == pytest.approx({65536: 0.75, 2048: 0.25}, abs=0.02)
    with pytest.raises(SystemExit) as left:
        main(["trace", "synth", "-o", str(output), *words])
    assert left.value.code == 2  # nothing is overwritten without --force


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--profile", "tpcc", "--seek-locality", "30"], "seek_locality: 30 cannot be had"),
        (["--reads", "1.5"], "reads: 1.5 is not between 0 and 1"),
        (["--duration", "soon"], "duration"),
        (["--sizes", "1000"], "sizes: 1000"),
        (["--read-after-write", "0.1"], "read_after_write_1h"),
    ],
)
def test_what_cannot_be_had_is_refused_and_nothing_is_written(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["trace", "synth", "-o", str(tmp_path / "t.parquet"), *words])
    assert left.value.code == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_profiles_are_told_by_name() -> None:
    profiles = json.loads(_native.trace_profiles())
    assert set(profiles) == set(ROWS)
    assert profiles["cello-base"]["config"]["flush_period_s"] == 30
