"""Plugs of the Shelly kind over HTTP: Gen2 with its RPC, whole minutes, digest login; and Gen1 with ``/status``."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters.http_link import Reply
from iojoule.meters.lab.bmc import Sensor
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.lab.web import LabWeb, Request, reply_of, served_on_http

VOLTS = 230.0
NONCE = "60dc59c6"


class ShellyFront(Sensor):
    ABOUT: ClassVar[str] = "a Shelly Plug S (Gen2) over HTTP, 0.1 W, updated every second"
    WATTS: ClassVar[tuple[float, float]] = (20.0, 400.0)
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=0.1, update_s=1.0, latency_s=0.2)
    COUNT_J: ClassVar[float] = 3.6
    #: The password of ``admin``; nobody is asked when empty.
    PASSWORD: ClassVar[str] = ""

    _address: tuple[str, int] = ("127.0.0.1", 80)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        super().__init__(truth, seed)
        #: What a test bends: fields of the status, and answers by path.
        self.shows: dict[str, Any] = {}
        self.instead: dict[str, Reply] = {}
        self._minutes: tuple[int, list[float]] = (0, [])

    def section(self) -> dict[str, Any]:
        return {"kind": "shelly", "url": "http://{}:{}".format(*self._address), **self.keys()}

    def link(self) -> LabWeb:
        return LabWeb(self.answer, way_s=0.005)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_http(self.answer, self.faults, port) as self._address:
            yield "{}:{}".format(*self._address)

    def answer(self, request: Request, now_ns: int) -> tuple[int, Reply]:
        """When the plug is done with a request, and what it answers."""
        path, _, query = request.path.partition("?")
        if path in self.instead:
            return now_ns, self.instead[path]
        if path != "/shelly" and self.PASSWORD and not self._may_read(request):
            challenge = f'Digest qop="auth", realm="made-shelly", nonce="{NONCE}", algorithm=SHA-256'
            return now_ns, reply_of({}, 401, www_authenticate=challenge)
        return now_ns, self._answer(path, query, now_ns)

    def _may_read(self, request: Request) -> bool:
        given = dict(re.findall(r'(\w+)="?([^",]+)"?', request.headers.get("authorization", "")))
        if given.get("nonce") != NONCE:
            return False
        one = _sha(f"admin:made-shelly:{self.PASSWORD}")
        two = _sha(f"{request.method}:{request.path}")
        want = _sha(":".join((one, NONCE, given.get("nc", ""), given.get("cnonce", ""), given.get("qop", ""), two)))
        return given.get("response") == want

    def _answer(self, path: str, query: str, now_ns: int) -> Reply:
        if path in ("/shelly", "/rpc/Shelly.GetDeviceInfo"):
            return reply_of(
                {
                    "id": f"shellyplugs-{self.seed:012x}", "mac": f"{self.seed:012X}", "model": "SNPL-00112EU",
                    "gen": 2, "ver": "1.4.4", "app": "PlugS", "auth_en": bool(self.PASSWORD),
                }
            )  # fmt: skip
        if path == "/rpc/Sys.GetStatus":
            return reply_of({"unixtime": self.utc_s(now_ns), "uptime": 1000})
        if path != "/rpc/Switch.GetStatus":
            return reply_of({"code": 404, "message": f"No handler for {path}"}, 404)
        if query != "id=0":
            return reply_of({"code": -105, "message": f"Argument '{query}' not found!"}, 500)
        watts = round(self.watts(now_ns), 1)
        current = {"apower": watts, "voltage": VOLTS, "current": round(watts / VOLTS, 3), "pf": 1.0}
        return reply_of({"id": 0, "output": True, **current, "aenergy": self._energy(now_ns), **self.shows})

    def _energy(self, now_ns: int) -> dict[str, Any]:
        """The total so far, and the three whole minutes before this one, in mWh."""
        this = self.utc_s(now_ns) // 60 * 60
        if self._minutes[0] != this:
            self._minutes = this, [self._milliwatt_hours(this - back * 60) for back in range(3)]
        stamp, minutes = self._minutes
        return {"total": round(self.counts(now_ns) / 1000, 3), "by_minute": minutes, "minute_ts": stamp}

    def _milliwatt_hours(self, end_s: int) -> float:
        """Of the minute of the plug's clock that ends then."""
        start_ns, end_ns = self.host_ns((end_s - 60) * 10**9), self.host_ns(end_s * 10**9)
        return round(self.truth.joules(start_ns, end_ns) * self.instrument.gain / 3.6, 3)

    def host_ns(self, meter_ns: int) -> int:
        """Host time at which the plug's clock shows ``meter_ns``."""
        offset_ns = int(self.make.clock_offset_s * 1e9)
        return round((meter_ns - offset_ns) / (1 + self.make.clock_drift_ppm * 1e-6))


class ShellyGen1Front(ShellyFront):
    ABOUT: ClassVar[str] = "a Shelly Plug S of the first generation over HTTP, 0.01 W and watt-minutes"
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=0.01, update_s=1.0, latency_s=0.2)
    COUNT_J: ClassVar[float] = 60.0

    def section(self) -> dict[str, Any]:
        return {**super().section(), "resolution": 0.01}

    def _answer(self, path: str, query: str, now_ns: int) -> Reply:
        if path == "/shelly":
            return reply_of({"type": "SHPLG-S", "mac": f"{self.seed:012X}", "auth": False, "fw": "v1.14.0"})
        if path != "/status":
            return reply_of({}, 404)
        meter = {"power": round(self.watts(now_ns), 2), "is_valid": True, "total": self.counts(now_ns), **self.shows}
        return reply_of({"unixtime": self.utc_s(now_ns), "meters": [meter], "relays": [{"overpower": False}]})


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
