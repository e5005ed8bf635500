"""The dialogue with a WT310, as a transcript of (sent, answered); what is left over fails the test."""

from __future__ import annotations

import math

import pytest
from transcript import Line, Transcript, changed

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.yokogawa_wt310 import YokogawaWt310

SECTION = {
    "kind": "yokogawa_wt310",
    "resource": "TCPIP0::192.0.2.7::INSTR",
    "interval": "250ms",
    "voltage_range": 300,
    "current_range": 0.1,
}
CONFIGURE: list[Line] = [
    ("*IDN?", "YOKOGAWA,WT310E,C2UA12345E,F1.01"),
    ("*CLS", None),
    (":COMM:REM ON", None),
    (":COMM:HEAD OFF", None),
    (":COMM:VERB OFF", None),
    (":INTEG:STAT?", "RES"),
    (":INTEG:RES", None),
    (":NUM:FORM ASCII", None),
    (":NUM:FORM?", "ASC"),
    (":NUM:NORM:NUM 6", None),
    (":NUM:NORM:NUM?", "6"),
    (":NUM:NORM:ITEM1 U,1", None),
    (":NUM:NORM:ITEM1?", "U,1"),
    (":NUM:NORM:ITEM2 I,1", None),
    (":NUM:NORM:ITEM2?", "I,1"),
    (":NUM:NORM:ITEM3 P,1", None),
    (":NUM:NORM:ITEM3?", "P,1"),
    (":NUM:NORM:ITEM4 LAMB,1", None),
    (":NUM:NORM:ITEM4?", "LAMB,1"),
    (":NUM:NORM:ITEM5 IPP,1", None),
    (":NUM:NORM:ITEM5?", "IPP,1"),
    (":NUM:NORM:ITEM6 WH,1", None),
    (":NUM:NORM:ITEM6?", "WH,1"),
    (":RATE 250MS", None),
    (":RATE?", "250.0E-03"),
    (":INP:MODE RMS", None),
    (":INP:MODE?", "RMS"),
    (":INP:CFAC 3", None),
    (":INP:CFAC?", "3"),
    (":INP:FILT:LINE OFF", None),
    (":INP:FILT:LINE?", "0"),
    (":INP:VOLT:AUTO OFF", None),
    (":INP:VOLT:AUTO?", "0"),
    (":INP:VOLT:RANG 300V", None),
    (":INP:VOLT:RANG?", "300.0E+00"),
    (":INP:CURR:AUTO OFF", None),
    (":INP:CURR:AUTO?", "0"),
    (":INP:CURR:RANG 100MA", None),
    (":INP:CURR:RANG?", "100.0E-03"),
    (":MEAS:AVER:STAT OFF", None),
    (":MEAS:AVER:STAT?", "0"),
    (":MEAS:MHOL OFF", None),
    (":MEAS:MHOL?", "0"),
    (":STAT:FILT1 FALL", None),
    (":STAT:ERR?", '0,"No error"'),
]
START: list[Line] = [
    (":INTEG:MODE NORM", None),
    (":INTEG:TIM 1000,0,0", None),
    (":INTEG:STAR", None),
    (":INTEG:STAT?", "STAR"),
]
GOOD = "230.10E+00,0.0913E+00,18.000E+00,0.8568E+00,0.2000E+00,1.2500E-03"


def window(values: str = GOOD, condition: str = "0") -> list[Line]:
    return [
        (":STAT:EESR?", "1"),
        (":COMM:WAIT 1", None),
        (":NUM:NORM:VAL?", values),
        (":STAT:COND?", condition),
    ]


def through(*parts: list[Line], **keys: object) -> tuple[YokogawaWt310, Transcript]:
    link = Transcript(line for part in parts for line in part)
    return YokogawaWt310(parse_meter(SECTION | keys), None, link), link  # type: ignore[arg-type]


def readings(values: str = GOOD, condition: str = "0", **keys: object) -> dict[str, Reading]:
    driver, link = through(CONFIGURE, START, window(values, condition), **keys)
    driver.configure()
    driver.start()
    seen = {reading.channel: reading for reading in driver.next(0)}
    assert not link.lines
    return seen


