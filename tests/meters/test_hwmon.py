"""Sensors of the board: units of the kernel, codes that are no value, rails multiplied one by one."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from kernel_tree import Tree

from iojoule.meters import parse_meter
from iojoule.meters.base import Channel, Fatal, Reading, Reconnect, Retry
from iojoule.meters.hwmon import Hwmon

INA = {"hwmon0/name": "ina226", "hwmon0/power1_input": 18_030_000, "hwmon0/power1_label": "12V drive"}


def opened(root: Path, **keys: object) -> Hwmon:
    driver = Hwmon(parse_meter({"kind": "hwmon", "root": str(root), **keys}))  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    return driver


def readings(driver: Hwmon) -> dict[str, Reading]:
    return {reading.channel: reading for reading in driver.next(0)}


def channels(driver: Hwmon) -> dict[str, Channel]:
    return {channel.id: channel for channel in driver.describe().channels}


def test_microwatts_are_watts_at_an_instant(tree: Tree) -> None:
    driver = opened(tree(INA))
    seen = readings(driver)["ina226.power1"]
    assert seen.value == pytest.approx(18.03) and seen.start_ns == seen.end_ns
    assert channels(driver)["ina226.power1"].kind == "instant"
    assert driver.describe().identity["labels"] == {"ina226.power1": "12V drive"}


@pytest.mark.parametrize("code", [4294967295, 4294967295000, 4294967295000000, 2147483647, 2**64 - 1])
def test_a_sentinel_is_not_power(tree: Tree, code: int) -> None:
    seen = readings(opened(tree(INA | {"hwmon0/power1_input": code})))["ina226.power1"]
    assert seen.flags == "invalid sentinel" and seen.watts is None


def test_a_sentinel_does_not_move_an_energy_counter(tree: Tree) -> None:
    driver = opened(tree({"hwmon0/name": "ltc2947", "hwmon0/energy1_input": 1_000_000}))
    tree({"hwmon0/energy1_input": 4294967295000000})
    assert "sentinel" in readings(driver)["ltc2947.energy1"].quality
    tree({"hwmon0/energy1_input": 1_500_000})
    assert readings(driver)["ltc2947.energy1"].value == pytest.approx(0.5)


def test_the_sign_of_a_back_fed_rail_is_not_dropped(tree: Tree) -> None:
    assert readings(opened(tree(INA | {"hwmon0/power1_input": -500_000})))["ina226.power1"].value == -0.5


def test_a_zero_is_not_dropped(tree: Tree) -> None:
    seen = readings(opened(tree(INA | {"hwmon0/power1_input": 0})))["ina226.power1"]
    assert seen.value == 0.0 and seen.good


def test_an_average_is_a_window_of_the_chips_own_length(tree: Tree) -> None:
    files = INA | {"hwmon0/power1_average": 17_000_000, "hwmon0/power1_average_interval": 1500}
    driver = opened(tree(files), interval="500ms")
    seen = readings(driver)["ina226.power1"]
    assert seen.value == pytest.approx(17.0) and seen.end_ns - seen.start_ns == 1_500_000_000
    assert channels(driver)["ina226.power1"].kind == "window_mean"
    assert driver.poll_s == 1.5  # faster, windows would overlap and their energy count twice


def test_energy_and_power_of_one_rail_are_not_counted_twice(tree: Tree) -> None:
    found = channels(opened(tree(INA | {"hwmon0/energy1_input": 5})))
    assert found["ina226.energy1"].contains == ("ina226.power1",)


def test_first_counter_reading_is_no_consumption(tree: Tree) -> None:
    driver = opened(tree({"hwmon0/name": "ltc2947", "hwmon0/energy1_input": 9_000_000}))
    tree({"hwmon0/energy1_input": 9_250_000})
    assert readings(driver)["ltc2947.energy1"].value == pytest.approx(0.25)


def test_rails_are_multiplied_one_by_one(tree: Tree) -> None:
    """Σ V·I is 12 W here; ΣV·ΣI would be 17 W."""
    rails: dict[str, object] = {
        "hwmon0/in1_input": 12_000,
        "hwmon0/curr1_input": 1000,
        "hwmon0/in2_input": 5000,
        "hwmon0/curr2_input": 0,
    }
    pairs = {"12v": ["ina3221.in1", "ina3221.curr1"], "5v": ["ina3221.in2", "ina3221.curr2"]}
    seen = readings(opened(tree({"hwmon0/name": "ina3221"} | rails), pairs=pairs))
    assert sum(reading.value for reading in seen.values()) == pytest.approx(12.0)


def test_two_chips_of_one_kind_are_told_apart(tree: Tree) -> None:
    root = tree(INA | {"hwmon1/name": "ina226", "hwmon1/power1_input": 5_000_000})
    assert set(readings(opened(root))) == {"ina226@hwmon0.power1", "ina226@hwmon1.power1"}


def test_a_note_says_what_a_sensor_feeds(tree: Tree) -> None:
    note = {"drive": "sda", "boundary": "device", "u_rel": 0.002, "u_abs": 0.01}
    driver = opened(tree(INA), channels={"ina226.power1": note})
    found = channels(driver)["ina226.power1"]
    assert (found.role, found.drive, found.boundary) == ("drive", "sda", "device")
    assert readings(driver)["ina226.power1"].u_value == pytest.approx(0.002 * 18.03 + 0.01)


def test_a_sensor_without_a_note_has_an_unknown_uncertainty(tree: Tree) -> None:
    assert math.isnan(readings(opened(tree(INA)))["ina226.power1"].u_value)


def test_a_missing_sensor_is_named_with_those_there_are(tree: Tree) -> None:
    with pytest.raises(Fatal, match=r"no sensor ina226\.power9 .*there are: ina226\.power1"):
        opened(tree(INA), channels={"ina226.power9": {}})


def test_one_broken_sensor_does_not_take_the_others_with_it(tree: Tree) -> None:
    driver = opened(tree(INA | {"hwmon1/name": "broken", "hwmon1/power1_input": "garbage"}))
    seen = readings(driver)
    assert seen["ina226.power1"].good and seen["broken.power1"].flags == "invalid"


def test_when_no_sensor_answers_the_meter_is_lost(tree: Tree) -> None:
    with pytest.raises(Retry, match="garbage"):
        opened(tree(INA | {"hwmon0/power1_input": "garbage"})).next(0)


def test_a_machine_without_power_sensors_says_so(tree: Tree) -> None:
    with pytest.raises(Fatal, match=r"no power or energy sensor .*coretemp"):
        opened(tree({"hwmon0/name": "coretemp", "hwmon0/temp1_input": 40_000}))


def test_a_chip_that_was_there_is_waited_for(tree: Tree) -> None:
    root = tree(INA)
    driver = opened(root)
    driver.close()
    root.rename(root.with_name("gone"))
    with pytest.raises(Reconnect, match="no power or energy sensor"):
        driver.configure()
