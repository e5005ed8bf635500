"""The dialogue with a 34970A, as a transcript of (sent, answered); what is left over fails the test."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from transcript import Line, Transcript, changed

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.keysight_34970a import Keysight34970a, meter_ns, settings
from iojoule.meters.remote import Remote

RAILS: list[dict[str, Any]] = [
    {"name": "5v", "voltage": "@101", "shunt": "@102", "ohm": 0.1, "tolerance_pct": 0.1, "voltage_range": 10,
     "shunt_range": 0.1},
    {"name": "12v", "voltage": "@103", "shunt": "@104", "ohm": 0.1, "tolerance_pct": 0.1, "voltage_range": 100,
     "shunt_range": 0.1, "upstream": True, "drive": "sda"},
]  # fmt: skip
SECTION: dict[str, Any] = {
    "kind": "keysight_34970a", "resource": "ASRL/dev/ttyUSB0::INSTR", "interval": "1s", "rails": RAILS,
}  # fmt: skip
WHO: Line = ("*IDN?", "HEWLETT-PACKARD,34970A,0,13-2-2")
CONFIGURE: list[Line] = [
    WHO,
    ("ABOR", None),
    ("*RST", None),
    ("*CLS", None),
    ("FORM:READ:CHAN ON", None),
    ("FORM:READ:CHAN?", "1"),
    ("FORM:READ:TIME ON", None),
    ("FORM:READ:TIME?", "1"),
    ("FORM:READ:TIME:TYPE ABS", None),
    ("FORM:READ:TIME:TYPE?", "ABS"),
    ("FORM:READ:UNIT OFF", None),
    ("FORM:READ:UNIT?", "0"),
    ("FORM:READ:ALAR OFF", None),
    ("FORM:READ:ALAR?", "0"),
    ("CONF:VOLT:DC 0.1,(@102,104)", None),
    ("SENS:VOLT:DC:RANG? (@102,104)", "+1.00000000E-01,+1.00000000E-01"),
    ("CONF:VOLT:DC 10,(@101)", None),
    ("SENS:VOLT:DC:RANG? (@101)", "+1.00000000E+01"),
    ("CONF:VOLT:DC 100,(@103)", None),
    ("SENS:VOLT:DC:RANG? (@103)", "+1.00000000E+02"),
    ("SENS:VOLT:DC:NPLC 1,(@101:104)", None),
    ("SENS:VOLT:DC:NPLC? (@101:104)", ",".join(["+1.00000000E+00"] * 4)),
    ("SENS:ZERO:AUTO ON,(@101:104)", None),
    ("SENS:ZERO:AUTO? (@101:104)", "1,1,1,1"),
    ("INP:IMP:AUTO ON,(@101:104)", None),
    ("INP:IMP:AUTO? (@101:104)", "1,1,1,1"),
    ("ROUT:CHAN:DEL 0.001,(@101:104)", None),
    ("ROUT:CHAN:DEL? (@101:104)", ",".join(["+1.00000000E-03"] * 4)),
    ("ROUT:SCAN (@101:104)", None),
    ("ROUT:SCAN:SIZE?", "+4"),
    ("TRIG:SOUR TIM", None),
    ("TRIG:SOUR?", "TIM"),
    ("TRIG:TIM 1", None),
    ("TRIG:TIM?", "+1.00000000E+00"),
    ("TRIG:COUN INF", None),
    ("SYST:ERR?", '+0,"No error"'),
]
PROBE: list[Line] = [("SYST:DATE?", "2002,06,02"), ("SYST:TIME?", "18,30,00.000"), ("SYST:DATE?", "2002,06,02")]
START: list[Line] = [*PROBE, ("INIT", None)]
#: After the line was lost: how readings are told, and once the memory is read whether all is still as it was set.
AGAIN: list[Line] = [WHO, *[line for line in CONFIGURE if line[0].startswith("FORM:")]]
STILL: list[Line] = [line for line in CONFIGURE[4:-1] if line[1] is not None]
STOP: list[Line] = [("ABOR", None), ("DATA:POIN?", "+0"), ("CALC:AVER:COUN? (@101:104)", ",".join(["+2E+00"] * 4))]
SCAN = {101: "+5.00120000E+00", 102: "+4.00000000E-02", 103: "+1.20500000E+01", 104: "+5.00000000E-02"}


def scan(values: dict[int, str], second: str = "00") -> str:
    """An answer to DATA:REM?, the channels 60 ms apart."""
    return ",".join(f"{v},2002,06,02,18,30,{second}.{60 * i:03d},{a}" for i, (a, v) in enumerate(values.items()))


def heard(answer: str, count: int = 4) -> list[Line]:
    return [("DATA:POIN?", f"+{count}"), (f"DATA:REM? {count}", answer)]


def through(*parts: list[Line], **keys: object) -> tuple[Keysight34970a, Transcript]:
    link = Transcript(line for part in parts for line in part)
    return Keysight34970a(parse_meter(SECTION | keys), None, link), link  # type: ignore[arg-type]


def readings(answer: str, count: int = 4, **keys: object) -> dict[str, Reading]:
    driver, link = through(CONFIGURE, START, heard(answer, count), **keys)
    driver.configure()
    driver.start()
    seen = {reading.channel: reading for reading in driver.next(0)}
    assert not link.lines
    return seen


def rails(**keys: object) -> list[dict[str, Any]]:
    """The rails, the second of them with other keys."""
    return [RAILS[0], RAILS[1] | keys]


def test_the_whole_dialogue() -> None:
    driver, link = through(CONFIGURE, START, heard(scan(SCAN)), heard(scan(SCAN, "01")), STOP)
    driver.configure()
    identity = driver.describe().identity
    assert (identity["model"], identity["firmware"]) == ("34970A", "13-2-2")
    assert identity["confirmed"]["ROUT:SCAN (@101:104)"] == "+4"
    driver.start()
    assert len(driver.next(0)) == len(driver.next(0)) == 4
    assert driver.stop() == {"scanned": 8, "delivered": 8, "left": 0}
    assert not link.lines, "the driver said less than the transcript"


def test_a_reading_is_an_instant_at_the_time_its_channel_was_converted() -> None:
    with clock.use(clock.SimClock(50 * 10**9)):
        seen = readings(scan(SCAN))
    assert list(seen) == ["5v_voltage", "5v_shunt", "12v_voltage", "12v_shunt"]
    assert seen["12v_shunt"].value == 0.05 and seen["12v_shunt"].quantity == "shunt_voltage"
    assert all(reading.start_ns == reading.end_ns for reading in seen.values())
    # The meter's clock said 18:30:00.000 at 50 s; half a step is what a clock read in milliseconds is late by.
    at = [reading.start_ns - 50 * 10**9 for reading in seen.values()]
    assert at == pytest.approx([0, 60e6, 120e6, 180e6], abs=1e6)
    # 20 ms, and 20 ms of autozero: the stamp is of some moment of the 40.
    assert seen["5v_voltage"].u_time_ns == pytest.approx(40e6 / math.sqrt(12), rel=0.01)


def test_the_uncertainty_is_that_of_the_range_of_the_channel() -> None:
    """50 mV on 100 mV: (0.0050 % of 50 mV + 0.0040 % of 100 mV)/√3 = 3.75 µV."""
    seen = readings(scan(SCAN))
    assert seen["12v_shunt"].u_value == pytest.approx(6.5e-6 / math.sqrt(3))
    assert seen["12v_voltage"].u_value == pytest.approx((0.0045e-2 * 12.05 + 0.0006e-2 * 100) / math.sqrt(3))


def test_the_accuracy_of_a_calibration_stands_in_the_place_of_the_data_sheet() -> None:
    seen = readings(scan(SCAN), accuracy_pct={"0.1": [0.001, 0.002]})
    assert seen["12v_shunt"].u_value == pytest.approx((0.5e-6 + 2e-6) / math.sqrt(3))


def test_the_rails_are_described_with_standard_uncertainties() -> None:
    driver, _ = through(rails=rails(zero_uv=3.0))
    five, twelve = driver.describe().document("dmm", "keysight_34970a", 1.0)["rails"]
    assert (twelve["voltage"], twelve["shunt"], twelve["upstream"]) == ("12v_voltage", "12v_shunt", True)
    assert five["u_ohm_rel"] == pytest.approx(0.001 / math.sqrt(3))
    assert five["u_temperature_rel"] == pytest.approx(100e-6 * 25 / math.sqrt(3))
    assert (five["zero_v"], twelve["zero_v"]) == (0.0, 3e-6)
    assert five["u_zero_v"] == pytest.approx(5e-6 / math.sqrt(3))  # what is left of it after zeroing is less
    assert twelve["u_zero_v"] == pytest.approx(2e-6 / math.sqrt(3))


def test_a_rail_of_another_machine_is_the_same_rail() -> None:
    driver, _ = through()
    document = driver.describe().document("far", "keysight_34970a", 1.0)
    document["rails"][1]["of_a_later_version"] = 1
    remote = Remote(parse_meter({"kind": "remote", "address": "127.0.0.1:1", "meter": "far", "interval": "1s"}))  # type: ignore[arg-type]
    remote.document = document
    assert remote.describe().rails == driver.describe().rails


def test_an_overload_is_no_voltage() -> None:
    for said in ("+9.90000000E+37", "-9.90000000E+37"):
        bad = readings(scan(SCAN | {104: said}))["12v_shunt"]
        assert bad.flags == "invalid overload" and math.isnan(bad.value)


def test_the_dropped_sign_of_a_negative_voltage() -> None:
    assert readings(scan(SCAN | {104: "-5.00000000E-04"}))["12v_shunt"].value == -0.0005


def test_the_dropped_zero_of_a_rail_without_current() -> None:
    zero = readings(scan(SCAN | {104: "+0.00000000E+00"}))["12v_shunt"]
    assert zero.value == 0.0 and zero.good


def test_less_than_a_tenth_of_the_range_is_under_range() -> None:
    seen = readings(scan(SCAN | {103: "+9.90000000E+00", 104: "-9.90000000E-03"}))
    assert seen["12v_voltage"].flags == seen["12v_shunt"].flags == "under_range"
    assert seen["5v_voltage"].flags == seen["5v_shunt"].flags == ""


def test_fewer_readings_than_announced_are_fetched_later() -> None:
    driver, link = through(
        CONFIGURE, START, [("DATA:POIN?", "+8"), ("DATA:REM? 8", scan(SCAN)), ("DATA:REM? 4", "")],
        heard(scan(SCAN, "01")),
    )  # fmt: skip
    driver.configure()
    driver.start()
    assert len(driver.next(0)) == 4 and len(driver.next(0)) == 4
    assert not link.lines


def test_readings_heard_before_the_line_broke_are_kept() -> None:
    fifty = ",".join(scan(SCAN, f"{second:02d}") for second in range(10))
    driver, link = through(
        CONFIGURE, START, [("DATA:POIN?", "+44"), ("DATA:REM? 40", fifty), ("DATA:REM? 4", "+5.00E")],
        AGAIN, heard(scan(SCAN, "11")), STILL, [("STAT:OPER:COND?", "+16"), ("DATA:POIN?", "+0")],
    )  # fmt: skip
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect):
        driver.next(0)
    driver.close()
    driver.configure()  # nothing that would erase the memory is said
    driver.start()
    assert len(driver.next(0)) == 44 and not link.lines


def test_a_scan_that_ended_meanwhile_is_read_out_and_begun_anew() -> None:
    driver, link = through(
        CONFIGURE, START, heard(scan(SCAN)),
        AGAIN, heard(scan(SCAN, "01")), STILL, [("STAT:OPER:COND?", "+0")], CONFIGURE[1:], [("INIT", None)],
        heard(scan(SCAN, "09")),
    )  # fmt: skip
    driver.configure()
    driver.start()
    driver.next(0)
    driver.close()
    driver.configure()
    driver.start()
    assert len(driver.next(0)) == 8 and not link.lines


def test_a_process_that_died_is_followed_by_one_that_reads_the_memory() -> None:
    """The dead one had handed on the scan of 18:30:00; the next two were made after it."""
    at_ns = 50 * 10**9
    memory = ",".join(scan(SCAN, second) for second in ("00", "01", "02"))
    probe: list[Line] = [(sent, "18,30,03.000" if sent == "SYST:TIME?" else said) for sent, said in PROBE]
    driver, link = through(
        AGAIN, probe, heard(memory, 12), STILL, [("STAT:OPER:COND?", "+16"), ("DATA:POIN?", "+0")]
    )  # fmt: skip
    with clock.use(clock.SimClock(at_ns + 3 * 10**9)):
        driver.resume({point.channel.id: (7, at_ns + 60_000_000 * i) for i, point in enumerate(driver.points.values())})
        driver.configure()
        driver.start()
        found = driver.next(0)
    assert len(found) == 8 and found[0].start_ns == pytest.approx(at_ns + 10**9, abs=1e6)
    assert not link.lines and driver.identity["confirmed"]["ROUT:SCAN (@101:104)"] == "+4"


def test_a_reading_that_was_heard_is_not_heard_again() -> None:
    driver, _ = through(CONFIGURE, START, heard(scan(SCAN)), heard(scan(SCAN)))
    driver.configure()
    driver.start()
    assert len(driver.next(0)) == 4 and driver.next(0) == []


def test_a_scan_that_does_not_come_is_asked_for_anew() -> None:
    with clock.use(clock.SimClock()):
        driver, _ = through(CONFIGURE, START, [("DATA:POIN?", "+0")], [("DATA:POIN?", "+0")])
        driver.configure()
        driver.start()
        assert driver.next(0) == []
        clock.sleep(4.0)
        with pytest.raises(Reconnect, match=r"no scan for 4\.0 s"):
            driver.next(0)


def test_midnight_between_date_and_time_is_no_day_off() -> None:
    before: list[Line] = [("SYST:DATE?", "2002,06,02"), ("SYST:TIME?", "00,00,00.001"), ("SYST:DATE?", "2002,06,03")]
    after: list[Line] = [("SYST:DATE?", "2002,06,03"), ("SYST:TIME?", "00,00,00.010"), ("SYST:DATE?", "2002,06,03")]
    driver, link = through(CONFIGURE, before, after)
    driver.configure()
    probe = driver.sync()
    assert probe is not None and probe.meter_ns == meter_ns(["2002", "06", "03", "00", "00", "00.010"])
    assert not link.lines


def test_a_clock_that_was_set_is_a_new_clock() -> None:
    late: list[Line] = [("SYST:DATE?", "2002,06,02"), ("SYST:TIME?", "19,30,00.000"), ("SYST:DATE?", "2002,06,02")]
    driver, _ = through(CONFIGURE, START, late, heard(scan(SCAN).replace(",18,", ",19,")))
    with clock.use(clock.SimClock(50 * 10**9)):
        driver.configure()
        driver.start()
        driver.sync()
        assert driver.next(0)[0].start_ns == pytest.approx(50e9, abs=1e6)


def test_what_is_scanned_after_the_clock_was_set_back_is_heard() -> None:
    back: list[Line] = [("SYST:DATE?", "2002,06,02"), ("SYST:TIME?", "17,30,00.000"), ("SYST:DATE?", "2002,06,02")]
    after = scan(SCAN, "01").replace(",18,", ",17,")
    driver, _ = through(CONFIGURE, START, heard(scan(SCAN)), back, heard(after))
    with clock.use(clock.SimClock(50 * 10**9)):
        driver.configure()
        driver.start()
        first = driver.next(0)
        driver.sync()
        assert len(first) == len(driver.next(0)) == 4


def test_a_range_that_was_not_taken_is_fatal() -> None:
    ask, said = "SENS:VOLT:DC:RANG? (@103)", "+1.00000000E+01"
    driver, _ = through(changed(CONFIGURE, ask, said), [(ask, said)])
    with pytest.raises(Fatal, match=r"CONF:VOLT:DC 100,\(@103\) was not taken"):
        driver.configure()


def test_noise_in_one_answer_is_asked_again() -> None:
    before = changed(CONFIGURE, "ROUT:SCAN:SIZE?", "+\x004")
    driver, link = through(before, CONFIGURE[len(before) - 1 :])
    driver.configure()
    assert not link.lines


def test_another_instrument_is_fatal() -> None:
    driver, _ = through([("*IDN?", "YOKOGAWA,WT310E,C2UA12345E,F1.01")])
    with pytest.raises(Fatal, match="not a 34970A or 34972A"):
        driver.configure()


def test_every_error_in_the_queue_is_told() -> None:
    queue: list[Line] = [("SYST:ERR?", '-113,"Undefined header"'), ("SYST:ERR?", '-222,"Data out of range"')]
    driver, _ = through(CONFIGURE[:-1], queue, [("SYST:ERR?", '+0,"No error"')])
    with pytest.raises(Fatal, match=r"Undefined header.*out of range"):
        driver.configure()


@pytest.mark.parametrize(
    "garbage", ["1,2,3", scan(SCAN) + ",1", scan(SCAN).replace("18,30", "18,77"), scan(SCAN | {999: "+1.0E+00"}), "x"]
)
def test_an_answer_that_is_not_made_of_readings_breaks_the_connection(garbage: str) -> None:
    driver, _ = through(CONFIGURE, START, heard(garbage))
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect):
        driver.next(0)


def test_a_message_is_shorter_than_128_characters_and_a_scan_that_needs_more_is_refused() -> None:
    some = [RAILS[0] | {"name": f"r{n}", "voltage": f"@{101 + 2 * n}", "shunt": f"@{102 + 2 * n}"} for n in range(10)]
    config = parse_meter(SECTION | {"rails": some, "interval": "2s"})
    assert max(len(setting.say) for setting in settings(config)) < 128  # type: ignore[arg-type]
    # On every other pair of channels no two neighbours can be drawn together.
    apart = [RAILS[0] | {"name": f"r{n}", "voltage": f"@{n}", "shunt": f"@{n + 2}"} for n in range(101, 221, 4)]
    with pytest.raises(ValidationError, match="characters are too many for one message"):
        parse_meter(SECTION | {"rails": apart, "interval": "20s"})


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"interval": "100ms"}, r"a scan of 4 channels takes 0\.23 s at 1 periods of 50 Hz, twice for autozero"),
        ({"nplc": 3}, "Input should be 1, 2, 10"),
        ({"rails": rails(shunt_range=0.5)}, "choose of 0.1, 1, 10, 100"),
        ({"rails": rails(voltage_range=None)}, "voltage_range is missing"),
        ({"rails": rails(shunt="@103")}, "two uses are made of channel 103"),
        ({"rails": rails(name="5v")}, "two rails are named 5v"),
        ({"rails": []}, "at least 1 item"),
        ({"rails": rails(ohm=0)}, "greater than 0"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_the_run(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        parse_meter(SECTION | keys)


def test_ranges_are_found_above_the_peaks() -> None:
    seeking = parse_meter(SECTION | {"ranges": "find", "rails": [{**one, "shunt_range": None} for one in RAILS]})
    peaks = {"5v_voltage": 5.1, "5v_shunt": 0.04, "12v_voltage": 12.2, "12v_shunt": -0.095}
    found = Keysight34970a.ranged(seeking, peaks)  # type: ignore[arg-type]
    assert found.ranges == "fixed"
    # −95 mV leaves 10 % head-room only on the range above.
    assert [(rail.voltage_range, rail.shunt_range) for rail in found.rails] == [(10, 0.1), (100, 1.0)]
    with pytest.raises(Fatal, match="no range is large enough"):
        Keysight34970a.ranged(seeking, peaks | {"12v_voltage": 95.0})  # type: ignore[arg-type]


def test_with_autorange_a_change_of_range_is_flagged() -> None:
    seeking = parse_meter(SECTION | {"ranges": "find"})
    said = [setting.say for setting in settings(seeking)]  # type: ignore[arg-type]
    assert "CONF:VOLT:DC AUTO,(@101:104)" in said
    driver = Keysight34970a(seeking)  # type: ignore[arg-type]
    driver.clock.add(clock.ClockProbe(0, 0, 10))
    driver._keep(104, 10**9, 0.05)
    driver._keep(104, 2 * 10**9, 0.2)
    assert [reading.flags for reading in driver._kept] == ["", "range_changed"]


def test_the_commands_on_the_page_are_those_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/meters/keysight_34970a.md").read_text()
    listed = page.partition("```text\n")[2].partition("```")[0].splitlines()
    rows = [(setting.say, setting.ask) for setting in settings(parse_meter(SECTION))]  # type: ignore[arg-type]
    assert [(row[:36].strip(), row[36:].strip()) for row in listed] == rows
