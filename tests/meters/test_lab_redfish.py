"""The made BMC over Redfish: curl agrees with the truth, our driver with curl, faults invent nothing."""

from __future__ import annotations

import json
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from looked_at import KEYS, UPDATE_S, bear, kinds
from plugged import Held, Watched, plugged_in, watched

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal
from iojoule.meters.http_link import HttpLink, Reply
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.redfish import CHASSIS, V1, RedfishFront
from iojoule.meters.redfish import Redfish

Require = Callable[[str, str], str]
METRICS = f"{CHASSIS}/EnvironmentMetrics"
LOGIN = ("reader", "made-password")


class Exact(RedfishFront):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE: ClassVar[Make] = Make(update_s=UPDATE_S, resolution=1.0)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.0


class Guarded(Exact):
    LOGIN = LOGIN


@pytest.mark.e2e
def test_curl_reads_the_truth_and_our_driver_what_curl_reads(require: Require) -> None:
    curl = require("curl", "curl")
    front = Guarded(Held(212.0))
    with plugged_in(front):
        url = front.section()["url"] + METRICS
        asked = [curl, "-s", "-w", "\n%{http_code}", "-u", ":".join(LOGIN), url]
        body, code = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.rsplit("\n", 1)
        said = json.loads(body)
        refused = subprocess.run([*asked[:4], url], capture_output=True, text=True, check=True).stdout
        link = HttpLink(front.section()["url"], 2.0, login=LOGIN)
        ours = json.loads(link.get(METRICS).body)
        link.close()
    assert code == "200" and refused.endswith("401")
    assert said["PowerWatts"]["Reading"] == ours["PowerWatts"]["Reading"] == 212


@pytest.mark.parametrize("login", ["basic", "session"])
def test_the_driver_reads_with_a_password_that_nobody_finds_later(
    login: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IOJOULE_TEST_PASSWORD", LOGIN[1])
    front = Guarded(Held(212.0))
    keys = KEYS | {"username": LOGIN[0], "password_env": "IOJOULE_TEST_PASSWORD", "login": login}
    with plugged_in(front), watched(front, tmp_path, **keys) as seen:
        assert {reading.value for reading in seen.more(6)} == {212.0}
        described = json.dumps(seen.meters.descriptions())
        seen.meters.close()
    raw = (tmp_path / "wall.log").read_bytes()
    assert b"PowerWatts" in raw and LOGIN[1].encode() not in raw and LOGIN[1] not in described


def test_a_wrong_password_ends_the_meter_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOJOULE_TEST_PASSWORD", "another")
    front = Guarded(Held(212.0))
    with plugged_in(front):
        seen = Watched(front, None, username="reader", password_env="IOJOULE_TEST_PASSWORD")
        with seen.meters:
            missing = seen.meters.wait_first_good(60)
    assert "does not let reader" in missing["wall"] and [kind for kind, _ in seen.events] == ["fatal"]


FAULTS: list[Any] = [
    "late", "half", "garbage", "silent", "hang_up", b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"Power": ',
]  # fmt: skip


def test_faults_of_a_line_are_never_a_reading_and_a_plug_pulled_leaves_a_gap() -> None:
    truth = Held(212.0)
    front = Exact(truth)
    front.faults.only = METRICS
    with plugged_in(front) as line, watched(front, None, **KEYS) as seen:
        front.faults.next += ["split", "double"]
        seen.more(12)
        assert not front.faults.next
        front.instead[METRICS] = Reply(500, b"{}")
        seen.until(lambda: "500" in str(seen.events))
        front.instead.clear()
        seen.until(lambda: "back" in kinds(seen))
        front.shows = [None]
        seen.until(lambda: seen.power[-1].flags.endswith("invalid sentinel"))
        front.shows = []
        seen.until(lambda: seen.power[-1].good)
        bear(seen, truth, line, front.faults, FAULTS)


def test_a_certificate_nobody_vouches_for_is_not_trusted(tmp_path: Path, require: Require) -> None:
    openssl = require("openssl", "openssl")
    key, crt = tmp_path / "key.pem", tmp_path / "crt.pem"
    made = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(crt)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    front = Exact(Held(212.0))
    with front.served(tls=context) as address:
        section = {"kind": "redfish", "url": f"https://{address}", "timeout": "5s"}
        with pytest.raises(Fatal, match="name its authority in ca_file"):
            Redfish(parse_meter(section)).configure()  # type: ignore[arg-type]
        for keys, said in (({"ca_file": str(crt)}, "verified"), ({"verify": False}, "not verified")):
            driver = Redfish(parse_meter(section | keys))  # type: ignore[arg-type]
            driver.configure()
            assert driver.identity["certificate"] == said
            driver.close()


def test_the_root_is_shown_to_everybody_and_nothing_else() -> None:
    front = Guarded(Held(212.0))
    with plugged_in(front):
        link = HttpLink(front.section()["url"], 2.0)
        assert (link.get(f"{V1}/").status, link.get(f"{V1}/Chassis").status) == (200, 401)
        link.close()
