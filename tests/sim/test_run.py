"""One run: its document, its folder, and what is refused or said where something is missing or goes wrong."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from iojoule.store.reader import open_run

Call = Callable[..., subprocess.CompletedProcess[str]]
Summary = Callable[..., dict[str, Any]]

TRACE = "0.0 0 {first} 8 1\n12.5 0 800 8 0\n30.0 0 1600 8 1\n"
"""Three requests as DiskSim writes them."""


def trace(tmp_path: Path, first: int = 0, text: str | None = None) -> Path:
    file = tmp_path / "small.trace"
    file.write_text(TRACE.format(first=first) if text is None else text)
    return file


def test_the_document_has_every_figure_of_the_manual(small: Path, summary_of: Summary) -> None:
    said = summary_of(small)
    assert said["requests"] == 2000
    for kind in ("response_ms", "service_ms", "queue_ms"):
        assert {"mean", "p50", "p95", "p99", "max"} <= said[kind].keys()
    assert said["reads"]["requests"] + said["writes"]["requests"] == 2000
    assert len(said["drives"]) == 2
    for drive in said["drives"]:
        assert {"busy", "energy_j", "states_s", "spinups"} <= drive.keys()
        assert math.isclose(sum(drive["states_s"].values()), said["simulated_s"], rel_tol=1e-9)
        assert 0 < drive["busy"] < 1


def test_response_is_queue_and_service(small: Path, summary_of: Summary) -> None:
    said = summary_of(small)
    sum_ms = said["queue_ms"]["mean"] + said["service_ms"]["mean"]
    assert math.isclose(said["response_ms"]["mean"], sum_ms, rel_tol=1e-9)


def test_options_alone_say_a_whole_design(tmp_path: Path, summary_of: Summary) -> None:
    said = summary_of("--drive", "cheetah9LP", "--trace", trace(tmp_path), "--layout", "raid0", "--drives", "3")
    assert (said["requests"], len(said["drives"])) == (3, 3)


def test_a_drive_without_power_figures_has_no_energy_but_a_reason(tmp_path: Path, summary_of: Summary) -> None:
    said = summary_of("--drive", "cheetah9LP", "--trace", trace(tmp_path))
    assert said["energy_j"] is None and said["mean_w"] is None
    assert "not set" in said["energy_reason"]


def test_energy_is_that_of_the_states_of_a_drive_with_figures(small: Path, summary_of: Summary) -> None:
    said = summary_of(small, "--drive", "ultrastar-36z15")
    assert said["energy_reason"] is None and said["boundary"] == "modelled"
    assert math.isclose(said["energy_j"], sum(drive["energy_j"] for drive in said["drives"]))
    assert 2 * 10 < said["mean_w"] < 2 * 14  # between two drives that idle at 10.2 W and two at work at 13.5 W


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drive", "cheetah9PL"], "did you mean"),
        (["--drive", "nowhere.toml"], "nowhere.toml"),
        (["--drive", "cheetah9LP", "--layout", "raid5", "--drives", "2"], "3 or more"),
        (["--drive", "cheetah9LP", "-S", "array.schedular=satf"], "scheduler"),
        (["--drive", "cheetah9LP", "--requests"], "needs a folder"),
        ([], "name a design file"),
    ],
)
def test_bad_input_is_told_and_ends_with_2(tmp_path: Path, iojoule: Call, words: list[str], said: str) -> None:
    done = iojoule("sim", "run", *words, "--trace", trace(tmp_path))
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_trace_is_refused(tmp_path: Path, iojoule: Call) -> None:
    done = iojoule("sim", "run", "--drive", "cheetah9LP", "--trace", trace(tmp_path, text=""))
    assert done.returncode == 2
    assert "empty" in done.stderr


def test_an_address_beyond_the_array_is_refused_wrapped_or_scaled(
    tmp_path: Path, iojoule: Call, summary_of: Summary
) -> None:
    beyond = trace(tmp_path, first=10**9)
    done = iojoule("sim", "run", "--drive", "cheetah9LP", "--trace", beyond)
    assert done.returncode == 2
    assert "request 1 of the trace: sectors 1000000000 to 1000000008 are beyond the array's 17783240" in done.stderr
    assert summary_of("--drive", "cheetah9LP", "--trace", beyond, "--fit", "wrap")["placed"]["wrapped"] == 1
    assert summary_of("--drive", "cheetah9LP", "--trace", beyond, "--fit", "scale")["requests"] == 3


def test_a_second_device_is_refused_until_it_has_a_place(tmp_path: Path, iojoule: Call, summary_of: Summary) -> None:
    two = trace(tmp_path, text="0.0 0 0 8 1\n5.0 3 0 8 1\n")
    done = iojoule("sim", "run", "--drive", "cheetah9LP", "--trace", two)
    assert done.returncode == 2 and "concatenate" in done.stderr
    words = ("--drive", "cheetah9LP", "--trace", two, "-S", "trace.devices=concatenate")
    assert summary_of(*words)["requests"] == 2


def test_a_load_that_is_too_much_is_said_not_to_be_sustained(small: Path, iojoule: Call) -> None:
    words = ("sim", "run", small, "-S", "trace.rate=5000/s", "--max-outstanding", "100")
    assert json.loads(iojoule(*words, "--json").stdout)["sustained"] is False
    assert "NOT SUSTAINED" in iojoule(*words).stdout


def test_warmup_leaves_requests_out_of_the_times_only(small: Path, summary_of: Summary) -> None:
    said = summary_of(small, "--warmup", "10s")
    assert said["requests"] == 2000
    assert said["left_out"] == 2000 - said["response_ms"]["count"] > 0


def test_a_folder_holds_tables_histograms_and_a_manifest(small: Path, tmp_path: Path, summary_of: Summary) -> None:
    said = summary_of(small, "-o", "out", "--requests")
    run = open_run(tmp_path / "out")
    assert run.status == "complete" and run.verify() == []
    assert run.manifest["boundary"] == "modelled"
    requests = run.requests()
    assert requests.num_rows == 2000
    states = pq.read_table(tmp_path / "out/tables/states.parquet")
    assert states.column_names == ["drive", "start_ns", "end_ns", "state", "watts"]
    assert states.schema.metadata[b"iojoule.boundary"] == b"modelled"
    for drive in (0, 1):
        spans = sorted((r["start_ns"], r["end_ns"]) for r in states.to_pylist() if r["drive"] == drive)
        assert spans[0][0] == 0
        assert all(before[1] == after[0] for before, after in itertools.pairwise(spans))
        assert spans[-1][1] == round(said["simulated_s"] * 1e9)
    assert {p.name for p in (tmp_path / "out/hist").iterdir()} >= {"read.response.hdr", "write.service.hdr"}


def test_queues_of_a_simulation_are_no_lateness(small: Path, tmp_path: Path, iojoule: Call) -> None:
    assert iojoule("sim", "run", str(small), "-S", "trace.rate=300/s", "-o", "out", "--requests").returncode == 0
    done = iojoule("check", "out")
    assert done.returncode == 0, done.stdout
    assert "arrive exactly as planned" in done.stdout


def test_an_existing_folder_is_not_written_to(small: Path, tmp_path: Path, iojoule: Call) -> None:
    (tmp_path / "out").mkdir()
    done = iojoule("sim", "run", small, "-o", "out")
    assert done.returncode == 4 and "nothing is overwritten" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_disk_ends_the_run_and_says_so(small: Path, iojoule: Call) -> None:
    """A limit on the size of files stands for the full disk: both fail in the write."""
    import resource
    import signal

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    words = ("sim", "run", small, "-S", "trace.requests=200000", "-o", "out", "--requests")
    done = iojoule(*words, preexec_fn=limited)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "cannot write" in done.stderr and "Traceback" not in done.stderr


def test_an_interrupted_run_says_so_and_keeps_a_readable_folder(small: Path, tmp_path: Path) -> None:
    import signal
    import sys
    import time

    words = ["sim", "run", str(small), "-S", "trace.requests=100000000", "-o", str(tmp_path / "out")]
    process = subprocess.Popen([sys.executable, "-m", "iojoule", *words], stderr=subprocess.PIPE, text=True)
    table = tmp_path / "out/tables/states.parquet"
    for _ in range(600):
        if table.exists() and table.stat().st_size > 100_000:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert open_run(tmp_path / "out").status == "interrupted"


def test_the_same_seed_gives_the_same_tables(small: Path, tmp_path: Path, summary_of: Summary) -> None:
    for name in ("one", "two"):
        summary_of(small, "-o", name, "--requests")
    for table in ("states", "requests"):
        one, two = ((tmp_path / name / "tables" / f"{table}.parquet").read_bytes() for name in ("one", "two"))
        assert one == two


def test_a_measured_disk_is_compared_with_its_model(reference_data: Path, iojoule: Call) -> None:
    folder = reference_data / "disksim"
    done = iojoule("sim", "validate", "--disk", "cheetah9LP", "--trace", folder / "cheetah9LP.trace", "--json")
    said = json.loads(done.stdout)
    assert {"measured_mean_ms", "simulated_mean_ms", "rms_ms", "rms_exact_ms", "reads", "writes"} <= said.keys()
    assert said["requests"] == 10_000
    assert said["measured_mean_ms"] == pytest.approx(4.273, abs=0.001)
    file = iojoule("sim", "validate", "--disk", folder / "cheetah9LP.diskspecs", "--trace", folder / "cheetah9LP.trace")
    assert file.returncode == 0 and "10,000 requests" in file.stdout


def test_a_comparison_says_what_of_a_disksim_file_has_no_effect(
    reference_data: Path, tmp_path: Path, iojoule: Call
) -> None:
    folder = reference_data / "disksim"
    for name in ("cheetah9LP.diskspecs", "cheetah9LP.seek"):
        (tmp_path / name).write_text((folder / name).read_text())
    model = (folder / "cheetah9LP.model").read_text()
    (tmp_path / "cheetah9LP.model").write_text(model.replace("17783240", "4000000000", 1))
    asked = ("sim", "validate", "--disk", tmp_path / "cheetah9LP.diskspecs", "--trace", folder / "cheetah9LP.trace")
    notes = json.loads(iojoule(*asked, "--json").stdout)["notes"]
    assert notes[0].startswith("bus: none")
    assert any("`Block count` has no effect here: the zones hold fewer" in note for note in notes)
    assert set(notes) <= set(iojoule(*asked).stdout.splitlines())
