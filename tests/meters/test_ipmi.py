"""Requests to a BMC and its answers, byte for byte; a request that is not expected fails the test."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal, Reconnect, Retry
from iojoule.meters.ipmi import Ipmi, power
from iojoule.meters.ipmi_link import IpmitoolLink

ASK = "2c 02 dc 01 00 00"
#: A device id as ipmitool shows it of a made BMC.
WHO = ("06 01", "00 20 81 01 23 02 00 92 10 00 11 00")
CLOCK = ("0a 48", "00 00 00 b1 6a")
NO_CLOCK = ("0a 48", "c1")


def answer(watts: int, state: int = 0x40) -> tuple[str, str]:
    packed = struct.pack("<4H2IB", watts, 280, 350, 305, 0x6AB10000, 60_000, state)
    return ASK, "00 dc " + packed.hex(" ")


class Said:
    """An ``IpmiLink`` that knows what is asked next."""

    def __init__(self, *lines: tuple[str, str]) -> None:
        self.lines = list(lines)

    def raw(self, netfn: int, command: int, data: bytes = b"") -> bytes:
        expected, reply = self.lines.pop(0)
        assert bytes([netfn, command, *data]) == bytes.fromhex(expected)
        return bytes.fromhex(reply)

    def close(self) -> None:
        pass


LOGIN = {"host": "192.0.2.4", "username": "me", "password_env": "IOJOULE_TEST_PASSWORD"}


def meter(*lines: tuple[str, str], clock: tuple[str, str] = CLOCK, **keys: Any) -> tuple[Ipmi, Said]:
    link = Said(WHO, answer(312), clock, *lines)
    config = parse_meter({"kind": "ipmi", **LOGIN, **keys})
    return Ipmi(config, link=link), link  # type: ignore[arg-type]


def test_watts_come_low_byte_first_and_each_update_once() -> None:
    driver, link = meter(answer(300), answer(300), answer(301))
    driver.configure()
    readings = [one for _ in range(3) for one in driver.next(0)]
    assert [(r.value, r.flags) for r in readings] == [(301.0, "")] and link.lines == []
    assert driver.identity["manufacturer"] == 4242 and driver.identity["statistics_period_s"] == 60.0
    assert driver.stop() == {"bmc_least_w": 280, "bmc_greatest_w": 350, "bmc_mean_w": 305, "bmc_period_s": 60.0}


@given(st.integers(0, 2**16 - 2))
def test_u16_every_power_that_16_bits_hold_is_read_as_it_is(watts: int) -> None:
    seen = power(bytes.fromhex(answer(watts)[1])[1:])
    assert seen.watts == watts
    assert (seen.least_w, seen.greatest_w, seen.mean_w, seen.period_ms) == (280, 350, 305, 60_000)


def test_u16_all_bits_set_is_no_65535_watts() -> None:
    driver, _ = meter(answer(300), answer(65535), answer(65534))
    driver.configure()
    flags = [[(r.value, r.flags) for r in driver.next(0)] for _ in range(3)]
    assert flags[1][0][1] == "invalid sentinel" and flags[2] == [(65534.0, "")]


def test_a_measurement_that_is_not_active_is_none() -> None:
    driver, _ = meter(answer(0, state=0), answer(0, state=0x40), answer(5, state=0x40))
    driver.configure()
    assert [[r.flags for r in driver.next(0)] for _ in range(3)] == [["invalid sentinel"], [], ["under_range"]]


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        ("c1", Reconnect, "knows no such command"),
        ("d4", Fatal, "insufficient privilege"),
        ("c0", Retry, "node busy"),
        ("ff", Retry, "0xff"),
        ("00", Retry, "nothing is no power reading"),
        ("00 dc 38 01 18 01", Retry, "is no power reading"),
        ("00 dd" + " 00" * 17, Retry, "is no power reading"),
    ],
)
def test_an_answer_that_is_no_reading_is_sorted_by_what_helps(reply: str, error: type[Exception], says: str) -> None:
    driver, _ = meter((ASK, reply))
    driver.configure()
    with pytest.raises(error, match=says):
        driver.next(0)


def test_a_bmc_without_dcmi_is_named_at_once() -> None:
    driver = Ipmi(parse_meter({"kind": "ipmi", **LOGIN}), link=Said(WHO, (ASK, "c1")))  # type: ignore[arg-type]
    with pytest.raises(Fatal, match="0x2c 0x02"):
        driver.configure()


def test_the_clock_of_the_event_log_has_a_step_of_a_second() -> None:
    driver, link = meter(("0a 48", "00 05 00 b1 6a"))
    driver.configure()
    probe = driver.sync()
    assert probe is not None and (probe.meter_ns, probe.resolution_ns) == (0x6AB10005 * 10**9, 10**9)
    assert link.lines == []
    without, _ = meter(clock=NO_CLOCK)
    without.configure()
    assert without.sync() is None


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"host": "192.0.2.4"}, "say username"),
        ({"host": "192.0.2.4", "username": "me"}, "one of password_file"),
        ({"username": "me", "password_env": "X"}, "belong to a host"),
        ({"host": "192.0.2.4", "username": "me", "password": "pw"}, "password"),
    ],
)
def test_a_password_comes_from_a_file_or_the_environment(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_meter({"kind": "ipmi", **keys})


def ipmitool(tmp_path: Path, script: str) -> IpmitoolLink:
    """A program that takes its place: the machine's own BMC is not here."""
    program = tmp_path / "ipmitool"
    program.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\n{script}\n')
    program.chmod(0o755)
    return IpmitoolLink(str(program), 2.0)


def test_the_own_bmc_is_asked_through_ipmitool(tmp_path: Path) -> None:
    # What ipmitool 1.8.19 prints for a raw request.
    link = ipmitool(tmp_path, "printf ' dc d4 00 d4 00 d4 00 d4 00 a8 a5 b1 6a 40 42 0f\\n 00 40\\n'")
    seen = power(link.raw(0x2C, 0x02, bytes([0xDC, 1, 0, 0]))[1:])
    assert (seen.watts, seen.period_ms) == (212.0, 1_000_000)
    assert (tmp_path / "said").read_text() == "-I open raw 0x2c 0x02 0xdc 0x01 0x00 0x00\n"


@pytest.mark.parametrize(
    ("script", "error", "says"),
    [
        ("echo 'Could not open device at /dev/ipmi0: No such file' >&2; exit 1", Fatal, "no BMC here"),
        ("echo 'Get Device ID command failed' >&2; exit 1", Retry, "command failed"),
        ("echo half an ans", Retry, "are no bytes"),
        ("sleep 9", Retry, "no answer within 2 s"),
    ],
)
def test_what_ipmitool_says_in_place_of_bytes_is_sorted(
    tmp_path: Path, script: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        ipmitool(tmp_path, script).raw(6, 1)


def test_a_completion_code_that_ipmitool_tells_is_one(tmp_path: Path) -> None:
    refused = "echo 'Unable to send RAW command (channel=0x0 netfn=0x2c lun=0x0 cmd=0x2 rsp=0xc1): Invalid' >&2; exit 1"
    assert ipmitool(tmp_path, refused).raw(0x2C, 2) == b"\xc1"


def test_without_ipmitool_the_remedy_is_named() -> None:
    with pytest.raises(Fatal, match="apt-get install ipmitool"):
        IpmitoolLink("/nonexistent/ipmitool", 1.0).raw(6, 1)