def test_the_whole_dialogue() -> None:
    stop: list[Line] = [
        (":INTEG:STOP", None),
        (":INTEG:STAT?", "STOP"),
        (":STAT:EESR?", "1"),
        (":COMM:WAIT 1", None),
        (":NUM:NORM:VAL? 6", "2.5000E-03"),
        (":COMM:REM OFF", None),
    ]
    driver, link = through(CONFIGURE, START, window(), window(), stop)
    driver.configure()
    identity = driver.describe().identity
    assert (identity["model"], identity["serial"], identity["firmware"]) == ("WT310E", "C2UA12345E", "F1.01")
    assert identity["confirmed"][":INP:CURR:RANG"] == "100.0E-03"
    driver.start()
    assert len(driver.next(0)) == len(driver.next(0)) == 4
    final = driver.stop()
    assert final is not None
    assert final["meter_j"] == pytest.approx(9.0) and final["readings_j"] == pytest.approx(18.0 * 0.5)
    assert not link.lines, "the driver said less than the transcript"


def test_a_reading_is_the_mean_over_the_update_interval_before_the_edge() -> None:
    power = readings()["power"]
    assert power.value == 18.0 and power.end_ns - power.start_ns == 250_000_000


def test_the_uncertainty_is_a_share_of_reading_and_range() -> None:
    """18 W on 300 V x 0.1 A: (0.1 % of 18 W + 0.05 % of 30 W)/√3 = 19.05 mW."""
    assert readings()["power"].u_value == pytest.approx(0.01905255888, rel=1e-9)


def test_the_accuracy_of_a_dc_measurement_is_not_assumed() -> None:
    driver, _ = through(mode="DC")
    power = driver.describe().channels[2]
    assert power.u_rel is None and power.boundary == "dc_rail"


def test_nan_is_no_data_and_inf_is_over_range() -> None:
    seen = readings("230.1E+00,INF,NAN,NAN,0.2E+00,NAN")
    assert seen["power"].flags == "invalid sentinel" and math.isnan(seen["power"].value)
    assert seen["current"].flags == "invalid overload"
    assert seen["voltage"].good


def test_an_overload_condition_is_on_every_channel() -> None:
    assert all("overload" in reading.quality for reading in readings(condition="64").values())


def test_a_peak_above_the_crest_factor_is_flagged() -> None:
    assert "peak_over" in readings(GOOD.replace("0.2000E+00", "0.3100E+00"))["power"].quality
    assert "peak_over" in readings(condition="256")["power"].quality


def test_less_than_a_tenth_of_the_range_is_under_range() -> None:
    seen = readings(GOOD.replace("18.000E+00", "2.900E+00"))
    assert seen["power"].flags == "under_range" and seen["voltage"].flags == ""


def test_zero_and_back_feed_are_kept() -> None:
    assert readings(GOOD.replace("18.000E+00", "0.000E+00"))["power"].value == 0.0
    assert readings(GOOD.replace("18.000E+00", "-0.500E+00"))["power"].value == -0.5


def test_a_range_that_was_not_taken_is_fatal() -> None:
    driver, _ = through(changed(CONFIGURE, ":INP:CURR:RANG?", "20.0E+00"), [(":INP:CURR:RANG?", "20.0E+00")])
    with pytest.raises(Fatal, match=r":INP:CURR:RANG 100MA was not taken: the meter says 20\.0E\+00"):
        driver.configure()


def test_noise_in_one_answer_is_asked_again() -> None:
    before = changed(CONFIGURE, ":INP:CURR:RANG?", "1@0.0E-03")
    driver, link = through(before, CONFIGURE[len(before) - 1 :])
    driver.configure()
    assert not link.lines


def test_another_instrument_is_fatal() -> None:
    driver, _ = through([("*IDN?", "HEWLETT-PACKARD,34970A,0,13-2-2")])
    with pytest.raises(Fatal, match="34970A"):
        driver.configure()


def test_an_error_in_the_queue_of_the_meter_is_fatal() -> None:
    driver, _ = through(changed(CONFIGURE, ":STAT:ERR?", '113,"Undefined header"'))
    with pytest.raises(Fatal, match="Undefined header"):
        driver.configure()


def test_an_integrator_left_running_is_stopped_first() -> None:
    running = changed(CONFIGURE, ":INTEG:STAT?", "STAR")
    driver, link = through(running, [(":INTEG:STOP", None)], CONFIGURE[len(running) :])
    driver.configure()
    assert not link.lines


@pytest.mark.parametrize("garbage", ["", "12.0,1.5", "a,b,c,d,e,f", GOOD + ",1"])
def test_an_answer_that_is_no_row_of_values_breaks_the_connection(garbage: str) -> None:
    driver, _ = through(CONFIGURE, START, window(garbage))
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect):
        driver.next(0)


