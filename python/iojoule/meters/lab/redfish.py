"""The BMC of a server over Redfish: a chassis with ``EnvironmentMetrics``, its sensor and the older ``Power``."""

from __future__ import annotations

import contextlib
import json
import ssl
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, ClassVar

from iojoule.meters.http_link import Reply
from iojoule.meters.lab.bmc import Sensor
from iojoule.meters.lab.web import LabWeb, Request, reply_of, served_on_http

V1 = "/redfish/v1"
CHASSIS = f"{V1}/Chassis/1"
TOKEN = "made-session-token"


class RedfishFront(Sensor):
    ABOUT: ClassVar[str] = "a server's BMC over Redfish, 1 W and 1 Wh, updated every second"
    #: What the chassis has: ``metrics``, their ``sensor`` that stamps its readings, and the older ``power``.
    HAS: ClassVar[frozenset[str]] = frozenset({"metrics"})
    #: Who may read; nobody is asked when empty.
    LOGIN: ClassVar[tuple[str, str] | None] = None

    _address: tuple[str, int] = ("127.0.0.1", 80)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        #: What a test bends: watts shown in place of the sensor's (null too), and answers by path.
        self.shows: list[Any] = []
        self.instead: dict[str, Reply] = {}

    def section(self) -> dict[str, Any]:
        return {
            "kind": "redfish",
            "url": "http://{}:{}".format(*self._address),
            **self.keys(),
            "energy_resolution": 3600,
        }

    def link(self) -> LabWeb:
        return LabWeb(self.answer)

    @contextlib.contextmanager
    def served(self, port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[str]:
        with served_on_http(self.answer, self.faults, port, tls) as self._address:
            yield "{}:{}".format(*self._address)

    def answer(self, request: Request, now_ns: int) -> tuple[int, Reply]:
        """When the BMC is done with a request, and what it answers."""
        reply = self.instead.get(request.path) or self._answer(request, now_ns)
        date = format_datetime(datetime.fromtimestamp(self.utc_s(now_ns), UTC), usegmt=True)
        return now_ns, Reply(reply.status, reply.body, {"date": date, **reply.headers})

    def _answer(self, request: Request, now_ns: int) -> Reply:
        path = request.path.rstrip("/")
        if path == f"{V1}/SessionService/Sessions" and request.method == "POST":
            said = json.loads(request.body)
            if (said.get("UserName"), said.get("Password")) != self.LOGIN:
                return reply_of({"error": {}}, 401)
            return reply_of({}, 201, x_auth_token=TOKEN, location=f"{V1}/SessionService/Sessions/1")
        if path != V1 and not self._may_read(request):
            return reply_of({"error": {}}, 401, www_authenticate='Basic realm="bmc"')
        if request.method == "DELETE":
            return Reply(204, b"")
        document = self._documents(now_ns).get(path)
        return reply_of({"error": {}}, 404) if document is None else reply_of({"@odata.id": path, **document})

    def _may_read(self, request: Request) -> bool:
        if self.LOGIN is None:
            return True
        basic = b64encode(":".join(self.LOGIN).encode()).decode()
        given = request.headers
        return given.get("authorization") == f"Basic {basic}" or given.get("x-auth-token") == TOKEN

    def _documents(self, now_ns: int) -> dict[str, dict[str, Any]]:
        watts: Any = self.shows[0] if self.shows else round(self.watts(now_ns))
        stamp = datetime.fromtimestamp(self.utc_s(self.shown(now_ns).end_ns), UTC).isoformat().replace("+00:00", "Z")
        sensor = f"{CHASSIS}/Sensors/Power"
        of_chassis: dict[str, Any] = {"Id": "1", "Model": "Made Server", "SerialNumber": f"S{self.seed:04}"}
        metrics: dict[str, Any] = {
            "PowerWatts": {"Reading": watts},
            "EnergykWh": {"Reading": self.counts(now_ns) / 1000},
        }
        if "metrics" in self.HAS:
            of_chassis["EnvironmentMetrics"] = {"@odata.id": f"{CHASSIS}/EnvironmentMetrics"}
        if "sensor" in self.HAS:
            metrics["PowerWatts"]["DataSourceUri"] = sensor
        if "power" in self.HAS:
            of_chassis["Power"] = {"@odata.id": f"{CHASSIS}/Power"}
        control = {"PowerConsumedWatts": watts, "PowerMetrics": {"IntervalInMin": 1, "AverageConsumedWatts": 200}}
        return {
            V1: {"RedfishVersion": "1.15.0", "Chassis": {"@odata.id": f"{V1}/Chassis"}},
            f"{V1}/Chassis": {"Members": [{"@odata.id": CHASSIS}, {"@odata.id": f"{V1}/Chassis/Enclosure"}]},
            f"{V1}/Chassis/Enclosure": {"Id": "Enclosure"},
            CHASSIS: of_chassis,
            f"{CHASSIS}/EnvironmentMetrics": metrics,
            f"{CHASSIS}/Power": {"PowerControl": [control]},
            sensor: {"Reading": watts, "ReadingUnits": "W", "ReadingTime": stamp},
        }


class RedfishSensorFront(RedfishFront):
    ABOUT: ClassVar[str] = "a BMC over Redfish whose sensor stamps each reading"
    HAS: ClassVar[frozenset[str]] = frozenset({"metrics", "sensor"})


class RedfishPowerFront(RedfishFront):
    ABOUT: ClassVar[str] = "an older BMC over Redfish, with the resource Power alone"
    HAS: ClassVar[frozenset[str]] = frozenset({"power"})
