"""Tasmota: both dialogues, what is told late, twice or kept by the broker, and what a plug refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from iojoule.meters import clock
from iojoule.meters.base import Fatal, Reading, Reconnect, Retry
from iojoule.meters.http_link import Reply
from iojoule.meters.mqtt_link import Message
from iojoule.meters.tasmota import Tasmota, TasmotaConfig

S = 10**9
START_NS = 10**12
VERSION = {"StatusFWR": {"Version": "14.2.0(release-tasmota)"}}
OVER_HTTP = {"kind": "tasmota", "url": "http://192.0.2.31", "accuracy_pct": 2, "latency": "0s", "u_latency": "0s"}
OVER_MQTT = {**OVER_HTTP, "broker": "broker.example", "topic": "plug_7", "energy_resolution": 36}
del OVER_MQTT["url"]


def sensors(watts: Any, kwh: Any = 1.0, time: str = "2026-11-21T17:00:00") -> dict[str, Any]:
    return {"Time": time, "ENERGY": {"Total": kwh, "Power": watts, "Voltage": 231, "Factor": 0.55, "Current": 0.08}}


# ---------------------------------------------------------------------- HTTP


class Pages:
    """Rows of (command, document or reply); what is left over, or asked out of turn, fails the test."""

    def __init__(self, *rows: tuple[int, Any]) -> None:
        self.rows = list(rows)

    def get(self, path: str) -> Reply:
        asked, answer = self.rows.pop(0)
        assert path == f"/cm?cmnd=Status%20{asked}"
        return answer if isinstance(answer, Reply) else Reply(200, json.dumps(answer).encode())

    def close(self) -> None:
        pass


def asked(*rows: Any) -> Tasmota:
    first = ((2, VERSION), (8, {"StatusSNS": sensors(18)}))
    driver = Tasmota(TasmotaConfig.model_validate(OVER_HTTP), link=Pages(*first, *((8, row) for row in rows)))
    driver.configure()
    driver.start()
    return driver


def test_a_dialogue_over_http() -> None:
    sim = clock.SimClock(START_NS)
    with clock.use(sim):
        driver = asked(*({"StatusSNS": sensors(watts)} for watts in (18, 19, 19, 0)))
        found: list[Reading] = []
        for at_ms in (0, 500, 1000, 1500):
            sim.sleep_until(START_NS + at_ms * 10**6)
            found += driver.next(sim.now_ns())
    described = driver.describe()
    assert described.identity == {"url": "http://192.0.2.31", "version": "14.2.0(release-tasmota)"}
    assert [one.id for one in described.channels] == ["power", "voltage", "current", "power_factor", "energy"]
    power, energy = described.channels[0], described.channels[-1]
    assert power.contains == ("energy",) and power.u_digit == pytest.approx(1 / math.sqrt(12))
    assert energy.contains == () and energy.u_abs == pytest.approx(3600 / math.sqrt(12))
    watts = [(one.value, one.flags) for one in found if one.channel == "power"]
    assert watts == [(19, ""), (19, "stale"), (0, "under_range")]


@pytest.mark.parametrize(
    ("answer", "error", "why"),
    [
        ({"WARNING": "Need user=<username>&password=<password>"}, Fatal, "Need user="),
        ({"Command": "Unknown"}, Retry, "without StatusSNS"),
        (Reply(200, b'{"StatusSNS":{"Ti'), Retry, "no JSON"),
        (Reply(500, b""), Retry, "500"),
        (Reply(401, b""), Fatal, "password_file"),
    ],
)
def test_what_is_not_a_status_is_never_a_reading(answer: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        asked(answer).next(0)


def test_a_plug_that_does_not_measure_is_said_so() -> None:
    link = Pages((2, VERSION), (8, {"StatusSNS": {"Time": "2026-11-21T17:00:00"}}))
    with pytest.raises(Fatal, match="tells no ENERGY Power"):
        Tasmota(TasmotaConfig.model_validate(OVER_HTTP), link=link).configure()


# ---------------------------------------------------------------------- MQTT

Tele = tuple[float, str, Any]  # seconds since the start, name, document or payload


def tele(at_s: float, name: str, said: Any, retained: bool = False, prefix: str = "tele") -> Message:
    payload = said if isinstance(said, bytes) else json.dumps(said).encode()
    return Message(f"{prefix}/plug_7/{name}", payload, START_NS + int(at_s * S), retained)


class Broker:
    """Rows of (command, what it is answered), then messages as they come."""

    def __init__(self, commands: Sequence[tuple[str, str, Message | None]], *coming: Message) -> None:
        self.commands, self.coming, self.heard = list(commands), list(coming), list[Message]()
        self.topics: Sequence[str] = ()

    def subscribe(self, topics: Sequence[str]) -> None:
        self.topics = topics

    def publish(self, topic: str, payload: str) -> None:
        name, value, answer = self.commands.pop(0)
        assert (topic, payload) == (f"cmnd/plug_7/{name}", value)
        self.heard += [answer] if answer else []

    def take(self, deadline_ns: int) -> Message | None:
        if self.heard:
            return self.heard.pop(0)
        if self.coming and not self.commands and self.coming[0].at_ns <= deadline_ns:
            clock.sleep_until(self.coming[0].at_ns)
            return self.coming.pop(0)
        clock.sleep_until(deadline_ns)
        return None

    def close(self) -> None:
        pass


def answered(took: int = 10) -> list[tuple[str, str, Message | None]]:
    return [
        ("Status", "2", tele(0, "STATUS2", VERSION, prefix="stat")),
        ("TelePeriod", "10", tele(0, "RESULT", {"TelePeriod": took}, prefix="stat")),
        ("Status", "8", tele(0, "STATUS8", {"StatusSNS": sensors(18)}, prefix="stat")),
    ]


def told(*coming: Message, until_s: float = 0.0) -> tuple[Tasmota, list[Reading]]:
    sim = clock.SimClock(START_NS)
    with clock.use(sim):
        driver = Tasmota(TasmotaConfig.model_validate(OVER_MQTT), link=Broker(answered(), *coming))
        driver.configure()
        driver.start()
        found: list[Reading] = []
        while sim.now_ns() < START_NS + until_s * S:
            found += driver.next(START_NS + int(until_s * S))
    return driver, found


def test_a_dialogue_over_mqtt() -> None:
    driver, found = told(
        tele(10, "SENSOR", sensors(18, 1.00000, "2026-11-21T17:00:10")),
        tele(20, "SENSOR", sensors(50, 1.00010, "2026-11-21T17:00:20")),
        until_s=25,
    )
    power, *_, energy = driver.describe().channels
    assert (power.kind, power.contains, power.min_interval_s) == ("window_mean", (), 10)
    assert (energy.kind, energy.contains) == ("counter", ("power",)), "energy counts in a total"
    watts = [one for one in found if one.channel == "power"]
    assert [one.value for one in watts] == [18, 50]
    # An update of 1 s, shown for up to 1 s: it ended 0.5 s before the message, give or take 0.29.
    assert (watts[0].start_ns, watts[0].end_ns) == (START_NS + 8.5 * S, START_NS + 9.5 * S)
    assert watts[0].u_time_ns == pytest.approx(S / math.sqrt(12), abs=1)
    (counted,) = (one for one in found if one.channel == "energy")
    assert counted.value == pytest.approx(360.0)
    assert (counted.start_ns, counted.end_ns) == (START_NS + 9.5 * S, START_NS + 19.5 * S)


def test_another_period_than_was_asked_for_ends_the_meter() -> None:
    with clock.use(clock.SimClock(START_NS)):
        driver = Tasmota(TasmotaConfig.model_validate(OVER_MQTT), link=Broker(answered(300)[:2]))
        with pytest.raises(Fatal, match="TelePeriod 10 was not taken: the plug says 300"):
            driver.configure()


def test_a_command_that_is_not_answered_is_a_loss() -> None:
    with clock.use(clock.SimClock(START_NS)):
        driver = Tasmota(TasmotaConfig.model_validate(OVER_MQTT), link=Broker([("Status", "2", None)]))
        with pytest.raises(Reconnect, match="Status 2 was not answered by plug_7"):
            driver.configure()


def test_a_retained_message_is_no_reading() -> None:
    _, found = told(tele(1, "SENSOR", sensors(99), retained=True), tele(10, "SENSOR", sensors(18)), until_s=12)
    assert [one.value for one in found if one.channel == "power"] == [18]


def test_a_message_heard_twice_is_stale() -> None:
    one = sensors(18, 1.0)
    _, found = told(tele(10, "SENSOR", one), tele(10.1, "SENSOR", one), until_s=12)
    power = [reading for reading in found if reading.channel == "power"]
    assert [reading.flags for reading in power] == ["", "stale"] and power[0].end_ns == power[1].end_ns
    assert [reading for reading in found if reading.channel == "energy"] == []


def test_a_message_held_up_on_its_way_is_of_an_instant_not_well_known() -> None:
    _, found = told(
        tele(10, "SENSOR", sensors(18, 1.0, "2026-11-21T17:00:10")),
        tele(26, "SENSOR", sensors(18, 1.0, "2026-11-21T17:00:20")),
        until_s=27,
    )
    late = [one for one in found if one.channel == "power"][1]
    assert abs(START_NS + 19.5 * S - late.end_ns) <= 2 * late.u_time_ns and late.u_time_ns > S


@pytest.mark.parametrize("said", [b'{"Time":"2026-11-21T17:', b"\xff\x00?;", b"", b"[]"])
def test_half_a_message_is_none(said: bytes) -> None:
    with pytest.raises(Retry, match=r"no JSON|no object"):
        told(tele(10, "SENSOR", said), until_s=12)


def test_a_message_of_another_sensor_is_passed_over() -> None:
    _, found = told(tele(10, "SENSOR", {"Time": "2026-11-21T17:00:10", "DS18B20": {"Temperature": 20.1}}), until_s=12)
    assert found == []


def test_null_is_a_sentinel_and_no_count() -> None:
    _, found = told(tele(10, "SENSOR", sensors(None, None)), until_s=12)
    assert found[0].flags == "invalid sentinel" and math.isnan(found[0].value)
    assert all(one.channel != "energy" for one in found)


def test_offline_is_a_loss_and_so_is_silence() -> None:
    with pytest.raises(Reconnect, match="plug_7 is offline"):
        told(tele(3, "LWT", b"Offline"), until_s=12)
    told(tele(3, "LWT", b"Online"), until_s=24)
    with pytest.raises(Reconnect, match=r"no message of plug_7 for 2\.5 TelePeriods"):
        told(tele(3, "LWT", b"Online"), until_s=26)


def test_the_plug_s_full_topic_is_kept() -> None:
    config = TasmotaConfig.model_validate({**OVER_MQTT, "full_topic": "lab/%topic%/%prefix%/"})
    assert config.to("cmnd", "TelePeriod") == "lab/plug_7/cmnd/TelePeriod"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"url": "http://192.0.2.31"}, "either url"),
        ({"broker": None}, "either url"),
        ({"topic": None}, "needs the topic"),
        ({"interval": "10.5s"}, "whole seconds"),
        ({"username": "reader"}, "belong together"),
    ],
)
def test_sections_that_do_not_say_enough(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        TasmotaConfig.model_validate({**OVER_MQTT, **wrong})
