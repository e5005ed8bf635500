"""The made Tasmota plugs: curl and mosquitto_sub agree with the truth, our driver with them, faults invent nothing."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest
from looked_at import KEYS, LEAST_W, MOST_W, UPDATE_S, bear, kinds
from plugged import Held, Plugged, Watched, plugged_in, watched

from iojoule.experiment.coverage import cover
from iojoule.meters.http_link import Reply
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.tasmota import TOPIC, TasmotaFront, TasmotaHttpFront
from iojoule.meters.rawlog import records

Require = Callable[[str, str], str]
WATTS = 123.0
pytestmark = pytest.mark.e2e


class ExactHttp(TasmotaHttpFront):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE: ClassVar[Make] = Make(resolution=1.0, update_s=UPDATE_S)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.0

    def section(self) -> dict[str, Any]:
        return {**super().section(), "update": f"{UPDATE_S}s", "latency": "0s"}


class GuardedHttp(ExactHttp):
    LOGIN = ("admin", "made &password")


class Exact(TasmotaFront):
    """A plug that may be asked for a message every second."""

    MAKE = ExactHttp.MAKE
    LATENCY_HALF_WIDTH_S = 0.0
    LEAST_S: ClassVar[int] = 1

    def section(self) -> dict[str, Any]:
        return {**super().section(), "update": f"{UPDATE_S}s", "latency": "0s", "interval": 1}


class Guarded(Exact):
    LOGIN = ("reader", "made-password")


@pytest.fixture
def broker(require: Require) -> None:
    require("mosquitto", "mosquitto")


def curl(require: Require, line: Plugged, path: str) -> Any:
    command = [require("curl", "curl"), "-s", f"http://127.0.0.1:{line.port}{path}"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=60).stdout)


def subscribed(require: Require, line: Plugged, topic: str, count: int, *more: str) -> list[str]:
    """What a foreign client of the broker hears."""
    program = require("mosquitto_sub", "mosquitto-clients")
    command = [program, "-p", str(line.port), "-t", topic, "-C", str(count), "-W", "30", *more]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


# ---------------------------------------------------------------------- HTTP


def test_curl_reads_the_truth_and_our_driver_what_curl_reads(require: Require) -> None:
    front = ExactHttp(Held(WATTS), seed=3)
    with plugged_in(front) as line:
        theirs = curl(require, line, "/cm?cmnd=Status%208")["StatusSNS"]["ENERGY"]
        assert theirs["Power"] == WATTS and theirs["Voltage"] == 230
        assert "14.2.0" in curl(require, line, "/cm?cmnd=Status%202")["StatusFWR"]["Version"]
        with watched(front, **KEYS) as seen:
            assert {one.value for one in seen.more(5)} == {theirs["Power"]}


def test_a_password_in_the_address_is_not_in_the_raw_log(require: Require, tmp_path: Path) -> None:
    front = GuardedHttp(Held(WATTS))
    file = tmp_path / "password"
    file.write_text("made &password\n")
    with plugged_in(front) as line:
        assert "WARNING" in curl(require, line, "/cm?cmnd=Status%208")
        keys = {"username": "admin", "password_file": str(file), **KEYS}
        with watched(front, tmp_path / "raw", **keys) as seen:
            assert {one.value for one in seen.more(3)} == {WATTS}
        refused = Watched(front, None, **KEYS)  # type: ignore[arg-type]
        with refused.meters:
            assert "Need user=" in refused.meters.wait_first_good(60)["wall"]
    said = b"".join(data for _, _, data in records((tmp_path / "raw" / "wall.log").read_bytes()))
    assert b"StatusSNS" in said and b"password" not in said


def test_faults_over_http_invent_nothing() -> None:
    truth = Held(LEAST_W)
    front = ExactHttp(truth, seed=3)
    front.faults.late_s = 0.8
    with plugged_in(front) as line, watched(front, **{**KEYS, "timeout": "500ms"}) as seen:
        bear(seen, truth, line, front.faults, ["half"])


def test_a_server_error_passes() -> None:
    front = ExactHttp(Held(WATTS))
    with plugged_in(front), watched(front, **KEYS) as seen:
        front.instead = Reply(500, b"")
        seen.until(lambda: "lost" in kinds(seen))
        front.instead = None
        seen.until(lambda: "back" in kinds(seen))
        assert {one.value for one in seen.more(3)} == {WATTS}


# ---------------------------------------------------------------------- MQTT


def steady(seen: Watched) -> None:
    """Numbers without a hole, windows that do not pile up, values that were drawn."""
    assert [one.seq for one in seen.power] == list(range(len(seen.power)))
    fresh = [one for one in seen.power if "stale" not in one.quality]
    assert all(b.start_ns > a.start_ns + 5e8 for a, b in pairwise(fresh))
    assert {one.value for one in seen.power} <= {LEAST_W, MOST_W, WATTS}


def test_mosquitto_sub_reads_the_truth_and_our_driver_what_it_reads(require: Require, broker: None) -> None:
    front = Exact(Held(WATTS), seed=3)
    with plugged_in(front) as line, watched(front) as seen:
        assert subscribed(require, line, f"tele/{TOPIC}/LWT", 1) == ["Online"]
        theirs = [json.loads(one) for one in subscribed(require, line, "tele/+/SENSOR", 2)]
        assert [one["ENERGY"]["Power"] for one in theirs] == [WATTS, WATTS]
        assert {one.value for one in seen.more(2)} == {WATTS}
        described = seen.meters.descriptions()[0]
    assert front.tele_s == 1, "the plug was asked for the period, and took it"
    assert described["identity"]["topic"] == TOPIC and "14.2.0" in described["identity"]["version"]
    counted = [one for one in seen.all if one.channel == "energy"]
    for one in counted:
        true_j = WATTS * (one.end_ns - one.start_ns) * 1e-9
        assert one.value == pytest.approx(true_j, abs=2 * 36 + 3 * WATTS * one.u_time_ns * 1e-9)


def test_a_period_the_plug_does_not_take_ends_the_meter(broker: None) -> None:
    front = Exact(Held(WATTS))
    front.LEAST_S = 10  # type: ignore[misc]
    with plugged_in(front):
        seen = Watched(front)
        with seen.meters:
            assert "the plug says 300" in seen.meters.wait_first_good(60)["wall"]


def test_a_broker_with_a_password(require: Require, broker: None, tmp_path: Path) -> None:
    front = Guarded(Held(WATTS))
    file = tmp_path / "password"
    file.write_text("made-password\n")
    with plugged_in(front) as line:
        login = ("-u", "reader", "-P", "made-password")
        with watched(front, tmp_path / "raw", username="reader", password_file=str(file)) as seen:
            theirs = json.loads(subscribed(require, line, "tele/+/SENSOR", 1, *login)[0])
            assert {one.value for one in seen.more(2)} == {theirs["ENERGY"]["Power"]} == {WATTS}
        refused = Watched(front)
        with refused.meters:
            assert "Not authorized" in refused.meters.wait_first_good(60)["wall"]
    assert b"made-password" not in (tmp_path / "raw" / "wall.log").read_bytes()


def test_a_message_kept_by_the_broker_is_no_reading(require: Require, broker: None) -> None:
    front = Exact(Held(WATTS))
    old = json.dumps({"Time": "2020-01-01T00:00:00", "ENERGY": {"Power": 999, "Total": 0.0}})
    with plugged_in(front) as line:
        program = require("mosquitto_pub", "mosquitto-clients")
        topic = f"tele/{TOPIC}/SENSOR"
        subprocess.run([program, "-p", str(line.port), "-t", topic, "-r", "-m", old], check=True, timeout=60)
        with watched(front) as seen:
            assert {one.value for one in seen.more(2)} == {WATTS}


def back_again(seen: Watched, backs: int) -> None:
    seen.until(lambda: kinds(seen).count("back") > backs)


def test_a_broker_that_is_killed_and_restarted_leaves_a_gap(broker: None) -> None:
    truth = Held(LEAST_W)
    front = Exact(truth, seed=3)
    with plugged_in(front) as line, watched(front) as seen:
        line.unplug()
        seen.until(lambda: "lost" in kinds(seen))
        truth.now_w = MOST_W
        time.sleep(0.5)
        line.plug()
        back_again(seen, 0)
        assert {one.value for one in seen.more(2)} == {MOST_W}
        steady(seen)
        assert sum("gap_before" in one.quality for one in seen.power if one.end_ns > seen.power[0].end_ns) >= 1
    assert "hung up" in seen.events[0][1]


@pytest.mark.stress
def test_faults_over_mqtt_invent_nothing(broker: None) -> None:
    """Half a message, garbage, a plug that goes without a word (its will says so), silence, a message twice."""
    front = Exact(Held(WATTS), seed=3)
    with plugged_in(front), watched(front) as seen:
        for fault in ("half", "garbage", "hang_up"):
            backs = kinds(seen).count("back")
            front.faults.next.append(fault)  # type: ignore[arg-type]
            back_again(seen, backs)
        said = " ".join(text for _, text in seen.events)
        assert "is offline" in said and "is no JSON" in said, seen.events
        backs = kinds(seen).count("back")
        front.faults.next += ["silent", "silent", "silent"]
        seen.until(lambda: any("2.5 TelePeriods" in text for _, text in seen.events))
        back_again(seen, backs)
        front.faults.next.append("double")
        seen.until(lambda: "stale" in seen.power[-1].quality)
        steady(seen)


@pytest.mark.parametrize("front", ["tasmota", "tasmota_http"])
def test_what_is_quoted_holds_the_truth(front: str) -> None:
    found, trials = cover(front, range(10))
    assert found.quoted == 10, [one for one in trials if one.joules is None]
    assert found.used <= 1
