"""``iojoule meter import``: a log comes to a run's clock by stamps, an offset or the load; the run is untouched."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iojoule.report.data import run_data
from iojoule.store.reader import open_run
from iojoule.store.schema import READINGS, REQUESTS
from iojoule.store.writer import RunWriter

BEGAN_NS = 500 * 10**9
UTC_NS = 1_790_000_000 * 10**9
BUSY = ((5.0, 7.0), (9.0, 11.0), (13.0, 15.5))
"""Seconds of the run in which it had requests."""


def busy(second: float) -> bool:
    return any(a <= second < b for a, b in BUSY)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of 20 s, 200 requests a second in three bursts, and a meter of its own."""
    folder = tmp_path / "run"
    meter = {"name": "wall", "driver": "constant", "identity": {}, "channels": []}
    with RunWriter(folder, {"step": {"target": "t", "workload": "w"}, "meters": [meter]}) as writer:
        for name, begin, end in (("idle", 0.0, 5.0), ("measure", 5.0, 15.5)):
            writer.phase(name, BEGAN_NS + int(begin * 1e9), BEGAN_NS + int(end * 1e9))
        rows = [
            {
                "seq": i, "phase": "measure", "planned_ns": at, "issued_ns": at, "first_byte_ns": None,
                "done_ns": at + 10**6, "op": "read", "object": 0, "offset": 0, "bytes": 4096, "status": 0, "error": "",
                "stream": 0,
            }
            for i in range(4000)
            if busy(i * 0.005) and (at := BEGAN_NS + i * 5_000_000)
        ]  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows, schema=REQUESTS), folder / "tables" / "requests.parquet")
        writer.status, writer.exit_code = "complete", 0
    clocks(folder, [(0.0, 0.0), (20.0, 20.0)])
    return folder