@pytest.mark.parametrize("unit", ["VOLT", "CURR"])
def test_autorange_after_range(unit: str) -> None:
    """A fixed range that is followed by automatic ranging is none: off comes first, and nothing after the range."""
    driver, _ = through()
    said = [f"{setting} {value}" for setting, value in driver.settings()]
    about = [line for line in said if line.startswith(f":INP:{unit}")]
    fixed = {"VOLT": "300V", "CURR": "100MA"}[unit]
    assert about == [f":INP:{unit}:AUTO OFF", f":INP:{unit}:RANG {fixed}"]


def test_automatic_ranging_is_on_only_where_a_range_is_to_be_found() -> None:
    driver, _ = through(current_range="find")
    said = [line for line in driver.settings() if line[0].startswith((":INP:VOLT", ":INP:CURR"))]
    assert said == [(":INP:VOLT:AUTO", "OFF"), (":INP:VOLT:RANG", "300V"), (":INP:CURR:AUTO", "ON")]


def finding(*looks: str) -> list[Line]:
    """The dialogue while the current range is looked for, and what the meter says it is at each look."""
    at = [line[0] for line in CONFIGURE].index(":INP:CURR:AUTO OFF")
    on: list[Line] = [(":INP:CURR:AUTO ON", None), (":INP:CURR:AUTO?", "1")]
    lines = [*CONFIGURE[:at], *on, *CONFIGURE[at + 4 :], (":INP:CURR:RANG?", looks[0])]
    return lines + [line for look in looks[1:] for line in (*window(), (":INP:CURR:RANG?", look))]


def test_a_range_that_moves_is_flagged_until_the_meter_has_settled() -> None:
    driver, link = through(
        finding("500.0E-03", "500.0E-03", "100.0E-03", "100.0E-03", "100.0E-03"), current_range="find"
    )
    driver.configure()
    driver.start()  # no integrator: it would forbid the change
    seen = [{reading.channel: reading for reading in driver.next(0)} for _ in range(4)]
    assert not link.lines
    assert ["range_changed" in each["power"].quality for each in seen] == [False, True, True, False]
    assert seen[0]["current_peak"].value == 0.2
    on_half_an_ampere, on_a_tenth = seen[0]["power"], seen[3]["power"]
    assert on_half_an_ampere.u_value == pytest.approx((0.001 * 18 + 0.0005 * 150) / 3**0.5)
    assert on_a_tenth.u_value == pytest.approx((0.001 * 18 + 0.0005 * 30) / 3**0.5)


@pytest.mark.parametrize(
    ("crest_factor", "peaks", "current_range"),
    [
        (3, {"voltage": 232.0, "current": 0.09}, 0.1),
        (3, {"voltage": 232.0, "current": 0.095}, 0.2),  # 10 % of room
        (3, {"voltage": 232.0, "current": 0.09, "current_peak": 0.5}, 0.2),  # 3 x 0.1 A is below 0.55 A
        (6, {"voltage": 232.0, "current": 0.09, "current_peak": 0.5}, 0.1),
        (6, {"voltage": 232.0, "current": 0.002}, 0.0025),
    ],
)
def test_a_fixed_range_is_above_the_peak_and_above_the_crest(
    crest_factor: int, peaks: dict[str, float], current_range: float
) -> None:
    config = through(voltage_range="find", current_range="find", crest_factor=crest_factor)[0].config
    fixed = YokogawaWt310.ranged(config, peaks)
    assert (fixed.voltage_range, fixed.current_range) == (300, current_range)
    assert not fixed.finding and fixed.model_copy(update={"voltage_range": "find", "current_range": "find"}) == config


def test_a_load_beyond_every_range_is_refused() -> None:
    config = through(current_range="find")[0].config
    with pytest.raises(Fatal, match=r"current needs 20\.9, the largest is 20"):
        YokogawaWt310.ranged(config, {"voltage": 230.0, "current": 19.0})
    with pytest.raises(Fatal, match="saw no current"):
        YokogawaWt310.ranged(config, {"voltage": 230.0})


def test_the_range_the_meter_confirmed_is_the_one_that_counts() -> None:
    driver, _ = through(CONFIGURE)
    driver.configure()
    assert driver.ranges == {"V": 300.0, "A": 0.1}
    power = driver.describe().channels[2]
    assert power.u_abs == pytest.approx(0.0005 * 300.0 * 0.1 / 3**0.5)
