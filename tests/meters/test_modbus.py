"""Modbus: what registers mean, what is asked in one request, what a meter's refusals do; frames byte for byte."""

from __future__ import annotations

import csv
import math
import struct
from pathlib import Path

import pytest

from iojoule.meters import clock
from iojoule.meters.base import Fatal, Reading, Reconnect, Retry
from iojoule.meters.counter import NEVER_WRAPS_J
from iojoule.meters.lab.modbus import ModbusFront, ModbusRtuFront, crc16
from iojoule.meters.modbus import Modbus, ModbusConfig
from iojoule.meters.modbus_link import PymodbusLink, Refused
from iojoule.meters.modbus_registers import MODELS, Number, blocks

S = 10**9
SECTION = {"kind": "modbus", "host": "192.0.2.9", "model": "sdm120", "accuracy_pct": 1, "latency": "0s"}


def words(*values: float) -> list[int]:
    return list(struct.unpack(f">{2 * len(values)}H", struct.pack(f">{len(values)}f", *values)))


class Script:
    """Rows of (request, registers or what is raised); what is left over, or asked out of turn, fails the test."""

    def __init__(self, *rows: tuple[tuple[int, int, int], list[int] | Exception]) -> None:
        self.rows = list(rows)

    def read(self, function: int, address: int, count: int) -> list[int]:
        asked, answer = self.rows.pop(0)
        assert asked == (function, address, count)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        pass


POWER, ENERGY = (4, 0x0C, 2), (4, 0x156, 2)


def test_a_dialogue_with_an_sdm120() -> None:
    link = Script(
        (POWER, words(18.0)), (ENERGY, words(1.234)),  # each register is known to be there
        (POWER, words(18.0)), (ENERGY, words(1.234)),
        (POWER, words(18.5)), (ENERGY, words(1.234)),
        (POWER, words(18.5)), (ENERGY, words(1.235)),
        (POWER, words(-2.0)), (ENERGY, words(1.235)),
    )  # fmt: skip
    sim = clock.SimClock()
    with clock.use(sim):
        driver = Modbus(ModbusConfig.model_validate(SECTION), link=link)
        driver.configure()
        power, energy = driver.describe().channels
        driver.start()
        found: list[Reading] = []
        for at_ms in (0, 500, 1000, 1500):
            sim.sleep_until(10**12 + at_ms * 10**6)
            found += driver.next(sim.now_ns())
    assert link.rows == []
    assert (power.kind, power.unit, power.contains) == ("window_mean", "W", ("energy",))
    assert (energy.kind, energy.unit, energy.modulus) == ("counter", "J", NEVER_WRAPS_J)
    assert power.u_rel == pytest.approx(0.01 / math.sqrt(3))
    watts = [(one.value, one.flags) for one in found if one.channel == "power"]
    assert watts == [(18.5, ""), (18.5, "stale"), (-2.0, "")], "a sign is kept; the first update only opens a window"
    assert [one.value for one in found if one.channel == "energy"] == [], "the first count is no consumption"


