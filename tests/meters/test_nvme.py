"""An NVMe drive's own word on its power, through nvme-cli: state asked for and seen, and its measurement if it has one.

The texts are nvme-cli's: get-feature and id-ctrl as version 2 prints them, the power measurement log as version 3 does.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal, Reconnect, Retry
from iojoule.meters.nvme import Nvme, NvmeCli

DEVICE = "/dev/nvme0"
VERSION = ("version", (0, "nvme version 2.3 (git 2.3)\nlibnvme version 1.3 (git 1.3)\n", ""))
#: Two power states as ``nvme id-ctrl -o json`` has them: hundredths of a watt, scale 2.
PSDS = [
    {"max_power": 2500, "max_power_scale": 0, "non-operational_state": 0, "entry_lat": 60000, "exit_lat": 60000,
     "idle_power": 506, "idle_scale": 2, "active_power": 2500, "active_power_work": 2, "active_scale": 2},
    {"max_power": 50, "max_power_scale": 1, "non-operational_state": 1, "entry_lat": 30000, "exit_lat": 30000,
     "idle_power": 0, "idle_scale": 0, "active_power": 0, "active_scale": 0},
]  # fmt: skip
CONTROLLER = {"mn": "SOLIDIGM SBFPF2BV153T  ", "sn": "PHAX0001 ", "fr": "ACV10200", "npss": 1, "psds": PSDS}
ID = ("id-ctrl /dev/nvme0 --output-format=json", (0, json.dumps(CONTROLLER), ""))
FEATURE = "get-feature /dev/nvme0 --feature-id=2"
NO_LOG = [
    ("log power-measurement /dev/nvme0", (1, "", "ERROR: Invalid sub-command 'log'\n")),
    ("power-measurement-log /dev/nvme0", (1, "", "ERROR: Invalid sub-command 'power-measurement-log'\n")),
]
LOG = """Power Measurement Log
Version                               : 0
Power Measurement Generation Number   : 1
Power Measurement Attributes          : {attributes}
Power Measurement Count               : 412
Average Interval Power                : {watts}
Maximum Interval Power                : 11.20W
Interval Power Percent Error          : 5
"""
Said = tuple[str, tuple[int, str, str]]


def state(value: str) -> Said:
    return FEATURE, (0, f"get-feature:0x02 (Power Management), Current value:{value}\n", "")


def log(watts: str = "8.7500W", attributes: str = "0x0001") -> Said:
    return "log power-measurement /dev/nvme0", (0, LOG.format(watts=watts, attributes=attributes), "")


class Transcript:
    """The program played back: what it is asked must be what stands here."""

    def __init__(self, *said: Said) -> None:
        self.said = list(said)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        asked, answer = self.said.pop(0)
        assert " ".join(arguments) == asked
        return answer


def opened(*said: Said, **keys: object) -> tuple[Nvme, Transcript]:
    tool = Transcript(VERSION, ID, *said)
    driver = Nvme(parse_meter({"kind": "nvme", "device": DEVICE, **keys}), link=tool)  # type: ignore[arg-type]
    driver.configure()
    driver.start()
    return driver, tool


def test_half_an_answer_is_asked_for_again() -> None:
    tool = Transcript(VERSION, (ID[0], (0, ID[1][1][:40], "")))
    driver = Nvme(parse_meter({"kind": "nvme", "device": DEVICE}), link=tool)  # type: ignore[arg-type]
    with pytest.raises(Retry, match="no JSON"):
        driver.configure()


def test_the_state_that_is_seen_is_kept_beside_the_one_that_was_asked_for() -> None:
    driver, tool = opened(*NO_LOG, state("00000002"), state("00000002"), state("0x00000000"), expected_state=2)
    assert [reading.value for _ in range(2) for reading in driver.next(0)] == [2.0, 0.0]
    assert driver.stop() == {"states_seen": {"0": 1, "2": 1}, "expected_state": 2, "as_expected": False}
    assert tool.said == []


def test_the_workload_hint_is_no_part_of_the_state() -> None:
    driver, _ = opened(*NO_LOG, state("00000000"), state("00000043"))
    assert driver.next(0)[0].value == 3.0


def test_power_states_are_in_watts_by_their_own_scale() -> None:
    driver, _ = opened(*NO_LOG, state("00000000"))
    first, second = driver.describe().identity["power_states"]
    assert (first["max_w"], first["idle_w"], first["active_w"]) == pytest.approx((25.0, 5.06, 25.0))
    assert first["operational"] and not second["operational"]
    assert second["max_w"] == pytest.approx(0.005) and second["idle_w"] is None
    assert first["entry_s"] == pytest.approx(0.06)


def test_a_drive_that_does_not_measure_itself_has_no_watts() -> None:
    driver, _ = opened(*NO_LOG, state("00000000"))
    assert [channel.unit for channel in driver.describe().channels] == ["1"]


def test_its_own_measurement_is_a_mean_since_its_begin_and_no_power_of_the_moment() -> None:
    driver, tool = opened(log(), log(), state("00000000"), state("00000000"), log("9.1250W"))
    channel = driver.describe().channels[1]
    assert (channel.quantity, channel.boundary) == ("average_power", "device")
    assert channel.u_rel == pytest.approx(0.05 / 3**0.5)
    assert driver.next(0)[1].value == 9.125
    assert tool.said == []


def test_power_the_drive_estimates_is_modelled() -> None:
    estimated = log(attributes="0x0005")
    driver, _ = opened(estimated, estimated, state("00000000"), state("00000000"), estimated)
    assert driver.describe().channels[1].boundary == "modelled"
    assert "modelled" in driver.next(0)[1].quality


@pytest.mark.parametrize("said", [log(watts="-"), log(attributes="0x0000")], ids=["not reported", "not enabled"])
def test_a_measurement_that_does_not_run_is_no_value(said: Said) -> None:
    driver, _ = opened(log(), log(), state("00000000"), state("00000000"), said)
    assert driver.next(0)[1].flags == "invalid sentinel"


def test_a_measurement_that_must_be_there_and_is_not_ends_it() -> None:
    with pytest.raises(Fatal, match="gives no power measurement: ERROR: Invalid sub-command"):
        opened(*NO_LOG, measured="yes")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("/dev/nvme0: No such file or directory", Reconnect),
        ("get-feature: Resource temporarily unavailable", Retry),
        ("/dev/nvme0: Permission denied", Fatal),
    ],
)
def test_what_nvme_cli_complains_of_is_sorted_by_what_helps(error: str, kind: type[Exception]) -> None:
    driver, _ = opened(*NO_LOG, state("00000000"), (FEATURE, (1, "", error)))
    with pytest.raises(kind):
        driver.next(0)


def test_an_answer_without_a_value_is_no_state() -> None:
    driver, _ = opened(*NO_LOG, state("00000000"), (FEATURE, (0, "get-feature:0x02 (Power", "")))
    with pytest.raises(Retry, match="holds no value"):
        driver.next(0)


def test_the_real_program_takes_every_option_that_is_sent(require: Callable[[str, str], str]) -> None:
    """Without a drive it complains of the drive, not of an option."""
    nvme = require("nvme", "nvme-cli")
    absent = "/dev/nvme4000"
    driver = Nvme(parse_meter({"kind": "nvme", "device": absent, "command": nvme}))  # type: ignore[arg-type]
    with pytest.raises(Reconnect, match="No such file"):
        driver.configure()
    with pytest.raises(Reconnect, match="No such file"):
        driver.observe()
    done = subprocess.run([nvme, "version"], capture_output=True, text=True, check=False)
    assert done.stdout.split()[:2] == ["nvme", "version"]


def test_a_program_that_is_not_installed_is_named() -> None:
    with pytest.raises(Fatal, match="apt-get install nvme-cli"):
        NvmeCli("nvme-that-is-not-there", 1.0).run("version")
