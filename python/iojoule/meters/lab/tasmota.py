"""Plugs that run Tasmota: over HTTP, and over MQTT through a real broker (mosquitto) on loopback."""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shutil import which
from typing import Any, ClassVar
from urllib.parse import parse_qs

from iojoule.meters import clock
from iojoule.meters.http_link import Reply
from iojoule.meters.lab.bmc import Sensor
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.lab.web import LabWeb, Request, reply_of, served_on_http
from iojoule.meters.mqtt_link import Message

TOPIC = "made_plug"
VOLTS = 230.0
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class TasmotaHttpFront(Sensor):
    ABOUT: ClassVar[str] = "a Tasmota plug asked over HTTP, 1 W and 0.01 Wh, updated every second"
    WATTS: ClassVar[tuple[float, float]] = (30.0, 500.0)
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=1.0, update_s=1.0, latency_s=0.3)
    COUNT_J: ClassVar[float] = 36.0
    #: User and password of the plug or its broker; nobody is asked when empty.
    LOGIN: ClassVar[tuple[str, str] | None] = None

    _address: tuple[str, int] = ("127.0.0.1", 80)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        super().__init__(truth, seed)
        #: What a test bends: fields of ENERGY, and an answer in place of all.
        self.shows: dict[str, Any] = {}
        self.instead: Reply | None = None

    def section(self) -> dict[str, Any]:
        address = "http://{}:{}".format(*self._address)
        return {"kind": "tasmota", "url": address, "energy_resolution": self.COUNT_J, **self.keys()}

    def link(self) -> Any:
        return LabWeb(self.answer, way_s=0.01)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with served_on_http(self.answer, self.faults, port) as self._address:
            yield "{}:{}".format(*self._address)

    def sensors(self, now_ns: int) -> dict[str, Any]:
        """What a telemetry message holds."""
        watts, local = self.watts(now_ns), datetime.fromtimestamp(self.utc_s(now_ns), UTC)
        kwh = round(self.counts(now_ns) * self.COUNT_J / 3.6e6, 5)
        energy = {"Total": kwh, "Today": 0.1, "Power": round(watts), "Factor": 1.0, "Voltage": round(VOLTS),
                  "Current": round(watts / VOLTS, 3), **self.shows}  # fmt: skip
        return {"Time": local.strftime("%Y-%m-%dT%H:%M:%S"), "ENERGY": energy}

    def command(self, name: str, value: str, now_ns: int) -> tuple[str, dict[str, Any]]:
        """Where the answer to a command goes, and the answer."""
        if name == "Status" and value == "2":
            return "STATUS2", {"StatusFWR": {"Version": "14.2.0(release-tasmota)", "Hardware": "ESP8266EX"}}
        if name == "Status" and value == "8":
            return "STATUS8", {"StatusSNS": self.sensors(now_ns)}
        return "RESULT", {"Command": "Unknown"}

    def answer(self, request: Request, now_ns: int) -> tuple[int, Reply]:
        """Over HTTP: ``/cm?cmnd=Status%208``."""
        path, _, query = request.path.partition("?")
        if self.instead is not None:
            return now_ns, self.instead
        if path != "/cm":
            return now_ns, reply_of({}, 404)
        said = {name: values[0] for name, values in parse_qs(query).items()}
        if self.LOGIN is not None and (said.get("user"), said.get("password")) != self.LOGIN:
            return now_ns, reply_of({"WARNING": "Need user=<username>&password=<password>"})
        name, _, value = said.get("cmnd", "").partition(" ")
        return now_ns, reply_of(self.command(name, value, now_ns)[1])


class LabMqtt:
    """An ``Mqtt`` straight to a front, on the clock in use; each message takes ``way_s``."""

    def __init__(self, front: TasmotaFront, way_s: float = 0.02) -> None:
        self._front, self._way_s = front, way_s
        self._coming: deque[Message] = deque()

    def subscribe(self, topics: Sequence[str]) -> None:
        self._coming.append(Message(f"tele/{TOPIC}/LWT", b"Online", clock.now_ns(), retained=True))

    def publish(self, topic: str, payload: str) -> None:
        clock.sleep(self._way_s)
        where, answer = self._front.command(topic.rpartition("/")[2], payload, clock.now_ns())
        at_ns = clock.now_ns() + int(self._way_s * 1e9)
        self._coming.append(Message(f"stat/{TOPIC}/{where}", json.dumps(answer).encode(), at_ns))

    def take(self, deadline_ns: int) -> Message | None:
        front = self._front
        if not self._coming and front.tele_due_ns() + int(self._way_s * 1e9) <= deadline_ns:
            clock.sleep_until(front.tele_due_ns())
            body = json.dumps(front.told(clock.now_ns())).encode()
            self._coming.append(Message(f"tele/{TOPIC}/SENSOR", body, clock.now_ns() + int(self._way_s * 1e9)))
        if not self._coming or self._coming[0].at_ns > deadline_ns:
            clock.sleep_until(deadline_ns)
            return None
        clock.sleep_until(self._coming[0].at_ns)
        return self._coming.popleft()

    def close(self) -> None:
        pass


