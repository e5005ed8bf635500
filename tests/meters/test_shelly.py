"""Shelly: the dialogue, minutes by the plug's clock, and what a plug says that is no measurement."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pytest

from iojoule.meters import clock
from iojoule.meters.base import Fatal, Reading, Retry
from iojoule.meters.http_link import Reply
from iojoule.meters.lab.load import Load, State
from iojoule.meters.lab.shelly import ShellyFront
from iojoule.meters.shelly import Shelly, ShellyConfig

S = 10**9
SECTION = {"kind": "shelly", "url": "http://192.0.2.30", "accuracy_pct": 2, "latency": "0s"}
ABOUT = {"id": "shellyplugs-1", "model": "SNPL-00112EU", "gen": 2, "ver": "1.4.4", "app": "PlugS"}
STATUS = "/rpc/Switch.GetStatus?id=0"


def status(watts: Any, wh: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"id": 0, "apower": watts, "voltage": 230.1, "aenergy": {"total": wh}, **more}


class Script:
    """Rows of (path, document or reply); what is left over, or asked out of turn, fails the test."""

    def __init__(self, *rows: tuple[str, Any]) -> None:
        self.rows = list(rows)

    def get(self, path: str) -> Reply:
        asked, answer = self.rows.pop(0)
        assert asked == path
        return answer if isinstance(answer, Reply) else Reply(200, json.dumps(answer).encode())

    def close(self) -> None:
        pass


def configured(*rows: tuple[str, Any], **keys: Any) -> Shelly:
    link: Any = Script(("/shelly", ABOUT), (STATUS, status(18.0)), *rows)
    driver = Shelly(ShellyConfig.model_validate({**SECTION, **keys}), link=link)
    driver.configure()
    return driver


def looked(driver: Shelly, *at_ms: int) -> list[Reading]:
    sim = clock.SimClock()
    with clock.use(sim):
        driver.start()
        found = []
        for at in at_ms:
            sim.sleep_until(10**12 + at * 10**6)
            found += driver.next(sim.now_ns())
    return found


def test_a_dialogue_with_a_plug() -> None:
    rows = [(STATUS, status(watts)) for watts in (18.0, 18.5, 18.5, 0.0, -0.1)]
    driver = configured(*rows)
    assert [one.id for one in driver.describe().channels] == ["power", "voltage", "energy"]
    assert driver.describe().identity["model"] == "SNPL-00112EU"
    power, _, energy = driver.describe().channels
    assert power.u_rel == pytest.approx(0.02 / math.sqrt(3)) and power.u_digit == pytest.approx(0.1 / math.sqrt(12))
    assert power.contains == ("energy",) and energy.u_abs == pytest.approx(3.6 / math.sqrt(12))
    found = looked(driver, 0, 500, 1000, 1500, 2500)
    watts = [(one.value, one.flags) for one in found if one.channel == "power"]
    assert watts == [(18.5, ""), (18.5, "stale"), (0.0, "under_range"), (-0.1, "under_range")]


def test_a_counter_that_moves_once_a_minute_counts_each_joule_once() -> None:
    """The windows reach from one step of the counter to the next, however often it was looked at."""
    total = [1.0] * 10 + [1.3] * 60 + [1.7] * 60 + [2.0] * 10
    driver = configured(*((STATUS, status(18.0, wh)) for wh in total))
    found = [one for one in looked(driver, *range(0, 140_000, 1000)) if one.channel == "energy"]
    assert [one.value for one in found] == pytest.approx([0.4 * 3600, 0.3 * 3600])
    assert [round(one.end_ns / 1e9 - 1000) for one in found] == [70, 130]
    assert all(a.end_ns == b.start_ns for a, b in pairwise(found))
    assert all(one.u_time_ns < 0.4 * S for one in found)


def test_a_counter_that_was_set_back_is_no_consumption() -> None:
    driver = configured(*((STATUS, status(18.0, wh)) for wh in (5.0, 5.1, 0.0)))
    found = [one for one in looked(driver, 0, 60_000, 120_000) if one.channel == "energy"]
    assert [one.flags for one in found] == ["invalid wrap_uncertain wrapped"]


@pytest.mark.parametrize("error", ["overpower", "overvoltage", "overcurrent"])
def test_too_much_is_no_measurement(error: str) -> None:
    driver = configured((STATUS, status(18.0)), (STATUS, status(3600.0, errors=["overtemp", error])))
    (power, volts) = looked(driver, 0, 1000)
    assert power.flags == "invalid overload" and volts.flags == ""


def test_null_is_a_sentinel() -> None:
    driver = configured((STATUS, status(18.0)), (STATUS, status(None)))
    found = [one for one in looked(driver, 0, 1000) if one.channel == "power"]
    assert [one.flags for one in found] == ["invalid sentinel"] and math.isnan(found[0].value)


@pytest.mark.parametrize(
    ("reply", "error", "why"),
    [
        (Reply(401, b""), Fatal, "wants a password"),
        (Reply(302, b"", {"location": "http://elsewhere/"}), Fatal, "sends to http://elsewhere/"),
        (Reply(404, b"Not Found"), Fatal, "no such path"),
        (Reply(500, b'{"code":-105,"message":"Argument id not found!"}'), Fatal, "Argument id not found"),
        (Reply(500, b"oops"), Retry, "500"),
        (Reply(503, b'{"code":-109}'), Retry, "503"),
        (Reply(200, b'{"id":0,"apower":1'), Retry, "no JSON"),
        (Reply(200, b"\xff\x00?;"), Retry, "no JSON"),
        (Reply(200, b"[1]"), Retry, "no object"),
        (Reply(200, b""), Retry, "no JSON"),
    ],
)
def test_what_is_not_a_status_is_never_a_reading(reply: Reply, error: type[Exception], why: str) -> None:
    driver = configured((STATUS, reply))
    with pytest.raises(error, match=why):
        driver.next(0)


def test_a_relay_that_does_not_measure_is_said_so() -> None:
    link: Any = Script(("/shelly", ABOUT), (STATUS, {"id": 0, "output": True}))
    with pytest.raises(Fatal, match=r"Switch 0 of http://192\.0\.2\.30 tells no power"):
        Shelly(ShellyConfig.model_validate(SECTION), link=link).configure()


def test_the_first_generation() -> None:
    shown = {"unixtime": 1, "meters": [{"power": 12.34, "is_valid": True, "total": 100}]}
    spoilt = {**shown, "meters": [{"power": 0, "is_valid": False, "total": 100}]}
    link: Any = Script(("/shelly", {"type": "SHPLG-S", "fw": "v1.14"}), *(("/status", one) for one in (shown, spoilt)))
    driver = Shelly(ShellyConfig.model_validate(SECTION), link=link)
    driver.configure()
    _, energy = driver.describe().channels
    assert energy.u_abs == pytest.approx(60 / math.sqrt(12)) and driver.describe().identity["type"] == "SHPLG-S"
    (reading,) = driver.next(0)
    assert reading.flags == "invalid sentinel"


def minutes_of(front: ShellyFront, seconds: int) -> list[Reading]:
    driver = Shelly(ShellyConfig.model_validate({**front.section(), "minutes": True}), link=front.link())
    driver.configure()
    driver.start()
    began_ns, found = clock.now_ns(), list[Reading]()
    for at_s in range(1, seconds):
        clock.sleep_until(began_ns + at_s * S)
        if at_s % 10 == 0:
            driver.sync()
        found += [one for one in driver.next(clock.now_ns()) if one.channel == "minutes"]
    assert "minutes" in driver.describe().channels[0].contains
    return found


@pytest.mark.parametrize("seed", range(4))
def test_minutes_are_where_the_plug_s_clock_had_them(seed: int) -> None:
    """A load that ramps: what was drawn in each window is what the plug says, within the edges and its accuracy."""
    with clock.use(clock.SimClock()):
        truth = Load([State(20.0 + 10 * step, 7.0) for step in range(60)], clock.now_ns())
        front = ShellyFront(truth, seed)
        found = minutes_of(front, 400)
    assert len(found) >= 5 and all(one.quality == frozenset() for one in found)
    assert all(a.end_ns == b.start_ns for a, b in pairwise(found))
    for one in found:
        assert 59.5 * S < one.end_ns - one.start_ns < 60.5 * S and 0.2 * S < one.u_time_ns < 0.4 * S
        true_w = truth.mean_w(one.start_ns, one.end_ns)
        slope_w_per_s = 10 / 7
        assert abs(one.value - true_w) <= 2 * slope_w_per_s * one.u_time_ns / S + 0.01 * true_w


def test_minutes_that_nobody_looked_at_come_later_and_once() -> None:
    def of(stamp: int, *mwh: float) -> tuple[str, Any]:
        return STATUS, status(18.0) | {"aenergy": {"total": 1.0, "by_minute": list(mwh), "minute_ts": stamp}}

    told = ("/rpc/Sys.GetStatus", {"unixtime": 1_790_000_010})
    driver = configured(
        told, of(1_789_999_980, 1, 2, 3), of(1_790_000_160, 30, 20, 10), of(1_790_000_160, 30, 20, 10),
        of(1_790_000_233, 7, 7, 7), minutes=True,
    )  # fmt: skip
    found = [one for one in looked(driver, 0, 1, 2, 3) if one.channel == "minutes"]
    assert [one.value for one in found] == pytest.approx([0.6, 1.2, 1.8]), "10, 20 and 30 mWh in a minute each"
    assert [round((one.end_ns - one.start_ns) / S) for one in found] == [60, 60, 60]


def test_a_clock_nobody_has_set_has_no_minutes() -> None:
    with pytest.raises(Fatal, match="is not set"):
        configured(("/rpc/Sys.GetStatus", {"unixtime": None}), minutes=True)


def test_a_plug_whose_clock_is_set_goes_on_with_the_next_whole_minute() -> None:
    def of(stamp: int, *mwh: float) -> tuple[str, Any]:
        return STATUS, status(18.0) | {"aenergy": {"total": 1.0, "by_minute": list(mwh), "minute_ts": stamp}}

    def at(unix_s: int) -> tuple[str, Any]:
        return "/rpc/Sys.GetStatus", {"unixtime": unix_s}

    driver = configured(
        at(1_000_000_010), at(1_000_000_011), of(999_999_960, 1), of(1_000_000_020, 10), at(1_790_000_100),
        of(1_790_000_100, 99), of(1_790_000_160, 20), minutes=True,
    )  # fmt: skip
    sim = clock.SimClock()
    with clock.use(sim):
        driver.sync()
        found = driver.next(0) + driver.next(0)
        driver.sync()
        found += driver.next(0)
        sim.sleep_until(sim.now_ns() + 60 * S)
        found += driver.next(0)
    minutes = [one for one in found if one.channel == "minutes"]
    assert [one.value for one in minutes] == pytest.approx([0.6, 1.2])
    assert abs(minutes[1].end_ns - sim.now_ns()) < 2 * S
