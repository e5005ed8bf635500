"""A run folder says what happened, also when its writer did not live to the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from iojoule.errors import ConfigError, RunFailed
from iojoule.store.query import query
from iojoule.store.reader import open_campaign, open_run
from iojoule.store.writer import RunWriter

STEP = {"index": 0, "target": "t", "workload": "w", "repeat": 1, "parameters": {}}


def reading(seq: int) -> dict[str, object]:
    second = 1_000_000_000
    return {
        "meter": "m",
        "channel": "system",
        "quantity": "power",
        "unit": "W",
        "seq": seq,
        "start_ns": seq * second,
        "end_ns": (seq + 1) * second,
        "u_time_ns": 1000,
        "value": 10.0 + seq,
        "u_value": 0.1,
        "quality": "",
    }


def test_a_closed_run_has_its_readings_events_phases_and_hashes(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", {"step": STEP}) as run:
        run.readings([reading(i) for i in range(5)])
        run.phase("measure", 1, 9)
        run.status, run.exit_code = "complete", 0
    found = open_run(tmp_path / "run")
    assert not found.incomplete
    assert found.readings()["value"].to_pylist() == [10.0, 11.0, 12.0, 13.0, 14.0]
    assert [(p.phase, p.begin_ns, p.end_ns) for p in found.phases()] == [("measure", 1, 9)]
    assert found.events()[-1]["event"] == "stop"
    assert found.verify() == []
    assert len(found.manifest["clock_pairs"]) >= 2


def test_a_changed_table_is_found(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", {"step": STEP}) as run:
        run.readings([reading(0)])
    table = tmp_path / "run" / "tables" / "readings.parquet"
    table.write_bytes(table.read_bytes() + b"x")
    assert open_run(tmp_path / "run").verify() == ["tables/readings.parquet"]


def test_the_stop_document_is_written_also_when_the_run_breaks(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunWriter(tmp_path / "run", {"step": STEP}):
        _ = 1 / 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["status"], "division" in manifest["error"]) == ("failed", True)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    RunWriter(tmp_path / "run", {"step": STEP}).close()
    with pytest.raises(RunFailed, match="nothing is overwritten"):
        RunWriter(tmp_path / "run", {"step": STEP})


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_folder import RunWriter, STEP, reading
run = RunWriter(Path(sys.argv[1]), {"step": STEP})
for seq in range(10**6):
    run.readings([reading(seq)])
    run.event("mark", seq=seq)
    run.tick()
    time.sleep(0.01)
"""


def test_a_killed_run_is_readable_and_said_to_be_killed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    child = subprocess.Popen([sys.executable, "-c", KILLED, str(run), str(Path(__file__).parent)])
    try:
        deadline = time.monotonic() + 60
        while "mark" not in _text(run / "events.jsonl") or not _seconds_passed(run, 2.5):
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(child.pid, signal.SIGKILL)
    finally:
        child.wait()
    found = open_run(run)
    assert (found.status, found.incomplete) == ("killed", True)
    assert found.readings()["seq"].to_pylist() == list(range(found.readings().num_rows))
    assert found.readings().num_rows > 50
    assert found.events()[0]["event"] == "mark"


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="manifest"):
        open_campaign(tmp_path)


def test_sql_sees_the_tables_of_every_run(tmp_path: Path) -> None:
    for name, count in (("one", 2), ("two", 3)):
        with RunWriter(tmp_path / "runs" / name, {"step": STEP}) as run:
            run.readings([reading(i) for i in range(count)])
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 1, "kind": "campaign", "status": "complete"}))
    table = query(open_campaign(tmp_path), "select run, count(*) as n from readings group by all order by run")
    assert table.to_pylist() == [{"run": "one", "n": 2}, {"run": "two", "n": 3}]
    with pytest.raises(ConfigError, match="query failed"):
        query(open_campaign(tmp_path), "select nonsense")


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _seconds_passed(run: Path, seconds: float) -> bool:
    lines = _text(run / "events.jsonl").splitlines()
    return len(lines) > 2 and json.loads(lines[-2])["ns"] - json.loads(lines[0])["ns"] > seconds * 1e9


def broken_off(campaign: Path) -> Path:
    """A run that fails within its load: the phase before it is told, the table of its requests was never closed."""
    from iojoule._native import TableWriter

    with RunWriter(campaign / "runs" / "000_t_w_r1", {"step": {"index": 0}}) as run:
        run.phase("prepare", 1, 2)
        rows = pa.table({"phase": ["measure"] * 3, "planned_ns": [10, 20, 30], "done_ns": [15, 25, 40]})
        table = TableWriter(run.path / "tables" / "requests.parquet", rows.slice(0, 0))
        table.write(rows)
        table.commit()
        del table
        (run.path / "tables" / "requests.parquet").open("ab").write(b"half a row group")
    return run.path


def test_a_run_that_failed_within_its_load_has_the_phase_it_was_in(tmp_path: Path) -> None:
    spans = open_run(broken_off(tmp_path)).phases()
    assert [(span.phase, span.begin_ns, span.end_ns) for span in spans] == [("prepare", 1, 2), ("measure", 10, 40)]


def test_a_table_that_broke_off_is_not_said_to_have_been_changed(tmp_path: Path) -> None:
    run = open_run(broken_off(tmp_path))
    assert run.requests().num_rows == 3
    assert run.verify() == []