class TasmotaFront(TasmotaHttpFront):
    ABOUT: ClassVar[str] = "a Tasmota plug over MQTT, a message every 10 s, 1 W and 0.01 Wh"
    #: Seconds a plug must at least be given; it takes its default in place of less.
    LEAST_S: ClassVar[int] = 10

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        super().__init__(truth, seed)
        self.tele_s, self._told_ns = 300, 0
        self._plug: Any = None

    def section(self) -> dict[str, Any]:
        host, port = self._address if self._address[1] != 80 else ("127.0.0.1", 1883)
        return {
            "kind": "tasmota",
            "broker": host,
            "port": port,
            "topic": TOPIC,
            "energy_resolution": self.COUNT_J,
            **self.keys(),
        }

    def link(self) -> LabMqtt:
        return LabMqtt(self)

    def truth_channels(self) -> tuple[str, ...]:
        return ("energy",)

    def tele_due_ns(self) -> int:
        """When the next message is sent."""
        return self._told_ns + self.tele_s * 10**9

    def told(self, now_ns: int) -> dict[str, Any]:
        """The message that is due."""
        self._told_ns = now_ns
        return self.sensors(now_ns)

    def command(self, name: str, value: str, now_ns: int) -> tuple[str, dict[str, Any]]:
        if name != "TelePeriod":
            return super().command(name, value, now_ns)
        if value:
            self.tele_s = int(value) if self.LEAST_S <= int(value) <= 3600 else 300
            self._told_ns = now_ns
        return "RESULT", {"TelePeriod": self.tele_s}

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with (
            tempfile.TemporaryDirectory(prefix="iojoule-mqtt-") as folder,
            _broker(Path(folder), port, self.LOGIN) as at,
        ):
            self._address = ("127.0.0.1", at)
            with self._plugged(at):
                yield f"127.0.0.1:{at}"

    @contextlib.contextmanager
    def _plugged(self, port: int) -> Iterator[None]:
        """The plug itself: a client of the broker, with a last will, that tells and obeys."""
        import paho.mqtt.client as paho

        ending = threading.Event()

        def begin() -> Any:
            plug: Any = paho.Client(paho.CallbackAPIVersion.VERSION2, reconnect_on_failure=False)  # type: ignore[attr-defined]
            if self.LOGIN is not None:
                plug.username_pw_set(*self.LOGIN)
            plug.will_set(f"tele/{TOPIC}/LWT", "Offline", retain=True)
            plug.on_connect = connected
            plug.on_message = obey
            plug.connect("127.0.0.1", port)
            plug.loop_start()
            return plug

        def connected(client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
            client.subscribe(f"cmnd/{TOPIC}/#")
            client.publish(f"tele/{TOPIC}/LWT", "Online", retain=True)

        def obey(client: Any, data: Any, message: Any) -> None:
            where, answer = self.command(message.topic.rpartition("/")[2], message.payload.decode(), clock.now_ns())
            client.publish(f"stat/{TOPIC}/{where}", json.dumps(answer))

        def tell() -> None:
            plug = begin()
            while not ending.wait(min(0.05, max(0.0, (self.tele_due_ns() - clock.now_ns()) * 1e-9))):
                if clock.now_ns() < self.tele_due_ns():
                    continue
                parts = list(self.faults.parts(json.dumps(self.told(clock.now_ns())).encode()))
                # A session that is cut brings a message whole or not at all.
                for wait_s, part in parts[-1:] if parts and parts[-1][1] is None else parts:
                    ending.wait(wait_s)
                    if part is None:
                        # Gone without a word: the broker tells the will, and the plug comes back.
                        plug.socket().shutdown(socket.SHUT_RDWR)
                        plug.loop_stop()
                        ending.wait(0.5)
                        plug = begin()
                    else:
                        plug.publish(f"tele/{TOPIC}/SENSOR", part).wait_for_publish(1.0)
            plug.disconnect()
            plug.loop_stop()

        self._told_ns = clock.now_ns()
        thread = threading.Thread(target=tell, name="lab-mqtt", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join(5.0)


@contextlib.contextmanager
def _broker(folder: Path, port: int, login: tuple[str, str] | None) -> Iterator[int]:
    """mosquitto on loopback, with nothing of the system's own; its port."""
    program = which("mosquitto", path=PATH)
    if program is None:
        raise OSError("mosquitto is missing: apt-get install mosquitto")
    port = port or _free_port()
    lines = [f"listener {port} 127.0.0.1", f"user {getpass.getuser()}", "persistence false"]
    if login is None:
        lines.append("allow_anonymous true")
    else:
        maker = which("mosquitto_passwd", path=PATH) or "mosquitto_passwd"
        subprocess.run([maker, "-b", "-c", str(folder / "passwd"), *login], check=True, capture_output=True)
        lines.append(f"password_file {folder / 'passwd'}")
    (folder / "conf").write_text("\n".join(lines) + "\n")
    broker = subprocess.Popen(
        [program, "-c", str(folder / "conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
                break
            if broker.poll() is not None or time.monotonic() > until:
                raise OSError("mosquitto does not start")
            time.sleep(0.02)
        yield port
    finally:
        broker.terminate()
        broker.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
