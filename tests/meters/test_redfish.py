"""The resources a BMC is asked for, and what its answers become; a path that is not asked for fails the test."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from iojoule.meters import parse_meter
from iojoule.meters.base import Fatal, Reconnect, Retry
from iojoule.meters.http_link import Reply
from iojoule.meters.redfish import Redfish

V1 = "/redfish/v1/"
ROOT = (V1, {"RedfishVersion": "1.15.0", "Chassis": {"@odata.id": "/c"}})
ALL = ("/c", {"Members": [{"@odata.id": "/c/1"}]})
CHASSIS = ("/c/1", {"Model": "M", "EnvironmentMetrics": {"@odata.id": "/c/1/e"}, "Power": {"@odata.id": "/c/1/p"}})
OLD = ("/c/1", {"Model": "M", "Power": {"@odata.id": "/c/1/p"}})


def metrics(watts: Any, kwh: Any = None, **more: Any) -> tuple[str, dict[str, Any]]:
    energy = {} if kwh is None else {"EnergykWh": {"Reading": kwh}}
    return "/c/1/e", {"PowerWatts": {"Reading": watts, **more}, **energy}


class Said:
    """A ``Web`` that knows what is asked next; a reply is a document, or a ``Reply``."""

    def __init__(self, *lines: tuple[str, Any]) -> None:
        self.lines = list(lines)
        self.headers: dict[str, str] = {}

    def get(self, path: str) -> Reply:
        expected, answer = self.lines.pop(0)
        assert path == expected
        return answer if isinstance(answer, Reply) else Reply(200, json.dumps(answer).encode())

    def post(self, path: str, document: Mapping[str, Any]) -> Reply:
        return self.get(f"POST {path} {document['UserName']} {document['Password']}")

    def delete(self, path: str) -> Reply:
        return self.get(f"DELETE {path}")

    def authorize(self, headers: Mapping[str, str]) -> None:
        self.headers |= headers

    def close(self) -> None:
        pass


def meter(*lines: tuple[str, Any], **keys: Any) -> tuple[Redfish, Said]:
    link = Said(*lines)
    config = parse_meter({"kind": "redfish", "url": "https://192.0.2.9", **keys})
    return Redfish(config, link=link), link  # type: ignore[arg-type]


def test_power_and_energy_of_the_metrics_are_read_in_one_answer() -> None:
    first = metrics(212.0, 5.5)
    driver, link = meter(ROOT, ALL, CHASSIS, first, CHASSIS, first, metrics(250.5, 5.501), metrics(260.0, 5.502))
    driver.configure()
    assert driver.describe().identity["resource"] == "/c/1/e" and driver.describe().identity["Model"] == "M"
    readings = [one for _ in range(3) for one in driver.next(0)]
    assert [(r.channel, r.value) for r in readings] == [
        ("power", 250.5), ("power", 260.0), ("energy", pytest.approx(3600.0)),
    ]  # fmt: skip
    assert link.lines == []


def test_an_older_chassis_has_its_power_in_another_resource_and_the_interval_there_is_no_rate() -> None:
    power = {"PowerControl": [{"PowerConsumedWatts": 99, "PowerMetrics": {"IntervalInMin": 1}}]}
    driver, link = meter(ROOT, ALL, OLD, ("/c/1/p", power), OLD)
    driver.configure()
    assert [one.channel.id for one in driver.registers] == ["power"] and link.lines == []
    assert driver.identity["PowerMetrics"] == {"IntervalInMin": 1}
    assert driver.registers[0].channel.min_interval_s == 1.0


def test_a_sensor_that_stamps_its_readings_says_which_are_new() -> None:
    first = metrics(5, DataSourceUri="/s")
    stamps = [("/s", {"Reading": 70, "ReadingTime": f"2026-11-20T10:00:0{i}Z"}) for i in (1, 1, 2, 2)]
    driver, link = meter(ROOT, ALL, CHASSIS, first, stamps[0], CHASSIS, *stamps)
    driver.configure()
    flags = [[r.flags for r in driver.next(0)] for _ in stamps]
    # The same value with a new stamp is a new reading, with the old stamp it is none.
    assert flags == [[], [], [""], ["stale"]] and link.lines == []


@pytest.mark.parametrize("watts", [None, "n/a", True, math.inf], ids=str)
def test_a_value_that_is_no_number_is_no_measurement(watts: Any) -> None:
    first = metrics(5)
    driver, _ = meter(ROOT, ALL, CHASSIS, first, CHASSIS, metrics(watts))
    driver.configure()
    assert [r.flags for r in driver.next(0)] == ["invalid sentinel"]


def test_null_while_the_bmc_starts_is_waited_for() -> None:
    driver, _ = meter(ROOT, ALL, CHASSIS, metrics(None), CHASSIS, metrics(None))
    driver.configure()
    assert [r.flags for r in driver.next(0)] == ["invalid sentinel"]


@pytest.mark.parametrize(
    ("reply", "error", "says"),
    [
        (Reply(500, b"{}"), Retry, "500"),
        (Reply(503, b""), Retry, "503"),
        (Reply(200, b'{"PowerWatts": {"Rea'), Retry, "no JSON"),
        (Reply(200, b"<html>"), Retry, "no JSON"),
        (Reply(200, b"[]"), Retry, "no object"),
        (Reply(401, b"{}"), Fatal, "does not let a stranger"),
        (Reply(404, b"{}"), Reconnect, "no such resource"),
        (Reply(302, b"", {"location": "https://elsewhere/"}), Fatal, "sends to https://elsewhere/"),
    ],
)
def test_an_answer_that_is_no_reading_is_sorted_by_what_helps(reply: Reply, error: type[Exception], says: str) -> None:
    first = metrics(5)
    driver, _ = meter(ROOT, ALL, CHASSIS, first, CHASSIS, ("/c/1/e", reply))
    driver.configure()
    with pytest.raises(error, match=says):
        driver.next(0)


def test_two_chassis_with_a_power_must_be_told_apart() -> None:
    both = ("/c", {"Members": [{"@odata.id": "/c/1"}, {"@odata.id": "/c/2"}]})
    second = ("/c/2", {"EnvironmentMetrics": {"@odata.id": "/c/2/e"}})
    other = ("/c/2/e", metrics(6)[1])
    driver, _ = meter(ROOT, both, CHASSIS, metrics(5), second, other)
    with pytest.raises(Fatal, match=r"2 chassis tell a power: /c/1, /c/2; name one"):
        driver.configure()
    driver, link = meter(ROOT, both, second, other, second, chassis="2")
    driver.configure()
    assert link.lines == []
    driver, _ = meter(ROOT, both, chassis="3")
    with pytest.raises(Fatal, match="no chassis 3"):
        driver.configure()


def test_a_session_is_opened_once_and_closed_and_its_end_opens_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IOJOULE_TEST_PASSWORD", "pw")
    opened = Reply(201, b"{}", {"x-auth-token": "t1", "location": "/s/1"})
    post = f"POST {V1}SessionService/Sessions me pw"
    keys = {"username": "me", "password_env": "IOJOULE_TEST_PASSWORD", "login": "session"}
    first = metrics(5)
    lines = [ROOT, (post, opened), ALL, CHASSIS, first, CHASSIS, ("/c/1/e", Reply(401, b"")), ("DELETE /s/1", {})]
    driver, link = meter(*lines, **keys)
    driver.configure()
    assert link.headers == {"X-Auth-Token": "t1"}
    with pytest.raises(Reconnect, match="session has ended"):
        driver.next(0)
    driver.close()
    assert link.lines == []
    refused, _ = meter(ROOT, (post, Reply(401, b"{}")), **keys)
    with pytest.raises(Fatal, match="opened no session for me"):
        refused.configure()


def test_what_a_bmc_had_before_it_was_started_anew_is_waited_for() -> None:
    first = metrics(5)
    driver, _ = meter(ROOT, ALL, CHASSIS, first, CHASSIS, ROOT, ("/c", {"Members": []}))
    driver.configure()
    with pytest.raises(Reconnect, match="no chassis"):
        driver.configure()
    never, _ = meter(ROOT, ("/c", {"Members": []}))
    with pytest.raises(Fatal, match="no chassis"):
        never.configure()


@pytest.mark.parametrize("kind", ["redfish", "shelly", "tasmota"])
def test_a_password_in_an_address_is_refused_since_addresses_stand_in_the_manifest(kind: str) -> None:
    with pytest.raises(ValidationError, match="url"):
        parse_meter({"kind": kind, "url": "http://me:secret@192.0.2.9"})


def test_a_certificate_that_is_not_looked_at_is_recorded() -> None:
    for verify, said in ((True, "verified"), (False, "not verified")):
        driver, _ = meter(ROOT, ALL, CHASSIS, metrics(5), CHASSIS, verify=verify)
        driver.configure()
        assert driver.identity["certificate"] == said


def test_the_clock_of_the_bmc_comes_with_any_answer() -> None:
    dated = Reply(200, b"{}", {"date": "Fri, 20 Nov 2026 10:00:00 GMT"})
    driver, _ = meter(ROOT, ALL, CHASSIS, metrics(5), CHASSIS, (V1, dated), (V1, {}))
    driver.configure()
    probe = driver.sync()
    assert probe is not None and (probe.meter_ns, probe.resolution_ns) == (1_795_168_800 * 10**9, 10**9)
    assert driver.sync() is None


def test_a_password_belongs_to_a_name() -> None:
    with pytest.raises(ValueError, match="belong together"):
        parse_meter({"kind": "redfish", "url": "https://192.0.2.9", "username": "me"})
    with pytest.raises(ValueError, match="password"):
        parse_meter({"kind": "redfish", "url": "https://192.0.2.9", "username": "me", "password": "pw"})
