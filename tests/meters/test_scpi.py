"""A dialogue that stands in the experiment: what is sent, what a number is, and when it was."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError
from transcript import Line, Transcript

from iojoule.meters import clock, parse_meter
from iojoule.meters.base import Fatal, Reading, Reconnect
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.scpi_dmm import ScpiDmmFront
from iojoule.meters.lab.yokogawa_wt310 import Wt310Front
from iojoule.meters.scpi import Scpi

SECTION: dict[str, Any] = {
    "kind": "scpi",
    "resource": "TCPIP0::192.0.2.7::5025::SOCKET",
    "identity": "^ACME,PSU",
    "setup": [["*RST"], ["VOLT:RANG 20", "VOLT:RANG?", "20"], ["OUTP ON", "OUTP?", "1|ON"]],
    "read": "MEAS:VOLT?;CURR?;POW?",
    "separator": ";",
    "channels": [
        {
            "id": "rail",
            "index": 2,
            "kind": "instant",
            "boundary": "dc_rail",
            "accuracy": [0.1, 0.05, 30.0],
            "resolution": 0.01,
        },
        {"id": "bus", "index": 0, "quantity": "voltage", "unit": "V", "boundary": "dc_rail", "kind": "instant"},
        {
            "id": "load",
            "index": 1,
            "quantity": "current",
            "unit": "A",
            "boundary": "dc_rail",
            "kind": "instant",
            "scale": 0.001,
        },
    ],
}
CONFIGURE: list[Line] = [
    ("*IDN?", "ACME,PSU-3,1234,1.0"),
    ("SYST:ERR?", '-410,"Query INTERRUPTED"'),
    ("SYST:ERR?", '+0,"No error"'),
    ("*RST", None),
    ("VOLT:RANG 20", None),
    ("VOLT:RANG?", "+2.00000000E+01"),
    ("OUTP ON", None),
    ("OUTP?", "ON"),
    ("SYST:ERR?", '+0,"No error"'),
]


def through(*parts: list[Line], **keys: object) -> tuple[Scpi, Transcript]:
    link = Transcript(line for part in parts for line in part)
    return Scpi(parse_meter(SECTION | keys), None, link), link  # type: ignore[arg-type]


def readings(answer: str, **keys: object) -> dict[str, Reading]:
    driver, link = through(CONFIGURE, [("MEAS:VOLT?;CURR?;POW?", answer)], **keys)
    driver.configure()
    driver.start()
    seen = {reading.channel: reading for reading in driver.next(0)}
    assert not link.lines
    return seen


def test_the_whole_dialogue() -> None:
    end: list[Line] = [("MEAS:VOLT?;CURR?;POW?", "12.003;1502.1;18.03"), ("OUTP OFF", None), ("SYST:LOC", None)]
    driver, link = through(CONFIGURE, end, end=["OUTP OFF", "SYST:LOC"])
    driver.configure()
    identity = driver.describe().identity
    assert identity["model"] == "ACME,PSU-3,1234,1.0"
    assert identity["confirmed"] == {"VOLT:RANG 20": "+2.00000000E+01", "OUTP ON": "ON"}
    driver.start()
    seen = {reading.channel: reading.value for reading in driver.next(0)}
    assert seen == {"rail": 18.03, "bus": 12.003, "load": pytest.approx(1.5021)}
    driver.stop()
    assert not link.lines, "the driver said less than the transcript"


def test_another_instrument_is_fatal() -> None:
    driver, _ = through([("*IDN?", "HEWLETT-PACKARD,34401A,0,11-5-2")])
    with pytest.raises(Fatal, match="34401A"):
        driver.configure()


def test_a_setting_that_was_not_taken_is_fatal() -> None:
    driver, _ = through([*CONFIGURE[:5], ("VOLT:RANG?", "5"), ("VOLT:RANG?", "5")])
    with pytest.raises(Fatal, match=r"VOLT:RANG 20 was not taken: VOLT:RANG[?] says 5, not 20"):
        driver.configure()


def test_an_error_after_the_setup_is_fatal_and_one_before_it_is_not() -> None:
    driver, _ = through([*CONFIGURE[:-1], ("SYST:ERR?", '-222,"Data out of range"')])
    with pytest.raises(Fatal, match="Data out of range"):
        driver.configure()


def test_the_last_digit_is_part_of_the_uncertainty() -> None:
    """18.03 W: (0.1 % of 18.03 W + 0.05 % of 30 W)/√3 and, apart from it, 0.01 W/√12."""
    expected = math.hypot((0.01803 + 0.015) / math.sqrt(3), 0.01 / math.sqrt(12))
    assert readings("12.0;1.5;18.03")["rail"].u_value == pytest.approx(expected)
    assert math.isnan(readings("12.0;1.5;18.03")["bus"].u_value), "not stated is not zero"


@pytest.mark.parametrize(
    ("answer", "flags"),
    [
        ("+9.90000000E+37", "invalid overload"),
        ("-9.90000000E+37", "invalid overload"),
        ("INF", "invalid overload"),
        ("9.91E+37", "invalid sentinel"),
        ("NAN", "invalid sentinel"),
        ("2.9", "under_range"),
        ("0", "under_range"),
        ("-0.5", "under_range"),
    ],
)
def test_codes_for_no_value_are_no_values_and_small_ones_are_kept(answer: str, flags: str) -> None:
    assert readings(f"12.0;1.5;{answer}")["rail"].flags == flags


def test_an_answer_that_means_nothing_is_told_by_the_experiment() -> None:
    channels = [{**SECTION["channels"][0], "sentinel": ["-99.9", "----"]}, *SECTION["channels"][1:]]
    assert readings("12.0;1.5;-99.90", channels=channels)["rail"].flags == "invalid sentinel"
    assert readings("12.0;1.5;----", channels=channels)["rail"].flags == "invalid sentinel"


def test_a_unit_behind_the_number_is_allowed() -> None:
    assert readings("12.0 V;1.5A;1.803E+01 W")["rail"].value == 18.03


@pytest.mark.parametrize("garbage", ["", "12.0", "12.0;1.5", "12;1.5;x", "12;1.5;18;4", "12;1.5;1.8E"])
def test_an_answer_that_is_not_the_numbers_breaks_the_connection(garbage: str) -> None:
    driver, _ = through(CONFIGURE, [("MEAS:VOLT?;CURR?;POW?", garbage)])
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect):
        driver.next(0)


def test_a_counter_gives_what_was_used_and_its_first_count_is_no_consumption() -> None:
    wh = {"id": "used", "index": 0, "kind": "counter", "quantity": "energy", "unit": "J", "boundary": "ac_wall"}
    keys = {"channels": [wh | {"scale": 3600, "modulus": 3600.0, "p_max": 100}], "fields": 1, "read": "WH?"}
    looks: list[Line] = [("WH?", "0.5"), ("WH?", "0.75"), ("WH?", "0.0001"), ("WH?", "NAN")]
    driver, _ = through(CONFIGURE, looks, **keys)
    with clock.use(clock.SimClock()):
        driver.configure()
        driver.start()
        clock.sleep(10)
        (first,) = driver.next(0)
        assert (first.value, first.end_ns - first.start_ns, first.flags) == (900.0, 10**10, "")
        clock.sleep(10)
        (wrapped,) = driver.next(0)
        assert (wrapped.value, wrapped.flags) == (pytest.approx(900.36), "wrapped")
        assert driver.next(0)[0].flags == "invalid sentinel"


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"setup": [["OUTP ON", "OUTP?"]]}, "command, query, expected"),
        ({"channels": [SECTION["channels"][0] | {"kind": "window_mean"}]}, "give window, update or wait"),
        ({"channels": [SECTION["channels"][0], SECTION["channels"][0]]}, "two channels have one id"),
        ({"channels": [SECTION["channels"][0] | {"kind": "counter"}]}, "a counter counts J"),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        parse_meter(SECTION | keys)


def test_a_value_measured_when_asked_lies_between_question_and_answer() -> None:
    """A 34401A that integrates 200 ms: the window is the aperture, known to what the way takes."""
    with clock.use(clock.SimClock(5 * 10**9 + 123_456_789)):
        front = ScpiDmmFront(Load([State(0.0, 1.0), State(60.0, 1.0)], 0, repeat=True))
        driver = Scpi(parse_meter(front.section()), None, front.link())  # type: ignore[arg-type]
        driver.configure()
        driver.start()
        for _ in range(25):
            before_ns = clock.now_ns()
            (power,) = driver.next(0)
            assert power.end_ns - power.start_ns == 200_000_000
            assert before_ns <= power.start_ns and power.end_ns <= clock.now_ns() and power.u_time_ns < 1_000_000
            true_w = front.truth.joules(power.start_ns, power.end_ns) / 0.2
            assert power.value == pytest.approx(true_w, abs=60 * 0.003 / 0.2 + 0.2)


def test_an_answer_that_comes_before_it_can_have_been_measured_is_another_ones() -> None:
    """A second copy of the answer before, say; taken for this one it would shift every answer that follows."""
    channels = [{"id": "power", "boundary": "ac_wall"}]
    driver, _ = through(CONFIGURE, [("READ?", "1.8")], read="READ?", window="200ms", channels=channels)
    driver.configure()
    driver.start()
    with pytest.raises(Reconnect, match="before it can have measured"):
        driver.next(0)


def test_a_wait_for_the_edge_makes_windows_of_any_meter_that_has_one() -> None:
    """The same WT310, read by the general driver: the same windows and watts as its own driver gives."""
    from iojoule.meters.yokogawa_wt310 import YokogawaWt310

    told: dict[str, Any] = {
        "kind": "scpi", "resource": "TCPIP0::192.0.2.7::5025::SOCKET", "interval": "250ms", "identity": "WT310",
        "setup": [
            [":RATE 250MS", ":RATE?", "250.0E-03"], [":NUM:NORM:NUM 1", ":NUM:NORM:NUM?", "1"],
            [":NUM:NORM:ITEM1 P,1", ":NUM:NORM:ITEM1?", "P,1"], [":STAT:FILT1 FALL"],
        ],
        "wait": [":STAT:EESR?", ":COMM:WAIT 1"], "read": ":NUM:NORM:VAL?", "errors": ":STAT:ERR?",
        "channels": [{"id": "power", "boundary": "ac_wall"}],
    }  # fmt: skip
    truth = Load([State(6.0, 0.7), State(30.0, 1.1)], 0, repeat=True)
    seen: list[list[Reading]] = []
    for make, keys in ((Scpi, told), (YokogawaWt310, None)):
        with clock.use(clock.SimClock()):
            front = Wt310Front(truth)
            driver: Any = make(parse_meter(keys or front.section()), None, front.link())
            driver.configure()
            clock.sleep_until(10**12 + 10**9)
            driver.next(0)
            if make is Scpi:
                # The edge is taken off the register once; after that the wait alone would return at once.
                front.answer(":STAT:EESR?", clock.now_ns())
            seen.append([reading for reading in driver.next(0) if reading.channel == "power"])
    general, own = seen[0][0], seen[1][0]
    assert general.value == own.value and abs(general.end_ns - own.end_ns) < 2_000_000
