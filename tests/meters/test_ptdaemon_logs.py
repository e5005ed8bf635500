"""Real logs: what PTDaemon wrote of a run of MLPerf in 2020, and what a server of 2014 lost."""

from __future__ import annotations

from datetime import timedelta
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from iojoule.meters import log_table
from iojoule.meters.log_table import read_sheet, stamps_of
from iojoule.meters.log_text import number
from iojoule.meters.ptdaemon_log import Sample, disagreement_w, parse, readings, samples, stamp, stamp_ns, written
from iojoule.metrics.integrate import covered, overlap_weighted


@pytest.fixture(scope="module")
def mlperf(reference_data: Path) -> list[Sample]:
    folder = reference_data / "power" / "ptdaemon_mlperf" / "2020-12-23_10-24-04_loadgen-testing"
    return list(samples((folder / "spl.txt").read_text().splitlines()))


def test_the_log_of_mlperf_is_read_whole(mlperf: list[Sample]) -> None:
    assert len(mlperf) == 133 and {sample.mark for sample in mlperf} == {"testing-workload"}
    assert (
        stamp(mlperf[0].stamp_ns) == "12-23-2020 10:21:51.496"
        and stamp(mlperf[-1].stamp_ns) == "12-23-2020 10:24:03.515"
    )
    watts = [sample.values["Watts"] for sample in mlperf]
    assert sum(watts) / 133 == pytest.approx(38.64, abs=0.005) and (min(watts), max(watts)) == (23.43, 44.98)


def test_volts_amperes_and_power_factor_of_mlperf_give_its_watts(mlperf: list[Sample]) -> None:
    """Within the digits that are written; the samples that would not agree are named."""
    assert [stamp(sample.stamp_ns) for sample in mlperf if disagreement_w(sample)] == []
    wrong = Sample(0, {**mlperf[0].values, "Watts": mlperf[0].values["Watts"] * 1.01})
    assert disagreement_w(wrong) == pytest.approx(0.234, abs=0.02)


def test_energy_of_mlperf_is_that_of_its_stamps_not_of_its_samples(mlperf: list[Sample]) -> None:
    """Each W times the way from the stamp before: 5,117.04 J in 132.019 s, in intervals of 0.990 to 1.013 s."""
    import numpy as np

    power = [one for one in readings(mlperf) if one.channel == "power"]
    lengths = [(b.stamp_ns - a.stamp_ns) / 1e9 for a, b in pairwise(mlperf)]
    assert (min(lengths), max(lengths)) == pytest.approx((0.990, 1.013))
    start = np.array([(one.start_ns - mlperf[0].stamp_ns) / 1e9 for one in power])
    end = np.array([(one.end_ns - mlperf[0].stamp_ns) / 1e9 for one in power])
    watts = np.array([one.value for one in power])
    assert overlap_weighted(start, end, watts, 0.0, 132.019) == pytest.approx(5117.038, abs=0.01)
    assert covered(start, end, 0.0, 132.019) == pytest.approx(132.019)
    assert not any(one.quality for one in power)


def test_a_line_reads_as_it_was_written(mlperf: list[Sample]) -> None:
    assert all(parse(written(sample)) == sample for sample in mlperf)


def test_further_channels_and_messages_of_the_daemon() -> None:
    line = "Time,12-23-2020 10:21:51.496,Watts,2.0,Volts,4.0,Amps,1.0,PF,0.5,Mark,m,Ch1,Watts,1.5,Ch2,Watts,0.5"
    sample = parse(line)
    assert sample.values["Ch1.Watts"] == 1.5 and sample.values["Watts"] == 2.0
    log = ["09-23-2020 14:36:59.512: Attempting to connect", line, ""]
    assert len(list(samples(log))) == 1


@pytest.mark.parametrize(
    "line", ["", "Time", "Time,23-12-2020 10:21:51.496,Watts,1", "Time,12-23-2020 10:21:51.496,Volts,1"]
)
def test_what_is_no_sample_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        parse(line)


def test_a_gap_is_a_gap_and_unknown_is_no_power() -> None:
    at = [0, 1, 2, 5, 6]
    of = [Sample(stamp_ns("12-23-2020 10:00:00.000") + s * 10**9, {"Watts": -1.0 if s == 6 else 7.0}) for s in at]
    power = readings(of)
    assert [one.flags for one in power] == ["", "", "", "gap_before", "invalid sentinel"]
    assert power[3].end_ns - power[3].start_ns == 10**9


def test_a_log_is_imported_as_it_is(reference_data: Path) -> None:
    """Its lines are pairs and its date is month-day-year: the import of logs knows both, and takes the watts."""
    folder = reference_data / "power" / "ptdaemon_mlperf" / "2020-12-23_10-24-04_loadgen-testing"
    page = read_sheet(folder / "spl.txt")
    assert (len(page.rows), page.other_lines) == (133, 0) and page.unit(page.place("power")) == "W"
    assert page.rows[0] == ["2020-12-23 10:21:51.496", "23.43", "228.37", "0.20428", "0.5023"]
    seen = log_table.samples(stamps_of(page, 0, None, timedelta()), [number(row[1]) for row in page.rows])
    joules = sum(v * (e - s) * 1e-9 for v, s, e in zip(seen.value[1:], seen.start_ns[1:], seen.end_ns[1:], strict=True))
    assert joules == pytest.approx(5117.038, abs=0.05) and seen.found == {} and seen.notes == []


def test_lost_samples_of_the_server_of_2014_stand_in_runs(reference_data: Path) -> None:
    """-2, -1 and 0 between the load levels: read as power they would cost 27 %."""
    page = read_sheet(reference_data / "power" / "watt_server_2014" / "Watt_Data_Out.csv")
    values = [number(row[1]) for row in page.rows]
    runs = [len(list(group)) for lost, group in groupby(values, key=lambda value: value <= 1) if lost]
    assert sum(runs) == 588 + 424 + 177 and max(runs) > 10
    good = [value for value in values if value > 1]
    assert 1 - (sum(values) / len(values)) / (sum(good) / len(good)) == pytest.approx(0.27, abs=0.01)
