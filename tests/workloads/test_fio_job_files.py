"""fio job files are read as fio reads them, and every key is taken over, without effect or listed."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from iojoule.errors import ConfigError
from iojoule.experiment.parse import loads
from iojoule.experiment.plan import make_plan
from iojoule.workloads.fio import values
from iojoule.workloads.fio.become import Imported, become, real_fio
from iojoule.workloads.fio.jobfile import jobs_of, read_job_file
from iojoule.workloads.fio.keys import ALIASES, NO_EFFECT, REFUSED, TAKEN

ROOT = Path(__file__).parents[2]
MIB, GIB = 1 << 20, 1 << 30


def job_file(folder: Path, text: str, name: str = "job.fio") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def one(folder: Path, lines: str) -> tuple[dict[str, Any], Imported]:
    """The workload of a job of these lines on a file of 1 GiB that fio would make."""
    path = job_file(folder, f"[job]\nfilename=data\nsize=1g\nruntime=10\ntime_based\nnorandommap\n{lines}\n")
    found = become(path)
    return found.workloads[0], found


def accepted(found: Imported, path: Path) -> None:
    """The experiment is one that ``iojoule run`` takes."""
    make_plan(loads(found.toml("made of a job file"), path))


# Every key of the fio that is installed.


@cache
def installed_keys(fio: str) -> tuple[set[str], dict[str, str]]:
    said = subprocess.run([fio, "--cmdhelp=all"], capture_output=True, text=True, check=True).stdout
    keys = {line.split(":")[0].strip() for line in said.splitlines() if re.match(r"\s*[a-z_-]+ *:", line)}
    synonyms = {}
    for key in keys:
        about = subprocess.run([fio, f"--cmdhelp={key}"], capture_output=True, text=True, check=True).stdout
        if alias := re.search(r"^\s*alias: (\S+)$", about, re.MULTILINE):
            synonyms[alias[1]] = key
    return keys, synonyms


def test_every_key_of_the_installed_fio_stands_in_exactly_one_table(require: Callable[[str, str], str]) -> None:
    keys, synonyms = installed_keys(require("fio", "fio"))
    assert len(keys) > 150, "fio lists its keys"
    tables = [set(TAKEN), set(NO_EFFECT), set(REFUSED)]
    homeless = {key for key in keys if sum(key in table for table in tables) != 1}
    assert homeless == set()
    assert {alias: key for alias, key in synonyms.items() if ALIASES.get(alias) != key} == {}


def test_every_key_of_the_installed_fio_is_taken_over_or_said(
    tmp_path: Path, require: Callable[[str, str], str]
) -> None:
    keys, _ = installed_keys(require("fio", "fio"))
    for key in keys - set(TAKEN):
        _, found = one(tmp_path, f"{key}=17")
        said = [line for line in found.no_effect + found.not_understood if f"job.fio:7: {key}=17 " in line]
        assert len(said) == 1, key


def test_a_key_of_no_fio_is_listed_with_its_line(tmp_path: Path) -> None:
    _, found = one(tmp_path, "rw=read\nqueue_depht=3")
    assert found.not_understood == [f"{tmp_path}/job.fio:8: queue_depht=3 is not understood: no such key is known"]


def test_a_key_at_the_value_where_it_says_nothing_is_fine(tmp_path: Path) -> None:
    _, found = one(tmp_path, "thinktime=0\nlockfile=none\nzonemode=none")
    assert found.not_understood == []


# Reading.


def test_global_sections_hold_for_the_jobs_behind_them(tmp_path: Path) -> None:
    text = "[global]\nbs=4k\n[a]\n[global]\nbs=8k\niodepth=2\n[b]\nbs = 16k\n"
    jobs = jobs_of(read_job_file(job_file(tmp_path, text)))
    assert [(job.name, job.options["bs"].value) for job in jobs] == [("a", "4k"), ("b", "16k")]
    assert jobs[1].options["iodepth"].value == "2"


def test_comments_begin_with_a_semicolon_or_a_hash_anywhere(tmp_path: Path) -> None:
    jobs = jobs_of(read_job_file(job_file(tmp_path, "; a\n# b\n[j]\nrw=read ; c\nbs=4k# d\n")))
    assert {key: line.value for key, line in jobs[0].options.items()} == {"rw": "read", "bs": "4k"}


def test_included_lines_keep_their_own_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    job_file(tmp_path / "sub", "; first\nfoo=1\n", "inner.fio")
    found = become(job_file(tmp_path, "[j]\nfilename=data\nsize=1m\ninclude sub/inner.fio\n"))
    assert found.not_understood == [f"{tmp_path}/sub/inner.fio:2: foo=1 is not understood: no such key is known"]


def test_variables_are_those_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLOCK", "16k")
    assert one(tmp_path, "bs=${BLOCK}")[0]["block_size"] == 16384


@pytest.mark.parametrize(
    ("text", "reason"),
    [("rw=read\n", "before the first"), ("[global]\nbs=4k\n", "no job"), ("[j]\ninclude none\n", "does not exist")],
)
def test_what_fio_would_not_read_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        become(job_file(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "kb_base", "size"),
    [
        ("4096", 1024, 4096), ("4k", 1024, 4096), ("4kB", 1024, 4096), ("4K", 1024, 4096), ("1m", 1024, MIB),
        ("1000ki", 1024, 1_000_000), ("1mi", 1024, 1_000_000), ("1ti", 1024, 10**12), ("1t", 1024, 1 << 40),
        ("4kib", 1000, 4096), ("1m", 1000, 1_000_000), ("1024ki", 1000, MIB), ("0x1000", 1024, 4096),
    ],
)  # fmt: skip
def test_sizes_are_those_of_the_howto(text: str, kb_base: int, size: int) -> None:
    """The examples of "Parameter types" of fio's HOWTO."""
    assert values.size(text, kb_base) == size


