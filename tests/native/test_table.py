"""Tables through the door: anything that speaks Arrow goes in, and a kill costs at most what was not committed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iojoule import _native
from iojoule.errors import RunFailed

ROWS = pa.table({"t_ns": pa.array([3, 1, 2], pa.int64()), "name": ["a", "b", "a"], "x": [0.5, None, -1.0]})


def test_what_goes_in_comes_out_in_order_with_its_nulls(tmp_path: Path) -> None:
    table = _native.TableWriter(tmp_path / "t.parquet", ROWS.schema.empty_table())
    for _ in range(3):
        table.write(ROWS)
    table.write(ROWS.to_batches()[0].slice(0, 1))
    table.close()
    table.close()
    assert pq.read_table(tmp_path / "t.parquet") == pa.concat_tables([ROWS] * 3 + [ROWS.slice(0, 1)])
    assert not _native.recover_table(tmp_path / "t.parquet")


def test_the_first_rows_may_give_the_schema(tmp_path: Path) -> None:
    _native.TableWriter(tmp_path / "t.parquet", ROWS).close()
    assert pq.read_table(tmp_path / "t.parquet") == ROWS


def test_a_closed_table_takes_nothing(tmp_path: Path) -> None:
    table = _native.TableWriter(tmp_path / "t.parquet", ROWS)
    table.close()
    with pytest.raises(ValueError, match="closed"):
        table.write(ROWS)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    table = _native.TableWriter(tmp_path / "t.parquet", ROWS)
    for rows in (pa.table({"other": [1]}), ROWS.select(["t_ns", "name"]), ROWS.select(["name", "t_ns", "x"])):
        with pytest.raises(RunFailed, match="other columns"):
            table.write(rows)


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"mine")
    with pytest.raises(RunFailed):
        _native.TableWriter(tmp_path / "t.parquet", ROWS)
    assert (tmp_path / "t.parquet").read_bytes() == b"mine"


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AttributeError):
        _native.TableWriter(tmp_path / "t.parquet", [1, 2, 3])
    (tmp_path / "junk.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(RunFailed, match="no usable footer"):
        _native.recover_table(tmp_path / "junk.parquet")


def test_a_killed_writer_leaves_what_it_committed(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nimport pyarrow as pa\nfrom iojoule import _native\n"
        "rows = pa.table({'t': [1, 2]})\n"
        "table = _native.TableWriter(sys.argv[1], rows)\ntable.commit()\ntable.write(rows)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "t.parquet"
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(pa.ArrowInvalid):
        pq.read_table(path)
    assert _native.recover_table(path)
    assert pq.read_table(path)["t"].to_pylist() == [1, 2]
