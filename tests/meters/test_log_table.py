"""Whole logs: columns told from what stands there, lost samples and codes found, coarse stamps told apart by turn."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from iojoule.meters.log_table import Samples, read_sheet, samples, stamps_of
from iojoule.meters.log_text import Stamp, number


def seconds_of(*at: float) -> list[Stamp | None]:
    return [Stamp(round(t * 1e9), True, 10**6) for t in at]


def test_lost_samples_of_a_real_log_are_found(reference_data: Path) -> None:
    """One server under SPECpower, 2014: stamps of a minute, 60 lines each, codes between the load levels."""
    page = read_sheet(reference_data / "power" / "watt_server_2014" / "Watt_Data_Out.csv")
    values = [number(row[1], page.decimal) for row in page.rows]
    stamps = stamps_of(page, 0, None, timedelta())
    seen = samples(stamps, values)
    assert (len(seen.value), seen.interval_s, seen.found) == (4342, 1.0, {})
    assert seen.notes == [
        "these look like codes rather than measurements: -2 (588 times), -1 (424 times), 0 (177 times); "
        "if they are, give --sentinel=-2 --sentinel=-1 --sentinel=0"
    ]
    # 28 lines in the first minute: it began at 9:28:32, and every window follows on the one before.
    assert seen.start_ns[0] % (86400 * 10**9) == (9 * 3600 + 28 * 60 + 32) * 10**9
    assert all(a == b for a, b in zip(seen.end_ns, seen.start_ns[1:], strict=False))
    known = samples(stamps, values, sentinels=(-2.0, -1.0, 0.0))
    measured = [value for value in known.value if not math.isnan(value)]
    assert known.found == {"codes or cells without a value": 1189} and known.notes == []
    assert (len(measured), min(measured), max(measured)) == (3153, 120.13, 248.25)
    assert sum(measured) / len(measured) == pytest.approx(212.49, abs=0.005)


def test_a_sample_that_is_missing_leaves_a_gap_that_is_counted() -> None:
    seen = samples(seconds_of(10, 11, 12, 15, 16), [5.0, 6.0, 7.0, 8.0, 9.0])
    assert seen.found == {"samples lost": 2}
    assert [sorted(flags) for flags in seen.flags] == [[], [], [], ["gap_before"], []]
    assert (seen.end_ns[3] - seen.start_ns[3]) == 10**9  # it stands for one interval, not for the gap
    assert len(seen.value) == 5


def test_intervals_that_vary_are_taken_from_stamp_to_stamp() -> None:
    seen = samples(seconds_of(0, 1.013, 2.003, 3.0), [1.0, 2.0, 3.0, 4.0])
    assert seen.found == {}
    assert seen.start_ns[1:] == seen.end_ns[:-1]


def test_stamps_that_repeat_or_go_back_are_kept_and_flagged() -> None:
    seen = samples(seconds_of(1, 2, 2, 2, 1.5, 3, 4), [5.0, 6.0, 6.0, 7.0, 8.0, 9.0, 9.0])
    assert [sorted(flags) for flags in seen.flags] == [[], [], ["stale"], ["invalid"], ["invalid"], [], []]
    assert seen.found == {"lines repeated": 1, "stamps that go back or stand still": 2}


@pytest.mark.parametrize(
    ("window", "begin", "end"), [("before", -1.0, 0.0), ("after", 0.0, 1.0), ("instant", 0.0, 0.0)]
)
def test_a_value_holds_where_it_is_said_to(window: str, begin: float, end: float) -> None:
    seen = samples(seconds_of(5, 6, 7), [1.0, 2.0, 3.0], window=window)  # type: ignore[arg-type]
    assert (seen.start_ns[1] * 1e-9, seen.end_ns[1] * 1e-9) == pytest.approx((6 + begin, 6 + end), abs=0.001)


def test_without_stamps_lines_follow_each_other() -> None:
    seen = samples(None, [1.0, 2.0, 3.0], interval_s=0.5)
    assert (seen.utc, seen.end_ns) == (False, [0, 500_000_000, 1_000_000_000])
    with pytest.raises(ValueError, match="--interval"):
        samples(None, [1.0, 2.0])


def test_zero_and_negative_values_are_values() -> None:
    seen = samples(seconds_of(1, 2, 3), [0.0, -3.5, 4.0])
    assert (seen.value, seen.found) == ([0.0, -3.5, 4.0], {})


def read(path: Path, text: str, encoding: str = "utf-8") -> tuple[tuple[str, ...], list[list[str]], str]:
    path.write_bytes(text.encode(encoding))
    page = read_sheet(path)
    return page.names, page.rows, page.decimal


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_log_of_a_german_spreadsheet(tmp_path: Path, encoding: str) -> None:
    text = "Zeit;Gerät (W)\r\n01.02.2026 10:00:00;12,5\r\n01.02.2026 10:00:01;1.013,25\r\n"
    names, rows, decimal = read(tmp_path / "log.csv", text, encoding)
    assert (names, decimal) == (("Zeit", "Gerät (W)"), ",")
    assert [number(row[1], decimal) for row in rows] == [12.5, 1013.25]


def test_lines_before_the_header_are_counted_and_left(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("Model X\nSerial 12\n\ntime,power_w\n1,2.5\n2,3.5\n3,4.5\n")
    page = read_sheet(path)
    assert (page.names, len(page.rows), page.other_lines) == (("time", "power_w"), 3, 2)
    assert page.unit(page.place("power")) == "W"
    with pytest.raises(ValueError, match="there are: time, power_w"):
        page.place("watts")


def test_a_preamble_of_as_many_columns_as_the_log_is_no_header(tmp_path: Path) -> None:
    text = "Gerät;EKM 2000\n\nZeit;Leistung (W)\n2026-02-01 10:00:00;5,00\n2026-02-01 10:00:01;11,50\n"
    names, rows, decimal = read(tmp_path / "log.csv", text, "utf-8-sig")
    assert (names, len(rows), decimal) == (("Zeit", "Leistung (W)"), 2, ",")


def test_an_excel_file_is_read_as_it_shows(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    page = book.active
    page.append(["Time", "Power (mW)"])
    for second in range(3):
        page.append([datetime(2026, 2, 1, 10, 0, second), 12500.0 + second])
    book.create_sheet("second").append(["x", 1])
    book.save(tmp_path / "log.xlsx")
    sheet = read_sheet(tmp_path / "log.xlsx")
    assert (sheet.names, sheet.rows[1]) == (("Time", "Power (mW)"), ["2026-02-01T10:00:01", "12501"])
    with pytest.raises(ValueError, match="there are: Sheet, second"):
        read_sheet(tmp_path / "log.xlsx", "third")
    (tmp_path / "broken.xlsx").write_text("no workbook")
    with pytest.raises(ValueError, match="no Excel file"):
        read_sheet(tmp_path / "broken.xlsx")


def test_a_minute_that_lost_lines_is_less_certain_of_its_times() -> None:
    stamps: list[Stamp | None] = []
    for minute, lines in enumerate((3, 6, 5, 6, 2)):
        stamps += [Stamp(minute * 60 * 10**9, True, 60 * 10**9)] * lines
    seen: Samples = samples(stamps, [float(i) for i in range(len(stamps))])
    assert seen.interval_s == 10.0
    assert seen.found["samples lost"] == 1
    assert max(seen.u_ns[9:14]) == 2 * min(seen.u_ns)
