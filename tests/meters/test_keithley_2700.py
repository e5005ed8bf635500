"""The dialogue with a Keithley 2700, as a transcript of (sent, answered); what is left over fails the test."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from transcript import Line, Transcript, changed

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.keithley_2700 import Keithley2700, settings

RAILS: list[dict[str, Any]] = [
    {"name": "5v", "voltage": "@101", "shunt": "@102", "ohm": 0.1, "tolerance_pct": 0.1, "voltage_range": 10,
     "shunt_range": 0.1},
    {"name": "12v", "voltage": "@103", "shunt": "@104", "ohm": 0.1, "tolerance_pct": 0.1, "voltage_range": 100,
     "shunt_range": 0.1},
]  # fmt: skip
SECTION: dict[str, Any] = {
    "kind": "keithley_2700", "resource": "ASRL/dev/ttyUSB0::INSTR", "interval": "1s", "rails": RAILS,
}  # fmt: skip
CONFIGURE: list[Line] = [
    ("*IDN?", "KEITHLEY INSTRUMENTS INC.,MODEL 2700,0822752,B09  /A02"),
    ("ABOR", None),
    ("*RST", None),
    ("*CLS", None),
    ("TRAC:CLE", None),
    ("INIT:CONT OFF", None),
    ("INIT:CONT?", "0"),
    ("SENS:FUNC 'VOLT:DC',(@101:104)", None),
    ("SENS:VOLT:DC:RANG 0.1,(@102,104)", None),
    ("SENS:VOLT:DC:RANG? (@102,104)", "1.00000000E-01,1.00000000E-01"),
    ("SENS:VOLT:DC:RANG 10,(@101)", None),
    ("SENS:VOLT:DC:RANG? (@101)", "1.00000000E+01"),
    ("SENS:VOLT:DC:RANG 100,(@103)", None),
    ("SENS:VOLT:DC:RANG? (@103)", "1.00000000E+02"),
    ("SENS:VOLT:DC:NPLC 1,(@101:104)", None),
    ("SENS:VOLT:DC:NPLC? (@101:104)", "1.00,1.00,1.00,1.00"),
    ("SYST:AZER:STAT ON", None),
    ("SYST:AZER:STAT?", "1"),
    ("FORM:ELEM READ,TST,CHAN", None),
    ("SYST:TST:TYPE REL", None),
    ("SYST:TST:TYPE?", "REL"),
    ("TRAC:TST:FORM ABS", None),
    ("TRAC:TST:FORM?", "ABS"),
    ("ROUT:SCAN (@101:104)", None),
    ("ROUT:SCAN:TSO IMM", None),
    ("ROUT:SCAN:TSO?", "IMM"),
    ("TRIG:SOUR TIM", None),
    ("TRIG:SOUR?", "TIM"),
    ("TRIG:TIM 1", None),
    ("TRIG:TIM?", "1.000"),
    ("TRIG:COUN 1", None),
    ("TRIG:COUN?", "1"),
    ("SAMP:COUN 4", None),
    ("SAMP:COUN?", "4"),
    ("ROUT:SCAN:LSEL INT", None),
    ("ROUT:SCAN:LSEL?", "INT"),
    ("SYST:ERR?", '0,"No error"'),
]
SCAN = {101: "+5.001200E+00", 102: "+4.000000E-02", 103: "+1.205000E+01", 104: "+5.000000E-02"}


def scan(values: dict[int, str], at_s: float = 7.0) -> str:
    """An answer to READ?, the channels 60 ms apart."""
    return ",".join(f"{value},{at_s + 0.06 * i:+.3f},{address}" for i, (address, value) in enumerate(values.items()))


class Taking(Transcript):
    """A scan takes 300 ms: 50 ms until the first conversion, 180 ms to the last, 70 ms until its answer is here."""

    def query(self, command: str, timeout_s: float | None = None) -> str:
        if command == "READ?":
            clock.sleep(0.3)
        return super().query(command, timeout_s)


def through(*parts: list[Line], **keys: object) -> tuple[Keithley2700, Transcript]:
    link = Taking(line for part in parts for line in part)
    return Keithley2700(parse_meter(SECTION | keys), None, link), link  # type: ignore[arg-type]


def readings(*answers: str, apart_s: float = 0.7, **keys: object) -> list[list[Reading]]:
    with clock.use(clock.SimClock(50 * 10**9)):
        driver, link = through(CONFIGURE, [("READ?", answer) for answer in answers], **keys)
        driver.configure()
        driver.start()
        seen = []
        for _ in answers:
            seen.append(driver.next(0))
            clock.sleep(apart_s)
    assert not link.lines
    return seen


def test_the_whole_dialogue() -> None:
    with clock.use(clock.SimClock()):
        driver, link = through(CONFIGURE, [("READ?", scan(SCAN))], [("ROUT:SCAN:LSEL NONE", None)])
        driver.configure()
        identity = driver.describe().identity
        assert (identity["model"], identity["serial"]) == ("MODEL 2700", "0822752")
        driver.start()
        assert [reading.channel for reading in driver.next(0)] == ["5v_voltage", "5v_shunt", "12v_voltage", "12v_shunt"]
        assert driver.stop() is None
    assert not link.lines, "the driver said less than the transcript"


def test_a_scan_lies_between_its_question_and_its_answer() -> None:
    (seen,) = readings(scan(SCAN))
    at = [reading.start_ns - 50 * 10**9 for reading in seen]
    # 120 ms are left for the first conversion to lie in; half of them and half a millisecond.
    assert at == pytest.approx([60e6, 120e6, 180e6, 240e6], abs=1e6)
    assert 60e6 / math.sqrt(3) < seen[0].u_time_ns < 60e6 / math.sqrt(3) * 1.1


def test_the_bracket_of_every_scan_is_a_probe_of_the_clock() -> None:
    with clock.use(clock.SimClock()):
        driver, link = through(CONFIGURE, [("READ?", scan(SCAN)), ("READ?", scan(SCAN, 8.0))])
        driver.configure()
        driver.start()
        first = driver.sync()  # there was no scan yet: it makes one and keeps what it read
        assert first is not None and first.meter_ns == 7 * 10**9 and first.received_ns - first.sent_ns == 120_000_000
        assert len(driver.next(0)) == 4 and len(link.lines) == 1
        driver.next(0)
        assert driver.clock.describe()["probes"] == 2 and driver.sync() != first


def test_a_timer_that_begins_anew_after_a_day_is_one_line() -> None:
    before, after = readings(scan(SCAN, 99_999.5), scan(SCAN, 0.5))
    assert after[0].start_ns - before[0].start_ns == pytest.approx(1e9, abs=1e6)
    # In the middle of a scan, too.
    stamped = scan(SCAN, 99_999.9).replace("+100000.020", "+0.020").replace("+100000.080", "+0.080")
    (seen,) = readings(stamped)
    assert seen[3].start_ns - seen[0].start_ns == pytest.approx(180e6, abs=1e6)


def test_a_meter_that_was_switched_off_has_another_clock() -> None:
    for since_s in (30_000.0, 70_000.0):
        before, after = readings(scan(SCAN, since_s), scan(SCAN, 3.0))
        assert after[0].start_ns - before[0].start_ns == pytest.approx(1e9, abs=1e6)


def test_the_uncertainty_is_that_of_the_range_of_the_channel() -> None:
    (seen,) = readings(scan(SCAN))
    assert seen[3].u_value == pytest.approx((0.0030e-2 * 0.05 + 0.0035e-2 * 0.1) / math.sqrt(3))


def test_an_overflow_is_no_voltage() -> None:
    for said in ("+9.900000E+37", "-9.900000E+37"):
        (seen,) = readings(scan(SCAN | {104: said}))
        assert seen[3].flags == "invalid overload" and math.isnan(seen[3].value)


def test_the_dropped_sign_of_a_negative_voltage() -> None:
    (seen,) = readings(scan(SCAN | {104: "-5.000000E-04"}))
    assert seen[3].value == -0.0005


def test_the_dropped_zero_of_a_rail_without_current() -> None:
    (seen,) = readings(scan(SCAN | {104: "+0.000000E+00"}))
    assert seen[3].value == 0.0 and seen[3].good


def test_a_range_that_was_not_taken_is_fatal() -> None:
    ask, said = "SENS:VOLT:DC:RANG? (@103)", "1.00000000E+03"
    driver, _ = through(changed(CONFIGURE, ask, said), [(ask, said)])
    with pytest.raises(Fatal, match=r"SENS:VOLT:DC:RANG 100,\(@103\) was not taken: the meter says 1\.0"):
        driver.configure()


def test_another_instrument_is_fatal() -> None:
    driver, _ = through([("*IDN?", "KEITHLEY INSTRUMENTS INC.,MODEL 2400,1234567,C32")])
    with pytest.raises(Fatal, match="not a 2700"):
        driver.configure()


def test_an_error_in_the_queue_of_the_meter_is_fatal() -> None:
    driver, _ = through(CONFIGURE[:-1], [("SYST:ERR?", '-221,"Settings conflict"'), ("SYST:ERR?", '0,"No error"')])
    with pytest.raises(Fatal, match="Settings conflict"):
        driver.configure()


@pytest.mark.parametrize(
    "garbage", ["", "1,2,3", scan(SCAN) + ",1", "x", scan({102: "+1E0", 101: "+1E0", 103: "+1E0", 104: "+1E0"})]
)
def test_an_answer_that_is_not_the_scan_breaks_the_connection(garbage: str) -> None:
    driver, _ = through(CONFIGURE, [("READ?", garbage)])
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect):
        driver.next(0)


def test_ranges_are_found_above_the_peaks() -> None:
    seeking = parse_meter(SECTION | {"ranges": "find"})
    assert "SENS:VOLT:DC:RANG:AUTO ON,(@101:104)" in [one.say for one in settings(seeking)]  # type: ignore[arg-type]
    peaks = {"5v_voltage": 5.1, "5v_shunt": 0.04, "12v_voltage": 12.2, "12v_shunt": 0.2}
    found = Keithley2700.ranged(seeking, peaks)  # type: ignore[arg-type]
    assert [(rail.voltage_range, rail.shunt_range) for rail in found.rails] == [(10, 0.1), (100, 1.0)]


def test_what_cannot_be_measured_is_refused_before_the_run() -> None:
    with pytest.raises(ValidationError, match="a scan of 4 channels takes"):
        parse_meter(SECTION | {"interval": "100ms"})


def test_the_commands_on_the_page_are_those_of_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs/meters/keithley_2700.md").read_text()
    listed = page.partition("```text\n")[2].partition("```")[0].splitlines()
    rows = [(setting.say, setting.ask) for setting in settings(parse_meter(SECTION))]  # type: ignore[arg-type]
    assert [(row[:36].strip(), row[36:].strip()) for row in listed] == rows
