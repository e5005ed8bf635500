"""The made PDUs behind net-snmp: snmpget agrees with the truth, our driver with snmpget, faults invent nothing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from looked_at import KEYS, UPDATE_S, bear, kinds
from plugged import Held, Watched, plugged_in, watched

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal
from iojoule.meters.lab.bmc import USER
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.snmp_pdu import (
    AUTH_KEY,
    COMMUNITY,
    PRIV_KEY,
    ApcFront,
    EatonFront,
    PduFront,
    RaritanFront,
)
from iojoule.meters.snmp_link import Credentials, PysnmpLink
from iojoule.meters.snmp_pdu import SnmpPdu

pytestmark = pytest.mark.e2e
Require = Callable[[str, str], str]


class Exact(RaritanFront):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE: ClassVar[Make] = Make(update_s=UPDATE_S, resolution=1.0)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.0


@pytest.fixture(autouse=True)
def agent(require: Require) -> str:
    return require("snmpd", "snmpd")


@pytest.mark.parametrize("made", [ApcFront, EatonFront, RaritanFront])
def test_snmpget_reads_the_truth_and_our_driver_what_snmpget_reads(
    made: type[PduFront], require: Require, tmp_path: Path
) -> None:
    tool = require("snmpget", "snmp")
    truth = 3120.0 if made is ApcFront else 312.0
    front = made(Held(truth))
    front.instrument.gain = 1.0
    v3 = ["-v3", "-l", "authPriv", "-u", USER, "-a", "SHA", "-A", AUTH_KEY, "-x", "AES", "-X", PRIV_KEY]
    own = os.environ | {"MIBS": "", "SNMPCONFPATH": str(tmp_path), "SNMP_PERSISTENT_DIR": str(tmp_path)}
    with plugged_in(front):
        port = front.section()["port"]

        def says(*who: str) -> list[int]:
            command = [tool, "-Oqv", *who, f"127.0.0.1:{port}", front.oid("power")]
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=own, timeout=60)
            return [int(line) for line in done.stdout.split()]

        shown = [says("-v2c", "-c", COMMUNITY), says(*v3)]
        for who in (Credentials(COMMUNITY), Credentials(username=USER, auth_key=AUTH_KEY, priv_key=PRIV_KEY)):
            link = PysnmpLink("127.0.0.1", port, who, 2.0, 1)
            shown.append([int(value) for value in link.get([front.oid("power")])])
            link.close()
    assert shown == [[312]] * 4  # an APC counts tens of watts


def test_faults_of_a_line_are_never_a_reading_and_a_plug_pulled_leaves_a_gap(tmp_path: Path) -> None:
    truth = Held(212.0)
    front = Exact(truth)
    front.faults.only = "get ." + front.oid("power")
    front.faults.late_s = 1.6
    keys: dict[str, Any] = KEYS | {"timeout": "500ms", "retries": 0}
    with plugged_in(front) as line, watched(front, tmp_path, **keys) as seen:
        # Late; no such instance; garbage in place of a value; gone in the middle.
        bear(seen, truth, line, front.faults, ["late", b"NONE\n", b"\xff\x00 ;\n", "hang_up"])
    assert COMMUNITY.encode() not in (tmp_path / "wall.log").read_bytes()


def test_a_wrong_key_ends_the_meter_and_no_key_is_in_the_log(tmp_path: Path) -> None:
    files = {}
    for name, key in (("auth", AUTH_KEY), ("priv", PRIV_KEY), ("wrong", "another-auth-key")):
        (tmp_path / name).write_text(key + "\n")
        files[name] = str(tmp_path / name)
    front = Exact(Held(212.0))
    with plugged_in(front):
        user: dict[str, Any] = {"username": USER, "priv_file": files["priv"]}
        seen = Watched(front, None, **user, auth_file=files["wrong"])
        with seen.meters:
            missing = seen.meters.wait_first_good(60)
        assert "look at user, keys" in missing["wall"] and kinds(seen) == ["fatal"]
        with watched(front, tmp_path / "raw", **user, auth_file=files["auth"], **KEYS) as good:
            assert {reading.value for reading in good.more(4)} == {212.0}
    raw = (tmp_path / "raw" / "wall.log").read_bytes()
    assert AUTH_KEY.encode() not in raw and PRIV_KEY.encode() not in raw


def test_an_outlet_that_is_not_there_is_named() -> None:
    front = EatonFront(Held(212.0))
    with plugged_in(front):
        driver = SnmpPdu(parse_meter(front.section() | {"outlet": 9}))  # type: ignore[arg-type]
        with pytest.raises(Fatal, match=r"534\.6\.6\.7\.6\.5\.1\.3\.0\.9: the PDU answers noSuchInstance"):
            driver.configure()
        driver.close()
