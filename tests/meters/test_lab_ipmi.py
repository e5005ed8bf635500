"""The made BMC over IPMI: ipmitool agrees with the truth, our driver with ipmitool, faults invent nothing."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from looked_at import KEYS, UPDATE_S, bear
from plugged import Held, Watched, plugged_in, watched

from iojoule.meters.ipmi import power
from iojoule.meters.ipmi_link import PyghmiLink
from iojoule.meters.lab.bmc import PASSWORD, USER
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.ipmi import PASSWORD_VARIABLE, IpmiFront

pytestmark = pytest.mark.e2e


class Exact(IpmiFront):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE: ClassVar[Make] = Make(update_s=UPDATE_S, resolution=1.0)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.0


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)


def test_ipmitool_reads_the_truth_and_our_driver_what_ipmitool_reads(require: Callable[[str, str], str]) -> None:
    tool = require("ipmitool", "ipmitool")
    front = Exact(Held(312.0))
    with plugged_in(front):
        port = front.section()["port"]
        command = [tool, "-I", "lanplus", "-H", "127.0.0.1", "-p", str(port), "-U", USER, "-P", PASSWORD, "-C", "3"]

        def says(*words: str) -> str:
            return subprocess.run([*command, *words], capture_output=True, text=True, check=True, timeout=60).stdout

        shown, raw = says("dcmi", "power", "reading"), says("raw", "0x2c", "0x02", "0xdc", "1", "0", "0")
        link = PyghmiLink("127.0.0.1", port, USER, PASSWORD, 2.0)
        ours = link.raw(0x2C, 0x02, bytes([0xDC, 1, 0, 0]))
        link.close()
    assert re.search(r"Instantaneous power reading:\s+312 Watts", shown) and "activated" in shown
    # The time stamp apart, which goes on.
    assert ours[1:10] + ours[14:] == bytes.fromhex(raw)[:9] + bytes.fromhex(raw)[13:]
    assert power(ours[1:]).watts == 312.0


def test_faults_of_a_line_are_never_a_reading_and_a_plug_pulled_leaves_a_gap(tmp_path: Path) -> None:
    truth = Held(212.0)
    front = Exact(truth)
    front.faults.only = "raw 2c"
    front.faults.late_s = 1.5
    with plugged_in(front) as line, watched(front, tmp_path, **KEYS) as seen:
        described = json.dumps(seen.meters.descriptions())
        # Busy; half a reading; a reading of another group; nothing; an answer after the time-out.
        bear(seen, truth, line, front.faults, [b"c0\n", b"00dcd400\n", b"00dd" + b"00" * 17 + b"\n", "late"])
    raw = (tmp_path / "wall.log").read_bytes()
    assert b"0x2c 0x02 0xdc" in raw and PASSWORD.encode() not in raw and PASSWORD not in described


def test_a_wrong_password_ends_the_meter_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD_VARIABLE, "another")
    front = Exact(Held(212.0))
    with plugged_in(front):
        seen = Watched(front, None)
        with seen.meters:
            missing = seen.meters.wait_first_good(60)
    assert "Incorrect password" in missing["wall"] and [kind for kind, _ in seen.events] == ["fatal"]
