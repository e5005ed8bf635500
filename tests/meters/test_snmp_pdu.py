"""The objects a PDU is asked for, and what its answers become; an object that is not asked for fails the test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal, Reconnect, Retry
from iojoule.meters.snmp_link import Value
from iojoule.meters.snmp_pdu import DESCRIPTION, SnmpPdu

APC = "1.3.6.1.4.1.318.1.1.26"
RARITAN = "1.3.6.1.4.1.13742.6"


class Said:
    """An ``SnmpLink`` that knows what is asked next: objects and their values, in order."""

    def __init__(self, *lines: dict[str, Value]) -> None:
        self.lines = list(lines)

    def get(self, oids: Sequence[str]) -> list[Value]:
        line = self.lines.pop(0)
        assert list(oids) == list(line)
        return list(line.values())

    def close(self) -> None:
        pass


def meter(*lines: dict[str, Value], **keys: Any) -> tuple[SnmpPdu, Said]:
    link = Said(*lines)
    config = parse_meter({"kind": "snmp_pdu", "host": "192.0.2.5", "accuracy_pct": 1, **keys})
    return SnmpPdu(config, link=link), link  # type: ignore[arg-type]


WHO: dict[str, Value] = {DESCRIPTION: "AP8959"}


def whole(power: int, energy: int) -> dict[str, Value]:
    return {f"{APC}.4.3.1.5.1": power, f"{APC}.4.3.1.9.1": energy}


def test_hundredths_of_a_kilowatt_and_tenths_of_a_kilowatt_hour() -> None:
    driver, link = meter(whole(31, 5000), WHO, whole(31, 5000), whole(32, 5001), whole(33, 5002), model="apc_rpdu2")
    driver.configure()
    readings = [one for _ in range(3) for one in driver.next(0)]
    assert [(r.channel, r.value) for r in readings] == [
        ("power", 320.0), ("power", 330.0), ("energy", pytest.approx(360_000.0)),
    ]  # fmt: skip
    assert link.lines == [] and driver.identity["description"] == "AP8959"


def test_ten_watts_are_useless_for_one_drive_and_the_reading_says_so() -> None:
    driver, _ = meter(whole(1, 0), WHO, whole(1, 0), whole(2, 0), model="apc_rpdu2", role="drive", drive="sda")
    driver.configure()
    driver.next(0)
    (reading,) = (one for one in driver.next(0) if one.channel == "power")
    assert reading.value == 20.0 and reading.quality == {"under_range"}
    assert reading.u_value == pytest.approx(2.889, abs=5e-4)  # W: 10 W/√12 and 1 %/√3 of 20 W, apart from each other


def test_the_energy_register_starts_again_after_32_bits() -> None:
    last = 2**32 - 2
    driver, _ = meter(
        whole(31, last), WHO, whole(31, last), whole(32, last), whole(33, 1), model="apc_rpdu2", p_max_w=1e12
    )
    driver.configure()
    step = [one for _ in range(3) for one in driver.next(0) if one.channel == "energy"]
    assert [(r.value, r.flags) for r in step] == [(pytest.approx(3 * 360_000.0), "wrapped")]


def sensor(place: str, config: str, which: str, kind: int, digits: Value, least: Value) -> dict[str, Value]:
    return {f"{RARITAN}.3.{config}.1.7.1.{which}.{kind}": digits, f"{RARITAN}.3.{config}.1.27.1.{which}.{kind}": least}


def test_decimal_digits_and_the_sign_of_a_sensor_stand_elsewhere() -> None:
    value, signed = f"{RARITAN}.5.2.3.1.4.1.1", f"{RARITAN}.5.2.3.1.6.1.1"
    shown: list[dict[str, Value]] = [{f"{signed}.5": watts, f"{value}.8": 700} for watts in (-2, -105, -106)]
    driver, link = meter(
        sensor("2.3", "3.4", "1", 5, 1, -5000), sensor("2.3", "3.4", "1", 8, 0, "noSuchInstance"),
        shown[0], WHO, *shown[1:], model="raritan",
    )  # fmt: skip
    driver.configure()
    readings = [one for _ in range(2) for one in driver.next(0)]
    # What flows back is negative, and stays so; -1 in tenths would be no value, not -0.1 W.
    assert [(r.channel, r.value) for r in readings] == [("power", pytest.approx(-10.6))] and link.lines == []


def test_an_outlet_of_an_eaton_counts_units_from_zero() -> None:
    eaton = "1.3.6.1.4.1.534.6.6.7.6"
    shown: dict[str, Value] = {
        f"{eaton}.5.1.3.0.7": 120, f"{eaton}.5.1.4.0.7": 9, f"{eaton}.3.1.2.0.7": 230_100, f"{eaton}.4.1.3.0.7": 530,
    }  # fmt: skip
    driver, link = meter(shown, WHO, shown, shown | {f"{eaton}.5.1.3.0.7": 121}, model="eaton_epdu", outlet=7)
    driver.configure()
    driver.next(0)
    values = {one.channel: one.value for one in driver.next(0)}
    assert values == {"power": 121.0, "voltage": pytest.approx(230.1), "current": pytest.approx(0.53)}
    assert link.lines == []


@pytest.mark.parametrize("none", ["noSuchInstance", "noSuchObject", -1, 4294967295])
def test_an_object_the_pdu_does_not_have_is_named(none: Value) -> None:
    driver, _ = meter({f"{APC}.4.3.1.5.1": 31, f"{APC}.4.3.1.9.1": none}, model="apc_rpdu2")
    with pytest.raises(Fatal, match=r"1\.3\.6\.1\.4\.1\.318\.1\.1\.26\.4\.3\.1\.9\.1: the PDU answers"):
        driver.configure()


def test_a_sentinel_in_the_middle_is_no_power() -> None:
    driver, _ = meter(whole(31, 1), WHO, whole(31, 1), whole(-1, 1), whole(4294967295, 1), model="apc_rpdu2")
    driver.configure()
    flags = [[one.flags for one in driver.next(0) if one.channel == "power"] for _ in range(3)]
    assert flags == [[], ["invalid sentinel"], ["invalid sentinel"]]


def test_an_object_that_is_gone_for_a_while_is_asked_for_again() -> None:
    gone: dict[str, Value] = {f"{APC}.4.3.1.5.1": "noSuchInstance", f"{APC}.4.3.1.9.1": 1}
    driver, _ = meter(whole(31, 1), WHO, gone, model="apc_rpdu2")
    driver.configure()
    with pytest.raises(Retry, match=r"no longer has .*4\.3\.1\.5\.1: noSuchInstance"):
        driver.next(0)


def test_a_pdu_that_is_starting_is_waited_for() -> None:
    starting: dict[str, Value] = {f"{APC}.4.3.1.5.1": "noSuchInstance", f"{APC}.4.3.1.9.1": "noSuchInstance"}
    driver, _ = meter(whole(31, 1), WHO, starting, model="apc_rpdu2")
    driver.configure()
    with pytest.raises(Reconnect, match="it has no such value"):
        driver.configure()


def test_objects_that_no_table_has_are_named_in_the_section() -> None:
    oids = {
        "feed": {"oid": ".1.3.6.1.4.1.9.1", "unit": "kW", "scale": 0.001, "contains": ["meter"]},
        "meter": {"oid": "1.3.6.1.4.1.9.2", "unit": "Wh", "scale": 10, "modulus": 1000},
    }
    shown: list[dict[str, Value]] = [
        {"1.3.6.1.4.1.9.1": w, "1.3.6.1.4.1.9.2": e} for w, e in ((5, 1), (6, 998), (7, 2))
    ]
    driver, link = meter(shown[0], WHO, *shown, oids=oids, p_max_w=1e12)
    driver.configure()
    feed, counter = driver.describe().channels
    assert (feed.unit, feed.contains, counter.modulus) == ("W", ("meter",), 1000 * 36_000.0)
    readings = [one for _ in range(3) for one in driver.next(0)]
    assert [r.value for r in readings] == pytest.approx([6.0, 7.0, 4 * 36_000.0]) and link.lines == []


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({}, "either model or oids"),
        ({"model": "apc_rpdu2", "oids": {"a": {"oid": "1.2", "unit": "W"}}}, "either model or oids"),
        ({"oids": {"a": {"oid": "1.2", "unit": "hp"}}}, "there are W"),
        ({"oids": {"a": {"oid": "1.2", "unit": "W", "contains": ["b"]}}}, "no channel of oids: b"),
        ({"oids": {"a": {"oid": "sysDescr", "unit": "W"}}}, "oid"),
        ({"model": "raritan", "password": "x"}, "password"),
    ],
)
def test_a_section_that_says_too_little_or_too_much_is_refused(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        meter(**keys)


def test_an_outlet_needs_its_number_and_keys_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "auth").write_text("a-key\n")
    driver, _ = meter(model="raritan", username="me", auth_file=str(tmp_path / "auth"), auth="sha256")
    who = driver.config.credentials()
    assert (who.username, who.auth, who.auth_key, who.priv_key) == ("me", "sha256", "a-key", "")
    assert "a-key" not in driver.config.model_dump_json()