def clocks(folder: Path, pairs: Sequence[tuple[float, float]]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["clock_pairs"] = [[BEGAN_NS + int(m * 1e9), UTC_NS + int(u * 1e9)] for m, u in pairs]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def write_log(path: Path, ahead: Callable[[float], float], step_s: float = 0.25, lost: Sequence[int] = ()) -> None:
    """Window means of 5 W at rest and 12 W at work, stamped with their ends by a clock that is ``ahead``."""
    lines = ["time;P (mW)"]
    for n in range(1, int(20 / step_s)):
        end = n * step_s
        inside = sum(max(0.0, min(end, b) - max(end - step_s, a)) for a, b in BUSY) / step_s
        at = datetime.fromtimestamp((UTC_NS * 1e-9) + end + ahead(end), UTC)
        watts = 5.0 + 7.0 * inside + 0.02 * math.sin(n)
        if n not in lost:
            lines.append(
                f"{at.isoformat(timespec='milliseconds')};{watts * 1000:.1f}".replace(".", ",").replace(",", ".", 1)
            )
    path.write_text("\n".join(lines) + "\n")


def call(words: Sequence[object], code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "iojoule", "meter", "import", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def told(words: Sequence[object], code: int = 0) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call([*words, "--json"], code).stdout)
    return document


def energy(run: Path, meter: str) -> Any:
    from iojoule.metrics.channels import channels, series
    from iojoule.metrics.energy import energies

    data = run_data(open_run(run))
    phase = data.phase("measure")
    assert phase is not None
    return energies(series(data.readings(), channels(data.meters)).values(), phase, {})[f"{meter}/power"]


TRUE_J = 5.0 * 10.5 + 7.0 * 6.5


def test_the_load_tells_how_far_a_logs_clock_is_ahead(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: 12.34)
    said = told([run, tmp_path / "plug.csv", "--pulse", "--u-rel", "0.005"])
    aligned = said["alignment"]
    assert abs(aligned["offset_s"] - 12.34) <= max(3 * aligned["u_s"], 0.005)
    assert aligned["u_s"] < 0.05 and aligned["correlation"] > 0.98
    found = energy(run, "plug")
    assert found.joules == pytest.approx(TRUE_J, rel=0.01)
    assert {"gain"} <= found.budget.keys()


def test_what_was_recorded_is_not_touched(run: Path, tmp_path: Path) -> None:
    def digest() -> dict[str, str]:
        files = [path for path in run.rglob("*") if path.is_file() and path.name != "manifest.json"]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before, manifest = digest(), json.loads((run / "manifest.json").read_text())
    write_log(tmp_path / "plug.csv", lambda at: 0.0)
    told([run, tmp_path / "plug.csv", "--offset", "0.0s"])
    after = json.loads((run / "manifest.json").read_text())
    assert {name: value for name, value in digest().items() if name in before} == before
    assert {key: value for key, value in after.items() if key not in ("imports", "files")} == {
        key: value for key, value in manifest.items() if key != "files"
    }
    assert manifest["files"].items() <= after["files"].items()
    opened = open_run(run)
    assert opened.verify() == []
    assert [meter["name"] for meter in opened.meters] == ["wall", "plug"]
    assert set(opened.readings()["meter"].to_pylist()) == {"plug"}
    sql = [sys.executable, "-m", "iojoule", "query", str(run), "select distinct meter from readings", "--csv"]
    assert "plug" in subprocess.run(sql, capture_output=True, text=True, timeout=60, check=False).stdout


def test_an_offset_is_known_to_its_digits(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: -3.2)
    said = told([run, tmp_path / "plug.csv", "--offset=-3.2s"])
    assert said["alignment"] == {
        "clock": "UTC through the clock pairs of the run", "host_clock_steps_s": [], "by": "offset", "offset_s": -3.2,
        "u_s": pytest.approx(0.1 / math.sqrt(12)),
    }  # fmt: skip
    assert energy(run, "plug").joules == pytest.approx(TRUE_J, rel=0.01)
    u = pq.read_table(run / "tables" / "imported-plug.parquet", schema=READINGS)["u_time_ns"].to_pylist()
    assert u == pytest.approx([0.1e9 / math.sqrt(12)] * len(u), rel=0.01)


def test_a_clock_nobody_has_said_anything_of_is_not_trusted(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: 0.0)
    said = told([run, tmp_path / "plug.csv"])
    assert said["alignment"]["u_s"] == 1.0
    assert "nobody said" in said["notes"][0]


def test_a_step_of_the_hosts_clock_is_seen_and_whose_it_is(run: Path, tmp_path: Path) -> None:
    """Eight seconds into the run, UTC is set forward by a minute."""
    clocks(run, [(0, 0), (8, 8), (8.001, 68.001), (20, 80)])
    write_log(tmp_path / "own.csv", lambda at: 60.0 if at > 8 else 0.0)
    write_log(tmp_path / "other.csv", lambda at: 0.0)
    for name, said_of in (("own", "so does the log"), ("other", "its clock is another")):
        said = told([run, tmp_path / f"{name}.csv", "--offset", "0.000s"])
        assert "the host's clock was set by +60.000 s" in said["notes"][0] and said_of in said["notes"][0]
    assert energy(run, "other").joules == pytest.approx(TRUE_J, rel=0.01)
    ends = pq.read_table(run / "tables" / "imported-own.parquet", schema=READINGS)["end_ns"].to_pylist()
    assert (ends[-1] - ends[0]) * 1e-9 == pytest.approx(19.5, abs=0.01)


def test_a_drift_of_the_hosts_clock_is_followed(run: Path, tmp_path: Path) -> None:
    clocks(run, [(0, 0), (20, 20.004)])
    write_log(tmp_path / "plug.csv", lambda at: at * 0.0002)
    told([run, tmp_path / "plug.csv", "--offset", "0.000s"])
    ends = pq.read_table(run / "tables" / "imported-plug.parquet", schema=READINGS)["end_ns"].to_pylist()
    assert (ends[-1] - BEGAN_NS) * 1e-9 == pytest.approx(19.75, abs=0.0015)


def test_lost_samples_are_said_and_leave_the_phase_without_energy(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: 0.0, lost=range(30, 36))
    said = told([run, tmp_path / "plug.csv", "--offset", "0.00s"])
    assert said["found"] == {"samples lost": 6}
    found = energy(run, "plug")
    assert found.joules is None and "cover" in found.note


def test_a_log_since_its_own_start_is_aligned_by_the_load(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "utc.csv", lambda at: 0.0)
    lines = (tmp_path / "utc.csv").read_text().splitlines()[1:]
    rows = [f"{(n + 1) * 0.25 + 3:.3f};{line.partition(';')[2]}".replace(".", ",") for n, line in enumerate(lines)]
    (tmp_path / "relative.csv").write_text("time_s;power_mW\n" + "\n".join(rows) + "\n")
    said = told([run, tmp_path / "relative.csv", "--pulse"])
    assert said["alignment"]["offset_s"] == pytest.approx(3.0, abs=0.02)


def test_a_log_of_another_day_is_said_to_be(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: 86400.0)
    said = told([run, tmp_path / "plug.csv"], 1)  # and nothing is kept
    assert said["overlap_s"] == 0 and "no time in common" in said["notes"][-1]
    assert said["table"] is None and not (run / "tables" / "imported-plug.parquet").exists()


def test_an_import_of_the_same_name_is_replaced_only_by_force(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: 0.0)
    told([run, tmp_path / "plug.csv", "--offset", "0s"])
    assert "imported already" in call([run, tmp_path / "plug.csv", "--offset", "0s"], 2).stderr
    told([run, tmp_path / "plug.csv", "--offset", "0.5s", "--force"])
    (kept,) = open_run(run).manifest["imports"]
    assert kept["alignment"]["offset_s"] == 0.5
    assert "a meter 'wall' of its own" in call([run, tmp_path / "plug.csv", "--name", "wall", "--force"], 2).stderr


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        ("a,b,c\n1,2,3\n4,5,6\n", ["--time-column", "a"], "which column holds the power"),
        ("time,P\n1,2\n2,3\n", [], "give --unit W"),
        ("time,P\n1,2\n2,3\n", ["--unit", "V"], "no unit of power"),
        ("time,P\n12-11-2020 10:00:00,2\n12-11-2020 10:00:01,3\n", ["--unit", "W"], "day or month first"),
        ("time,P (W)\n" + "".join(f"{n},{5}\n" for n in range(20)), ["--pulse"], "power does not change"),
        ("time,P (W)\n" + "".join(f"{n},{n % 3}\n" for n in range(20)), ["--pulse"], "does not follow the load"),
        ("", [], "empty"),
        ("time,P (W)\n1,2\n2,3\n", ["--offset", "soon"], "not a time"),
        ("time,P (W)\n1,2\n2,3\n", ["--boundary", "roof"], "allowed"),
    ],
)
def test_what_cannot_be_imported_says_why(run: Path, tmp_path: Path, text: str, words: list[str], said: str) -> None:
    (tmp_path / "log.csv").write_text(text)
    assert said in call([run, tmp_path / "log.csv", *words], 2).stderr
    assert not list(run.glob("tables/imported*"))


def test_a_run_that_goes_on_is_not_imported_into(run: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "plug.csv", lambda at: 0.0)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"status": "running"}))
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"])
    try:
        from iojoule.store.writer import process_stamp

        time.sleep(0.1)
        going = manifest | {"status": "running", "process": process_stamp(sleeper.pid)}
        (run / "manifest.json").write_text(json.dumps(going))
        assert "goes on" in call([run, tmp_path / "plug.csv"], 2).stderr
    finally:
        sleeper.kill()
        sleeper.wait()