def test_a_counter_of_floats_loses_watt_hours(golden: Path) -> None:
    with (golden / "meter_register_resolution.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7
    for row in rows:
        kwh = float(row["float32_kwh"])
        step_j = Number(0x156, "kWh").step(kwh * 3.6e6)
        assert step_j / 3600 == pytest.approx(float(row["recomputed_step_wh"]), rel=1e-9)
        driver = Modbus(
            ModbusConfig.model_validate({**SECTION, "quantities": ["energy"], "energy_resolution": 0.001}),
            link=Script((ENERGY, words(kwh))),
        )
        driver.configure()
        u_abs = driver.describe().channels[0].u_abs
        assert u_abs == pytest.approx(max(3600.0, step_j) / math.sqrt(12)), "what it cannot show is not known"


@pytest.mark.parametrize(
    ("number", "given", "value"),
    [
        (Number(0, "W"), words(18.03125), 18.03125),
        (Number(0, "W", word_order="little"), words(18.03125)[::-1], 18.03125),
        (Number(0, "W", "u16", scale=0.1), [65535], 6553.5),
        (Number(0, "W", "i16", scale=0.1), [65535], -0.1),
        (Number(0, "Wh", "u32"), [1, 2], 65538 * 3600.0),
        (Number(0, "Wh", "u32", word_order="little"), [2, 1], 65538 * 3600.0),
        (Number(0, "W", "u16", byte_order="little"), [0x3412], 0x1234),
        (Number(0, "W", "i32"), [0xFFFF, 0xFFFE], -2.0),
        (Number(0, "W", "f64"), list(struct.unpack(">4H", struct.pack(">d", -1.5))), -1.5),
        (Number(0, "kW", "u64", scale=0.001), [0, 0, 0, 7], 7.0),
        (Number(0, "W", "i16", sentinel=-32768), [0x8000], None),
        (Number(0, "W", "u16", sentinel=65535), [65534], 65534.0),
        (Number(0, "W"), [0x7FC0, 0], None),
        (Number(0, "W"), [0x7F80, 0], None),
    ],
)
def test_what_the_words_of_a_number_mean(number: Number, given: list[int], value: float | None) -> None:
    assert number.value(given) == value


@pytest.mark.parametrize(
    ("number", "at"),
    [
        (Number(0, "Wh", "u16"), 65536 * 3600.0),
        (Number(0, "Wh", "u32", scale=10), 2**32 * 36000.0),
        (Number(0, "Wh", "i32"), 2**31 * 3600.0),
        (Number(0, "Wh", "u32", modulus=10**8), 10**8 * 3600.0),
        (Number(0, "kWh"), 1e15),
    ],
)
def test_where_a_counter_starts_again(number: Number, at: float) -> None:
    assert number.wraps_at(1e15) == at


def test_no_request_is_longer_than_the_meter_takes() -> None:
    model = MODELS["sdm120"]
    found = blocks(model.numbers, 60, model.bridge)
    assert [(one.function, one.address, one.count) for one in found] == [(4, 0, 32), (4, 0x46, 4), (4, 0x156, 2)]
    assert [name for one in found for name in one.names] == list(model.numbers)
    assert max(one.count for one in blocks(model.numbers, 20, model.bridge)) <= 20
    assert len(blocks(model.numbers, 60, 0)) == 8, "without leave no register in between is touched"


def configured(*rows: tuple[tuple[int, int, int], list[int] | Exception]) -> Modbus:
    """A meter that was in order when it was configured."""
    driver = Modbus(
        ModbusConfig.model_validate({**SECTION, "quantities": ["power"]}), link=Script((POWER, words(1.0)), *rows)
    )
    driver.configure()
    return driver


def test_an_illegal_address_names_the_register() -> None:
    driver = Modbus(ModbusConfig.model_validate(SECTION), link=Script((POWER, words(1.0)), (ENERGY, Refused(2))))
    with pytest.raises(Fatal, match=r"unit 1 refuses energy \(function 4, register 0x0156\): illegal data address"):
        driver.configure()


@pytest.mark.parametrize("code", [2, 10])
def test_a_register_that_was_there_once_is_waited_for(code: int) -> None:
    """Behind a gateway that starts anew there is no way to the unit for a while."""
    driver = configured((POWER, Refused(code)))
    with pytest.raises(Reconnect, match="unit 1 refuses power"):
        driver.next(0)


@pytest.mark.parametrize("code", [4, 5, 6, 11])
def test_a_busy_meter_is_asked_again(code: int) -> None:
    driver = configured((POWER, Refused(code)), (POWER, words(2.0)))
    with pytest.raises(Retry, match=f"register 0x000c\\): .*\\({code}\\)"):
        driver.next(0)
    assert driver.next(0) == []


def test_what_was_read_before_a_failure_is_handed_over_first() -> None:
    link = Script(
        (POWER, words(1.0)), (ENERGY, words(1.0)), (POWER, words(math.nan)), (ENERGY, Refused(6)), (POWER, words(2.0)),
        (ENERGY, words(1.0)),
    )  # fmt: skip
    driver = Modbus(ModbusConfig.model_validate(SECTION), link=link)
    driver.configure()
    assert [one.flags for one in driver.next(0)] == ["invalid sentinel"]
    with pytest.raises(Retry, match="device busy"):
        driver.next(0)
    driver.next(0)
    assert link.rows == []


def test_a_counter_goes_on_counting_while_the_line_is_lost() -> None:
    shown = [words(kwh) for kwh in (1.0, 1.0, 1.125, 1.5, 1.5, 1.75)]
    link = Script(*((ENERGY, one) for one in shown))
    driver = Modbus(ModbusConfig.model_validate({**SECTION, "quantities": ["energy"]}), link=link)
    sim, found = clock.SimClock(), list[Reading]()
    with clock.use(sim):
        driver.configure()
        for looks in (2, 2):
            for _ in range(looks):
                sim.sleep_until(sim.now_ns() + 600 * S)
                found += driver.next(sim.now_ns())
            if link.rows:
                driver.configure()
    assert link.rows == [] and sum(one.value for one in found) == pytest.approx((1.75 - 1.125) * 3.6e6)
    assert found[0].start_ns < 10**12 + 1201 * S < found[-1].end_ns, "one step reaches over the loss"


def test_nan_is_a_sentinel_and_no_measurement() -> None:
    driver = configured((POWER, words(math.nan)))
    (reading,) = driver.next(0)
    assert reading.flags == "invalid sentinel" and math.isnan(reading.value) and not reading.good


def test_a_register_that_wraps_is_corrected() -> None:
    section = {
        "kind": "modbus", "host": "192.0.2.9", "latency": "0s", "p_max_w": 500,
        "registers": {"imported": {"address": 7, "unit": "Wh", "type": "u16", "function": 3}},
    }  # fmt: skip
    asked = (3, 7, 1)
    sim = clock.SimClock()
    with clock.use(sim):
        driver = Modbus(
            ModbusConfig.model_validate(section), link=Script(*((asked, [n]) for n in (65534, 65534, 65535, 1)))
        )
        driver.configure()
        found: list[Reading] = []
        for at_s in (0, 60, 120):
            sim.sleep_until(10**12 + at_s * S)
            found += driver.next(sim.now_ns())
    assert [(one.value, one.flags) for one in found] == [(2 * 3600.0, "wrapped")]


def test_sections_that_do_not_say_enough() -> None:
    for wrong, why in [
        ({"host": None}, "either host"),
        ({"device": "/dev/ttyUSB0"}, "either host"),
        ({"model": None}, "either model"),
        ({"model": "sdm72", "quantities": ["voltage"]}, "the sdm72 has no voltage"),
        ({"model": None, "registers": {"p": {"address": 1, "unit": "hp"}}}, "unit 'hp'"),
        ({"model": None, "registers": {"p": {"address": 1, "unit": "W", "contains": ["q"]}}}, "contains names"),
    ]:
        with pytest.raises(ValueError, match=why):
            ModbusConfig.model_validate({**SECTION, **wrong})


class Heard:
    """A raw log in memory."""

    def __init__(self) -> None:
        self.said: list[tuple[str, bytes]] = []

    def sent(self, data: bytes) -> None:
        self.said.append((">", data))

    def received(self, data: bytes) -> None:
        self.said.append(("<", data))


class Steady:
    def watts(self, at_ns: int) -> float:
        return 18.0

    def joules(self, start_ns: int, end_ns: int) -> float:
        return 18.0 * (end_ns - start_ns) * 1e-9

    def volts(self, at_ns: int) -> float:
        return 230.0


class Exact(ModbusFront):
    MAKE = ModbusFront.MAKE.__class__(update_s=1.0)


def link_to(front: ModbusFront, unit: int = 1, raw: Heard | None = None) -> PymodbusLink:
    host, port = front._address
    return PymodbusLink(unit, 0.3, raw, host=host, port=port)


def test_frames_are_kept_as_they_were() -> None:
    front, raw = Exact(Steady()), Heard()
    front.faults.next.append("split")
    with front.served():
        link = link_to(front, raw=raw)
        assert link.read(4, 0x0C, 2) == words(18.0)
        link.close()
    assert raw.said[0] == (">", bytes.fromhex("0001 0000 0006 01 04 000c 0002"))
    assert b"".join(data for way, data in raw.said if way == "<") == bytes.fromhex("0001 0000 0007 01 04 04 41900000")


@pytest.mark.parametrize("fault", ["silent", "half", "garbage", "hang_up", b"\x00\x09\x00\x00\x00\x07\x01\x04\x04AAAA"])
def test_what_is_not_the_answer_ends_the_connection(fault: str | bytes) -> None:
    """The last one is an answer to another question."""
    front = Exact(Steady())
    with front.served():
        link = link_to(front)
        front.faults.next.append(fault)  # type: ignore[arg-type]
        with pytest.raises(Reconnect):
            link.read(4, 0x0C, 2)
        with pytest.raises(Reconnect):
            link_to(front, unit=9).read(4, 0x0C, 2)  # nobody has that number
        again = link_to(front)
        assert again.read(4, 0x0C, 2) == words(18.0)
        again.close()


def test_answers_heard_twice_answer_one_question() -> None:
    front = Exact(Steady())
    with front.served():
        link = link_to(front)
        front.faults.next.append("double")
        assert link.read(4, 0x0C, 2) == words(18.0)
        assert link.read(4, 0x00, 2) == words(230.0)
        link.close()


def test_exceptions_come_through_the_line() -> None:
    front = Exact(Steady())
    with front.served():
        link = link_to(front)
        for address, code in ((0x200, 2), (0x0C, 6)):
            if code == 6:
                front.exceptions.append(code)
            with pytest.raises(Refused) as refused:
                link.read(4, address, 2)
            assert refused.value.code == code
        with pytest.raises(Refused, match="illegal function"):
            link.read(3, 0x0C, 2)
        assert link.read(4, 0x0C, 2) == words(18.0)
        link.close()


class Serial(ModbusRtuFront):
    MAKE = Exact.MAKE
    BAUD = 115_200


def test_a_serial_line_is_still_before_it_is_asked_again() -> None:
    """An answer that was late is not taken for the next one's: nothing on a serial line tells the two apart."""
    front, raw = Serial(Steady()), Heard()
    front.faults.late_s = 0.4
    with front.served() as device:

        def opened() -> PymodbusLink:
            return PymodbusLink(1, 0.3, raw, device=device, baud=115_200)

        link = opened()
        assert link.read(4, 0x0C, 2) == words(18.0)
        assert raw.said[0] == (">", bytes.fromhex("01 04 000c 0002 b1c8"))
        for fault in ("half", "garbage", "silent", "late"):
            front.faults.next.append(fault)  # type: ignore[arg-type]
            with pytest.raises(Reconnect):
                link.read(4, 0x0C, 2)
            link = opened()
            assert link.read(4, 0x00, 2) == words(230.0), fault
        link.close()


def test_the_check_of_a_frame() -> None:
    """CRC-16/MODBUS of "123456789" is 0x4B37 (catalogue of parametrised CRC algorithms); over itself it is 0."""
    assert crc16(b"123456789") == 0x4B37
    assert crc16(b"123456789" + struct.pack("<H", 0x4B37)) == 0
