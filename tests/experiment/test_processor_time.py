"""The share of time in which the host's processors worked, from two looks at /proc/stat."""

import os
from pathlib import Path

import pytest

from iojoule.experiment.processor import ProcessorTime

BEFORE = "cpu  100 10 50 1000 40 5 5 30 7 0\ncpu0 1 2 3\n"
AFTER = "cpu  160 10 70 1100 60 5 15 40 7 0\ncpu0 1 2 3\n"


def test_work_counts_and_waiting_and_stolen_time_do_not(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    processor = ProcessorTime(stat)
    stat.write_text("cpu  1 1 1 1 1 1 1 1\n")
    processor.see("warmup")
    stat.write_text(BEFORE)
    processor.see("measure")
    stat.write_text(AFTER)
    processor.see("measure")
    stat.write_text("cpu  9999 1 1 1 1 1 1 1\n")
    processor.see("cooldown")
    found = processor.describe()
    tick = os.sysconf("SC_CLK_TCK")
    # 60 user + 20 system + 10 softirq worked; 100 idle, 20 iowait and 10 stolen did not.
    assert found is not None
    assert (found["busy_s"], found["all_s"]) == (pytest.approx(90 / tick), pytest.approx(220 / tick))


def test_a_host_without_proc_says_nothing(tmp_path: Path) -> None:
    processor = ProcessorTime(tmp_path / "none")
    processor.see("measure")
    processor.see("measure")
    assert processor.describe() is None