@pytest.mark.parametrize(("text", "seconds"), [("10", 10), ("10m", 600), ("2h", 7200), ("250ms", 0.25), ("5us", 5e-6)])
def test_times_are_those_of_the_howto(text: str, seconds: float) -> None:
    assert values.seconds(text) == pytest.approx(seconds)


def test_shares_left_blank_divide_what_is_left() -> None:
    assert values.shares("4k/50:1k/:32k/") == [("4k", 50), ("1k", 25), ("32k", 25)]  # fio's HOWTO, bssplit


# Meaning.


@pytest.mark.parametrize(
    ("lines", "keys"),
    [
        ("rw=randread", {"pattern": "random", "block_size": 4096}),
        ("readwrite=randwrite\nblocksize=8k", {"pattern": "random", "write": 100, "block_size": 8192}),
        ("rw=randrw\nrwmixread=70", {"write": 30}),
        ("rw=randrw\nrwmixread=70\nrwmixwrite=40", {"write": 40}),
        ("rw=randrw\nrwmixwrite=40\nrwmixread=70", {"write": 30}),
        ("rw=rw", {"pattern": "sequential", "write": 50}),
        ("rw=randtrim", {"pattern": "random", "trim": 100}),
        ("rw=write\nbs=4k,64k", {"block_size": 65536}),
        ("rw=read\nbs=4k,64k", {"block_size": 4096}),
        (
            "rw=randread\nbssplit=4k/25:64k/75",
            {"sizes": [{"bytes": 4096, "weight": 25.0}, {"bytes": 65536, "weight": 75.0}]},
        ),
        ("rw=randread\nrandom_distribution=zipf:1.2", {"pattern": "zipf", "theta": 1.2}),
        ("rw=randread\nrandom_distribution=pareto:0.2", {"pattern": "pareto", "h": 0.8}),
        ("ioengine=libaio\niodepth=32", {"queue_depth": 32}),
        ("ioengine=psync\niodepth=32", {"queue_depth": 1, "engine": "threads"}),
        ("direct=1", {"direct": True}),
        ("buffered=0", {"direct": True}),
        ("bs=4k", {"direct": False}),
        ("rate_iops=500\nnumjobs=4", {"rate": 2000, "jobs": 4, "arrivals": "constant"}),
        ("rate=1m\nbs=4k\nrate_process=poisson", {"rate": 256, "arrivals": "poisson"}),
        ("rw=randrw\nrwmixread=75\nrate_iops=300", {"rate": 600, "write": 50}),
        ("rw=randrw\nrate_iops=300,100", {"rate": 400, "write": 25}),
        ("rw=randwrite\nrate_iops=,100", {"rate": 100, "write": 100}),
        ("rw=write\nbuffer_compress_percentage=50\ndedupe_percentage=75", {"compression": 2, "deduplication": 4}),
        ("rw=write\nfsync=8", {"fsync": 8}),
        ("rw=randwrite\nverify=crc32c", {"verify": {"read_back": True}}),
        ("ramp_time=5\nruntime=1m", {"ramp": 5, "duration": 60}),
        ("offset=16m", {"offset": 16 * MIB, "size": GIB}),
    ],
)
def test_keys_become_ours(tmp_path: Path, lines: str, keys: dict[str, Any]) -> None:
    workload, found = one(tmp_path, lines)
    assert {key: workload.get(key) for key in keys} == keys
    assert found.not_understood == []
    accepted(found, tmp_path / "job.fio")


