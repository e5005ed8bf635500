"""The made Shelly plugs: curl agrees with the truth, our driver with curl, faults invent nothing."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from looked_at import KEYS, LEAST_W, UPDATE_S, bear, kinds
from plugged import Held, Plugged, Watched, plugged_in, watched

from iojoule.experiment.coverage import cover
from iojoule.meters.http_link import Reply
from iojoule.meters.lab.bmc import EPOCH_S
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.shelly import ShellyFront, ShellyGen1Front
from iojoule.meters.rawlog import records

Require = Callable[[str, str], str]
WATTS = 123.4
STATUS = "/rpc/Switch.GetStatus"


class Exact(ShellyFront):
    """Without errors of its own, so that what arrives can be compared to the digit."""

    MAKE: ClassVar[Make] = Make(resolution=0.1, update_s=UPDATE_S)
    LATENCY_HALF_WIDTH_S: ClassVar[float] = 0.0

    def section(self) -> dict[str, Any]:
        return {**super().section(), "update": f"{UPDATE_S}s", "latency": "0s", "energy_update": f"{UPDATE_S}s"}


class Guarded(Exact):
    PASSWORD = "made-password"


class ExactGen1(ShellyGen1Front):
    MAKE = Exact.MAKE
    LATENCY_HALF_WIDTH_S = 0.0
    COUNT_J = 0.06

    def section(self) -> dict[str, Any]:
        return {**super().section(), "update": f"{UPDATE_S}s", "latency": "0s"}


def curl(require: Require, line: Plugged, path: str, *more: str) -> tuple[int, Any]:
    """What a foreign client gets: status and document."""
    command = [require("curl", "curl"), "-s", *more, "-w", "\n%{http_code}", f"http://127.0.0.1:{line.port}{path}"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    body, _, code = said.rpartition("\n")
    return int(code), json.loads(body or "null")


@pytest.mark.e2e
def test_curl_reads_the_truth_and_our_driver_what_curl_reads(require: Require) -> None:
    front = Exact(Held(WATTS), seed=3)
    with plugged_in(front) as line:
        assert curl(require, line, "/rpc/Shelly.GetDeviceInfo")[1]["gen"] == 2
        _, theirs = curl(require, line, f"{STATUS}?id=0")
        assert theirs["apower"] == pytest.approx(WATTS, abs=0.05) and theirs["voltage"] == 230.0
        assert theirs["aenergy"]["by_minute"] == [pytest.approx(WATTS * 60 / 3.6, rel=1e-4)] * 3
        assert theirs["aenergy"]["minute_ts"] % 60 == 0
        assert curl(require, line, "/rpc/Sys.GetStatus")[1]["unixtime"] > EPOCH_S
        assert curl(require, line, f"{STATUS}?id=9")[0] == 500
        assert curl(require, line, "/rpc/Fan.GetStatus")[0] == 404
        with watched(front, **KEYS) as seen:
            assert {one.value for one in seen.more(5)} == {theirs["apower"]}
            seen.until(lambda: sum(one.channel == "energy" for one in seen.all) >= 2)
            counted = [one for one in seen.all if one.channel == "energy"]
    for one in counted:
        true_j = WATTS * (one.end_ns - one.start_ns) * 1e-9
        assert one.value == pytest.approx(true_j, abs=2 * 3.6 + 3 * WATTS * one.u_time_ns * 1e-9)


@pytest.mark.e2e
def test_a_plug_with_a_password_asks_for_a_digest(require: Require, tmp_path: Path) -> None:
    front = Guarded(Held(WATTS))
    file = tmp_path / "password"
    file.write_text("made-password\n")
    with plugged_in(front) as line:
        assert curl(require, line, f"{STATUS}?id=0")[0] == 401
        answer = curl(require, line, f"{STATUS}?id=0", "--digest", "-u", "admin:made-password")
        assert answer[0] == 200 and answer[1]["apower"] == pytest.approx(WATTS, abs=0.05)
        with watched(front, tmp_path / "raw", password_file=str(file), **KEYS) as seen:
            assert {one.value for one in seen.more(3)} == {answer[1]["apower"]}
        refused = Watched(front, None, **KEYS)  # type: ignore[arg-type]
        with refused.meters:
            assert "wants a password" in refused.meters.wait_first_good(60)["wall"]
    said = b"".join(data for _, _, data in records((tmp_path / "raw" / "wall.log").read_bytes()))
    assert b"apower" in said and b"made-password" not in said


@pytest.mark.e2e
def test_the_first_generation(require: Require) -> None:
    front = ExactGen1(Held(WATTS), seed=3)
    with plugged_in(front) as line, watched(front, **KEYS) as seen:
        _, theirs = curl(require, line, "/status")
        assert theirs["meters"][0]["power"] == pytest.approx(WATTS, abs=0.05)
        assert {one.value for one in seen.more(5)} == {theirs["meters"][0]["power"]}


def bears(faults: list[Any]) -> None:
    truth = Held(LEAST_W)
    front = Exact(truth, seed=3)
    front.faults.late_s, front.faults.only = 0.8, STATUS
    with plugged_in(front) as line, watched(front, **{**KEYS, "timeout": "500ms"}) as seen:
        bear(seen, truth, line, front.faults, faults)


def test_faults_invent_nothing() -> None:
    bears(["half", "late"])


@pytest.mark.stress
def test_all_faults_invent_nothing() -> None:
    bears(["silent", "half", "garbage", "hang_up", b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"apower"', "late"])


def test_a_server_error_passes_and_a_password_that_is_new_ends() -> None:
    front = Exact(Held(WATTS))
    with plugged_in(front), watched(front, **KEYS) as seen:
        front.instead[STATUS] = Reply(500, b"{}")
        seen.until(lambda: "lost" in kinds(seen))
        front.instead.clear()
        seen.until(lambda: "back" in kinds(seen))
        seen.more(3)
        front.instead[STATUS] = Reply(401, b"{}")
        seen.until(lambda: "fatal" in kinds(seen))
        assert {one.value for one in seen.power} == {WATTS}


def test_too_much_on_the_plug_is_flagged_and_keeps_the_meter() -> None:
    front = Exact(Held(WATTS))
    with plugged_in(front), watched(front, **KEYS) as seen:
        front.shows = {"errors": ["overpower"]}
        seen.until(lambda: "overload" in seen.power[-1].quality)
        assert ("wall", "power") not in seen.meters.latest()
        front.shows = {}
        seen.until(lambda: seen.power[-1].good)
        assert seen.events == []


@pytest.mark.parametrize("front", ["shelly", "shelly_gen1"])
def test_what_is_quoted_holds_the_truth(front: str) -> None:
    found, trials = cover(front, range(10))
    assert found.quoted == 10, [one for one in trials if one.joules is None]
    assert found.used <= 1
