"""The made Modbus meters: a foreign client agrees with the truth, our driver with it, faults invent nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from looked_at import KEYS, LEAST_W, UPDATE_S, bear, kinds
from plugged import Held, Watched, plugged_in, watched
from pymodbus.client import ModbusTcpClient

from iojoule.experiment.coverage import cover
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.modbus import ModbusFront, ModbusRtuFront
from iojoule.meters.modbus_registers import Number

WATTS = 123.4


class Exact(ModbusFront):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE: ClassVar[Make] = Make(resolution=0.1, update_s=UPDATE_S)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.0
    COUNT_J: ClassVar[float] = 3.6

    def parameters(self, now_ns: int) -> dict[int, float]:
        return super().parameters(now_ns) | {0x0156: self.counts(now_ns) / 1e6}

    def section(self) -> dict[str, Any]:
        return {**super().section(), "update": f"{UPDATE_S}s", "latency": "0s", "energy_resolution": 1e-6}


class ExactRtu(ModbusRtuFront):
    MAKE = Exact.MAKE
    LATENCY_HALF_WIDTH_S = 0.0
    BAUD: ClassVar[int] = 115_200

    def section(self) -> dict[str, Any]:
        return {
            **super().section(),
            "update": f"{UPDATE_S}s",
            "latency": "0s",
            "baud": self.BAUD,
            "quantities": ["power"],
        }


def test_a_foreign_client_reads_the_truth_and_our_driver_what_it_reads() -> None:
    """The client's library decodes the floats by itself."""
    front = Exact(Held(WATTS), seed=3)
    with plugged_in(front) as line:
        with ModbusTcpClient("127.0.0.1", port=line.port, timeout=5) as client:

            def float_at(address: int) -> Any:
                said = client.read_input_registers(address, count=2, device_id=1)
                return client.convert_from_registers(said.registers, client.DATATYPE.FLOAT32)

            assert float_at(0x0C) == pytest.approx(WATTS, abs=0.05)
            assert float_at(0x00) == 230.0 and float_at(0x46) == 50.0
            assert client.read_input_registers(0x200, count=2, device_id=1).exception_code == 2
            assert client.read_holding_registers(0x0C, count=2, device_id=1).exception_code == 1
            theirs, kwh = float_at(0x0C), float_at(0x156)
        with watched(front, **KEYS) as seen:
            assert {one.value for one in seen.more(5)} == {theirs}
            seen.until(lambda: sum(one.channel == "energy" for one in seen.all) >= 3)
            counted = [one for one in seen.all if one.channel == "energy"]
    step_j = Number(0x156, "kWh").step(kwh * 3.6e6)
    for one in counted:
        true_j = WATTS * (one.end_ns - one.start_ns) * 1e-9
        assert one.value == pytest.approx(true_j, abs=step_j + 3.6 + 3 * WATTS * one.u_time_ns * 1e-9)


def test_a_meter_on_a_serial_line() -> None:
    front = ExactRtu(Held(WATTS), seed=3)
    with plugged_in(front), watched(front, **KEYS) as seen:
        assert all(one.value == pytest.approx(WATTS, abs=1e-5) for one in seen.more(5))
        assert seen.events == []


def bears(faults: list[Any]) -> None:
    truth = Held(LEAST_W)
    front = Exact(truth, seed=3)
    front.faults.late_s = 0.8
    with plugged_in(front) as line, watched(front, **{**KEYS, "timeout": "500ms"}) as seen:
        bear(seen, truth, line, front.faults, faults)


def test_faults_invent_nothing() -> None:
    bears(["half", "late"])


@pytest.mark.stress
def test_all_faults_invent_nothing() -> None:
    bears(["silent", "half", "garbage", "hang_up", b"\x00\x01\x00\x00\x00\x03\x01\x84", "late"])


def test_a_busy_meter_is_asked_again_and_one_that_was_there_and_refuses_is_waited_for() -> None:
    front = Exact(Held(WATTS))
    with plugged_in(front), watched(front, **KEYS) as seen:
        front.exceptions += [6, 6]
        seen.until(lambda: "back" in kinds(seen))
        seen.more(4)
        assert [kind for kind in kinds(seen) if kind != "retry"] == ["lost", "back"]
        assert "device busy" in seen.events[0][1]
        # A gateway that starts anew knows no registers for a while.
        front.exceptions.append(2)
        seen.until(lambda: kinds(seen).count("back") == 2)
        (refused,) = (text for kind, text in seen.events if "refuses" in text)
    assert "illegal data address" in refused and "fatal" not in kinds(seen)


def test_a_register_that_is_refused_from_the_start_is_for_a_person_to_mend() -> None:
    front = Exact(Held(WATTS))
    with plugged_in(front):
        front.exceptions.append(2)
        seen = Watched(front, None, **KEYS)
        with seen.meters:
            reason = seen.meters.wait_first_good(10.0)["wall"]
    assert "refuses" in reason and "illegal data address" in reason
    assert kinds(seen) == ["fatal"]


def test_a_unit_nobody_has_is_waited_for() -> None:
    front = Exact(Held(WATTS))
    with plugged_in(front):
        seen = Watched(front, None, **{**KEYS, "unit": 7, "timeout": "200ms"})  # type: ignore[arg-type]
        with seen.meters:
            assert "wall" in seen.meters.wait_first_good(1.5)
        assert seen.power == [] and kinds(seen)[0] == "lost"


@pytest.mark.parametrize("front", ["modbus", "modbus_rtu"])
def test_what_is_quoted_holds_the_truth(front: str) -> None:
    found, trials = cover(front, range(10))
    assert found.quoted == 10, [one for one in trials if one.joules is None]
    assert found.used <= 1