@pytest.mark.parametrize(
    "line",
    [
        "rw=randread:8", "rw=trimwrite", "bssplit=4k/50:8k/50,4k/100", "rw=rw\nbs=4k,8k", "size=50%",
        "random_distribution=normal:20", "rw=randread\nrandom_distribution=zipf:1.1:0.5", "ioengine=rbd", "verify=md5",
        "steadystate=iops:100\nss_dur=10", "rw=randrw\nrate_iops=100,",
    ],
)  # fmt: skip
def test_values_that_cannot_be_said_here_are_listed(tmp_path: Path, line: str) -> None:
    workload, found = one(tmp_path, "rw=randread\n" + line if "rw=" not in line else line)
    assert len(found.not_understood) == 1
    assert workload["kind"] == "block"


def test_without_a_runtime_the_job_ends_when_its_size_is_done(tmp_path: Path) -> None:
    found = become(job_file(tmp_path, "[j]\nfilename=data\nrw=write\nsize=1g\nbs=1m\nnumjobs=2\nloops=3\n"))
    assert found.workloads[0]["requests"] == 1024 * 2 * 3
    assert "duration" not in found.workloads[0]


def test_a_job_without_an_end_is_not_understood(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"x" * 4096)
    found = become(job_file(tmp_path, f"[j]\nfilename={tmp_path}/data\nrw=read\n"))
    assert [line for line in found.not_understood if "nothing says when it ends" in line]


def test_zones_lie_one_behind_the_other(tmp_path: Path) -> None:
    """The example of the HOWTO: 60 % of accesses on the first 10 %, 30 % on the next 20 %, ..."""
    workload, found = one(tmp_path, "rw=randread\nrandom_distribution=zoned:60/10:30/20:8/30:2/40")
    assert workload["pattern"] == "hot_band"
    assert [(b["share"], b["from"], b["to"]) for b in workload["bands"]] == [
        (60, 0, 10), (30, 10, 30), (8, 30, 60), (2, 60, 100),
    ]  # fmt: skip
    accepted(found, tmp_path / "job.fio")


# Whole files, in the manner of the examples that come with fio.

SSD_TEST = """; reads and writes of an SSD, one after another
[global]
bs=4k
ioengine=libaio
iodepth=4
size=1g
direct=1
runtime=60
directory=/mount-point-of-ssd
filename=ssd.test.file

[seq-read]
rw=read
stonewall

[rand-read]
rw=randread
stonewall

[seq-write]
rw=write
stonewall

[rand-write]
rw=randwrite
stonewall
"""


