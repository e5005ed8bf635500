"""The dialogue with a WT210 in its 488.2 mode, as a transcript of (sent, answered)."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest
from transcript import Line, Transcript, changed

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.yokogawa_wt210 import Wt210Front, Wt210SerialFront
from iojoule.meters.yokogawa_wt210 import ORDER, YokogawaWt210

SECTION = {
    "kind": "yokogawa_wt210",
    "resource": "ASRL/dev/ttyUSB0::INSTR",
    "interval": "250ms",
    "voltage_range": 300,
    "current_range": 0.1,
}
CLEAR: list[Line] = [("\n*CLS", None), (":COMM:HEAD OFF", None), (":STAT:QMES ON", None)]
NO_ERROR: list[Line] = [(":STAT:ERR?", '0,"No error"')]
WHO: list[Line] = [(":COMM:REM ON", None), ("*IDN?", "YOKOGAWA,760401,0,F3.01")]
FREE: list[Line] = [(":STAT:COND?", "0"), (":INTEG:RES", None)]


def items(*on: str) -> list[Line]:
    said = ((f":MEAS:ITEM:{word}", word in on) for word in ORDER)
    return [
        line
        for head, shown in said
        for line in ((f"{head} {'ON' if shown else 'OFF'}", None), (f"{head}?", "1" if shown else "0"))
    ]


SETTINGS: list[Line] = [
    (":SAMP:HOLD OFF", None),
    (":SAMP:HOLD?", "0"),
    (":SAMP:RATE 0.25", None),
    (":SAMP:RATE?", "250.0E-03"),
    (":CONF:MODE RMS", None),
    (":CONF:MODE?", "RMS"),
    (":CONF:CFAC 3", None),
    (":CONF:CFAC?", "3"),
    (":CONF:LFILT OFF", None),
    (":CONF:LFILT?", "0"),
    (":CONF:VOLT:AUTO OFF", None),
    (":CONF:VOLT:AUTO?", "0"),
    (":CONF:VOLT:RANG 300V", None),
    (":CONF:VOLT:RANG?", "300.0E+00"),
    (":CONF:CURR:AUTO OFF", None),
    (":CONF:CURR:AUTO?", "0"),
    (":CONF:CURR:RANG 0.1A", None),
    (":CONF:CURR:RANG?", "100.0E-03"),
    (":CONF:AVER:STAT OFF", None),
    (":CONF:AVER:STAT?", "0"),
    (":CONF:MHOL OFF", None),
    (":CONF:MHOL?", "0"),
]
EVENTS: list[Line] = [(":STAT:FILT1 FALL", None), *((f":STAT:FILT{bit} NEVER", None) for bit in range(2, 16))]
REST = [*FREE, *SETTINGS, *items("V", "A", "W"), *EVENTS, *NO_ERROR]
CONFIGURE = [*CLEAR, *NO_ERROR, *WHO, *REST]
START: list[Line] = [
    (":INTEG:MODE NORM", None),
    (":INTEG:TIM 1000,0,0", None),
    (":INTEG:STAR", None),
    (":STAT:COND?", "2"),
]
GOOD = "230.10E+00,0.0913E+00,18.03E+00"


def window(values: str = GOOD, condition: str = "2") -> list[Line]:
    return [(":STAT:EESR?", "1"), (":COMM:WAIT 1", None), (":MEAS:VAL?", values), (":STAT:COND?", condition)]


def through(*parts: list[Line], **keys: object) -> tuple[YokogawaWt210, Transcript]:
    link = Transcript(line for part in parts for line in part)
    return YokogawaWt210(parse_meter(SECTION | keys), None, link), link  # type: ignore[arg-type]


def readings(values: str = GOOD, condition: str = "2") -> dict[str, Reading]:
    driver, link = through(CONFIGURE, START, window(values, condition))
    driver.configure()
    driver.start()
    seen = {reading.channel: reading for reading in driver.next(0)}
    assert not link.lines
    return seen


def test_the_whole_dialogue() -> None:
    stop: list[Line] = [
        (":INTEG:STOP", None),
        (":STAT:COND?", "0"),
        (":MEAS:ITEM:WH ON", None),
        (":STAT:EESR?", "1"),
        (":COMM:WAIT 1", None),
        (":MEAS:VAL?", GOOD + ",2.5042E-03"),
        (":COMM:REM OFF", None),
    ]
    driver, link = through(CONFIGURE, START, window(), window(), stop)
    driver.configure()
    identity = driver.describe().identity
    assert (identity["model"], identity["code"], identity["firmware"]) == ("WT210", "760401", "F3.01")
    assert identity["confirmed"][":CONF:CURR:RANG"] == "100.0E-03"
    driver.start()
    seen = [driver.next(0), driver.next(0)]
    assert [each.channel for each in seen[0]] == ["voltage", "current", "power"]
    assert [each.value for each in seen[0]] == [230.1, 0.0913, 18.03]
    final = driver.stop()
    assert final is not None
    assert final["meter_j"] == pytest.approx(9.01512) and final["readings_j"] == pytest.approx(18.03 * 0.5)
    assert not link.lines, "the driver said less than the transcript"


def test_an_answer_nobody_fetched_is_interrupted_once() -> None:
    interrupted: list[Line] = [(":STAT:ERR?", '-410,"Query INTERRUPTED"')]
    driver, link = through(CLEAR, interrupted, CLEAR, NO_ERROR, WHO, REST)
    driver.configure()
    assert not link.lines


def test_a_meter_that_cannot_be_cleared_is_tried_again_later() -> None:
    error: list[Line] = [(":STAT:ERR?", '-440,"Query UNTERMINATED"')]
    driver, _ = through(CLEAR, error, CLEAR, error)
    with pytest.raises(Reconnect, match="UNTERMINATED"):
        driver.configure()


def test_a_meter_that_says_nothing_may_be_in_its_other_mode() -> None:
    class Deaf(Transcript):
        def query(self, command: str, timeout_s: float | None = None) -> str:
            raise Reconnect(f"{command}: no whole answer within 2 s")

    driver = YokogawaWt210(parse_meter(SECTION), None, Deaf(CLEAR))  # type: ignore[arg-type]
    with pytest.raises(Reconnect, match=r"488\.2 mode"):
        driver.configure()


@pytest.mark.parametrize("late", [GOOD, "0.0000E+00,0.0000E+00,0.0000E+00", "1"])
def test_a_late_answer_is_no_proof_that_the_line_is_clear(late: str) -> None:
    driver, link = through(CLEAR, [(":STAT:ERR?", late)], CLEAR, NO_ERROR, WHO, REST)
    driver.configure()
    assert not link.lines


def test_a_header_that_is_still_switched_on_is_understood() -> None:
    driver, link = through(CLEAR, [(":STAT:ERR?", ':STAT:ERR 0,"No error"')], WHO, REST)
    driver.configure()
    assert not link.lines


@pytest.mark.parametrize(("code", "model"), [("760401", "WT210"), ("760503", "WT230"), ("253421", "WT200")])
def test_the_meter_is_known_by_the_code_of_its_model(code: str, model: str) -> None:
    driver, _ = through(CLEAR, NO_ERROR, [WHO[0], ("*IDN?", f"YOKOGAWA,{code},0,F1.01")], REST)
    driver.configure()
    assert driver.identity["model"] == model


def test_another_instrument_is_fatal() -> None:
    driver, _ = through(CLEAR, NO_ERROR, [WHO[0], ("*IDN?", "YOKOGAWA,WT310E,C2UA12345E,F1.01")])
    with pytest.raises(Fatal, match="WT310E"):
        driver.configure()


def test_an_integrator_left_running_is_stopped_first() -> None:
    driver, link = through(
        CLEAR, NO_ERROR, WHO, [(":STAT:COND?", "2"), (":INTEG:STOP", None), (":INTEG:RES", None)], REST[2:]
    )
    driver.configure()
    assert not link.lines


def test_a_range_that_was_not_taken_is_fatal() -> None:
    driver, _ = through(changed(CONFIGURE, ":CONF:CURR:RANG?", "20.0E+00"), [(":CONF:CURR:RANG?", "20.0E+00")])
    with pytest.raises(Fatal, match=r":CONF:CURR:RANG 0\.1A was not taken: the meter says 20\.0E\+00"):
        driver.configure()


def test_autorange_after_range() -> None:
    driver, _ = through()
    said = [f"{setting} {value}" for setting, value in driver.settings()]
    for unit, fixed in (("VOLT", "300V"), ("CURR", "0.1A")):
        about = [line for line in said if line.startswith(f":CONF:{unit}")]
        assert about == [f":CONF:{unit}:AUTO OFF", f":CONF:{unit}:RANG {fixed}"]


def test_items_come_in_the_order_of_the_meter_not_of_the_commands() -> None:
    """Peaks are behind the watts in the answer, also when they are asked for."""
    driver, _ = through(current_range="find")
    assert [item.word for item in driver.items] == ["V", "A", "W", "APK"]
    assert [each for each in ORDER if each in ("WH", "W", "A", "V", "APK")] == ["V", "A", "W", "WH", "APK"]


@pytest.mark.parametrize("resource", ["ASRL/dev/ttyUSB0::INSTR", "TCPIP0::192.0.2.7::4001::SOCKET"])
def test_the_window_ends_when_the_update_was_finished_not_when_the_slow_line_had_said_it(resource: str) -> None:
    """31 bytes more than those of the register take 32 ms at 9600 baud, also behind a gateway from the network."""
    with clock.use(clock.SimClock()):
        front = Wt210SerialFront(Load([State(18.0, 1.0)], 0))
        config = parse_meter(front.section() | {"resource": resource})
        driver = YokogawaWt210(config, None, front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        driver.next(0)  # the first may have ended while it was asked for
        for _ in range(20):
            power = driver.next(0)[2]
            edge_ns = front.instrument.shown(clock.now_ns()).end_ns + int(front.make.latency_s * 1e9)
            assert abs(power.end_ns - edge_ns) <= 2 * power.u_time_ns
            assert power.u_time_ns < 1_000_000 and clock.now_ns() - power.end_ns > 30_000_000


def test_a_line_that_is_faster_than_its_speed_says_has_no_bytes_taken_off() -> None:
    with clock.use(clock.SimClock()):
        front = Wt210Front(Load([State(18.0, 1.0)], 0))
        driver = YokogawaWt210(parse_meter(front.section()), None, front.link())  # type: ignore[arg-type]
        driver.configure()
        power = [driver.next(0)[2] for _ in range(3)][-1]
        assert 0 < clock.now_ns() - power.end_ns < 2_000_000


def test_an_update_that_ended_while_the_meter_was_asked_has_an_edge_as_unsure_as_the_question_was_long() -> None:
    unsure = 0
    for pause_ms in range(0, 250, 5):
        with clock.use(clock.SimClock()):
            front = Wt210SerialFront(Load([State(18.0, 1.0)], 0))
            driver = YokogawaWt210(parse_meter(front.section()), None, front.link())  # type: ignore[arg-type]
            driver.configure()
            clock.sleep(pause_ms * 1e-3)
            power = driver.next(0)[2]
            edge_ns = front.instrument.shown(clock.now_ns()).end_ns + int(front.make.latency_s * 1e9)
            assert abs(power.end_ns - edge_ns) <= 2 * power.u_time_ns
            unsure += power.u_time_ns > 5_000_000
    assert 3 < unsure < 15


def test_no_data_and_over_range_are_numbers_of_their_own() -> None:
    seen = readings("9.9E+37,9.91E+37,9.9E+37", "66")
    assert seen["voltage"].flags == "invalid overload" and seen["power"].flags == "invalid overload"
    assert seen["current"].flags == "invalid overload sentinel"
    assert all(math.isnan(reading.value) for reading in seen.values())


@pytest.mark.parametrize(("bit", "flag"), [(6, "overload"), (7, "peak_over"), (8, "peak_over")])
def test_bits_of_the_condition_are_flags(bit: int, flag: str) -> None:
    assert all(flag in reading.quality for reading in readings(condition=str(1 << bit)).values())


def test_zero_and_back_feed_are_kept() -> None:
    assert readings(GOOD.replace("18.03E+00", "0.00E+00"))["power"].value == 0.0
    assert readings(GOOD.replace("18.03E+00", "-0.50E+00"))["power"].value == -0.5


@pytest.mark.parametrize("garbage", ["", "12.0,1.5", "a,b,c", GOOD + ",1"])
def test_an_answer_that_is_no_row_of_values_breaks_the_connection(garbage: str) -> None:
    driver, _ = through(CONFIGURE, START, window(garbage))
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect):
        driver.next(0)


def test_uncertainties_are_those_of_the_golden_table(golden: Path) -> None:
    """Power at its range, AC and DC, to ten digits."""
    rows = [row for row in _rows(golden / "meter_instrument_uncertainty.csv") if row["instrument"].startswith("WT210")]
    assert len(rows) == 9
    for row in rows:
        mode = "DC" if row["instrument"].endswith("DC") else "RMS"
        driver, _ = through(mode=mode, voltage_range=float(row["range_v"]), current_range=float(row["range_a"]))
        power = driver.describe().channels[2]
        assert power.u(float(row["reading_w"])) == pytest.approx(float(row["recomputed_u_w"]), rel=1e-9), row["id"]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open() as lines:
        return list(csv.DictReader(lines))