def test_the_ssd_test_becomes_four_steps_on_one_file(tmp_path: Path) -> None:
    path = job_file(tmp_path, SSD_TEST, "ssd-test.fio")
    found = become(path)
    assert found.target == {
        "name": "ssd.test.file", "kind": "file", "path": "/mount-point-of-ssd/ssd.test.file", "size": GIB,
    }  # fmt: skip
    assert [w["name"] for w in found.workloads] == ["seq-read", "rand-read", "seq-write", "rand-write"]
    assert [(w["pattern"], w.get("write", 0)) for w in found.workloads] == [
        ("sequential", 0), ("random", 0), ("sequential", 100), ("random", 100),
    ]  # fmt: skip
    assert all(w["queue_depth"] == 4 and w["duration"] == 60 and w["requests"] == GIB // 4096 for w in found.workloads)
    assert found.not_understood == []
    assert not [line for line in found.differences if "same time" in line]
    accepted(found, path)


def test_a_line_of_all_jobs_is_said_once(tmp_path: Path) -> None:
    found = become(job_file(tmp_path, SSD_TEST.replace("bs=4k", "bs=4k\nthinktime=5\ngroup_reporting")))
    assert len(found.not_understood) == 1
    assert len([line for line in found.no_effect if "group_reporting" in line]) == 1


def test_jobs_without_a_stonewall_are_said_to_become_steps(tmp_path: Path) -> None:
    found = become(job_file(tmp_path, SSD_TEST.replace("stonewall", "")))
    assert [line for line in found.differences if "same time" in line]


def test_a_steady_state_job_measures_once_it_is_steady(tmp_path: Path) -> None:
    text = (
        "[global]\nthread=1\ndirect=1\nioengine=io_uring\niodepth=32\nrw=randwrite\nfilename=data\nsize=1g\n"
        "runtime=3600\ntime_based\nnorandommap\nss=iops:5%\nss_dur=60\nss_ramp=10\n[steady]\n"
    )
    path = job_file(tmp_path, text)
    found = become(path)
    workload = found.workloads[0]
    rule = workload["steady_state"]
    assert (rule["metric"], rule["window"], rule["excursion"], rule["max_rounds"]) == ("iops", 60, 10, 3600)
    assert (workload["ramp"], workload["duration"]) == (10, 60)
    accepted(found, path)


def test_jobs_on_different_targets_are_refused_and_can_be_chosen(tmp_path: Path) -> None:
    path = job_file(tmp_path, "[global]\nsize=1m\n[a]\nfilename=x\n[b]\nfilename=y\n")
    with pytest.raises(ConfigError, match="--section"):
        become(path)
    assert become(path, ["b"]).target["name"] == "y"
    with pytest.raises(ConfigError, match=r"no \[c\]"):
        become(path, ["c"])


def test_a_device_is_a_device_and_is_not_made_destroyable_by_the_import(tmp_path: Path) -> None:
    found = become(
        job_file(tmp_path, "[j]\nfilename=/dev/nvme9n1\nrw=randwrite\nruntime=5\ntime_based\ninvalidate=0\n")
    )
    assert found.target == {"name": "nvme9n1", "kind": "device", "path": "/dev/nvme9n1", "drop_caches": False}
    assert "destroy" not in found.experiment


def test_a_job_that_plays_a_log_becomes_a_replay(tmp_path: Path) -> None:
    text = (
        "[j]\nread_iolog=trace.log\nreplay_redirect=/dev/nvme9n1\nreplay_time_scale=200\nioengine=libaio\niodepth=64\n"
        "direct=1\n"
    )
    path = job_file(tmp_path, text)
    found = become(path)
    assert found.target["path"] == "/dev/nvme9n1"
    workload = found.workloads[0]
    assert {key: workload[key] for key in ("kind", "speedup", "outstanding", "direct", "writes")} == {
        "kind": "block_replay", "speedup": 2, "outstanding": 64, "direct": True, "writes": True,
    }  # fmt: skip
    assert found.not_understood == []
    accepted(found, path)


def test_a_log_without_a_target_is_not_understood(tmp_path: Path) -> None:
    found = become(job_file(tmp_path, "[j]\nread_iolog=trace.log\nfilename=data\nsize=1m\n"))
    assert [line for line in found.not_understood if "replay_redirect" in line]


def test_several_files_of_a_job_are_a_directory(tmp_path: Path) -> None:
    found = become(job_file(tmp_path, f"[j]\ndirectory={tmp_path}\nnrfiles=8\nsize=8m\nruntime=1\ntime_based\n"))
    assert (found.target["kind"], found.target["files"], found.target["file_size"]) == ("directory", 8, MIB)


def test_the_experiment_says_where_it_came_from_and_what_is_different(tmp_path: Path) -> None:
    _, found = one(tmp_path, "rw=randread\nioengine=libaio\ngroup_reporting")
    text = found.toml("made of job.fio")
    assert text.startswith("# made of job.fio\n# differs: ioengine=libaio becomes io_uring\n")
    assert "group_reporting has no effect here" in text
    assert tomllib.loads(text)["workload"][0]["kind"] == "block"


def test_with_fio_the_job_file_itself_is_the_workload(tmp_path: Path) -> None:
    path = job_file(tmp_path, SSD_TEST)
    found = real_fio(path)
    assert found.workloads == [{"name": "fio", "kind": "fio", "job": str(path)}]
    accepted(found, path)


# The manual.


def test_the_manual_lists_what_becomes_of_every_key() -> None:
    page = (ROOT / "docs" / "fio.md").read_text()
    rows = {tuple(cell.strip() for cell in line.strip("|").split("|")) for line in page.splitlines() if line[:1] == "|"}
    named: dict[str, str] = {}
    for keys, text, *_ in (row for row in rows if len(row) == 2):
        named |= dict.fromkeys(re.findall(r"`([a-z_-]+)`", keys), text)
    wanted = {key: taken.becomes for key, taken in TAKEN.items()} | NO_EFFECT
    assert {key: named.get(key) for key in wanted} == wanted
    assert {alias for alias, key in ALIASES.items() if key in TAKEN} <= named.keys()


@pytest.mark.parametrize(
    "line",
    ["random_distribution=zipf:x", "random_distribution=pareto:x", "random_distribution=zoned:50", "bs=0",
     "ss=iops:x%\nss_dur=5"],
)  # fmt: skip
def test_a_value_that_is_no_number_is_not_understood(tmp_path: Path, line: str) -> None:
    file = tmp_path / "job.fio"
    file.write_text(f"[a]\nrw=randread\nfilename=x\nsize=4m\n{line}\n")
    assert any("is not understood" in one for one in become(file).not_understood)


def test_a_rate_of_zero_is_no_limit(tmp_path: Path) -> None:
    file = tmp_path / "job.fio"
    file.write_text("[a]\nrw=randrw\nfilename=x\nsize=4m\nrate_iops=0,0\n")
    assert "rate" not in become(file).workloads[0]
