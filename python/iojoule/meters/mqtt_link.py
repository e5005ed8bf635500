"""MQTT 3.1.1 through paho: what a broker hands on, each message with the host time at which it came.

The session is clean: a broker keeps nothing for us while we are away, so that nothing old comes as if it were new. What
it keeps for everybody (retained) is marked.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from iojoule.meters import clock
from iojoule.meters.base import Fatal, NoRawLog, RawLog, Reconnect

#: Seconds between two signs of life; a broker that is silent for longer is gone.
KEEPALIVE_S = 5
#: Why a broker refuses: identifier, user or password, authorization (3.1.1, §3.2.2.3, as paho names them).
REFUSED = {"Client identifier not valid", "Bad user name or password", "Not authorized"}


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    payload: bytes
    at_ns: int
    retained: bool = False


class Mqtt(Protocol):
    """What a driver needs of a broker; a laboratory gives its own."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Hear of ``topics`` from now on; returns when the broker has agreed."""

    def publish(self, topic: str, payload: str) -> None: ...

    def take(self, deadline_ns: int) -> Message | None:
        """The next message; None when none came until then; Reconnect when the broker is gone."""

    def close(self) -> None: ...


class PahoLink:
    """One session with the broker at ``host:port``. ``tls`` with the authority in ``ca_file``, or the system's."""

    def __init__(
        self,
        host: str,
        port: int,
        timeout_s: float,
        raw: RawLog | None = None,
        *,
        login: tuple[str, str] | None = None,
        tls: bool = False,
        ca_file: str | None = None,
        qos: int = 1,
    ) -> None:
        try:
            import paho.mqtt.client as paho
        except ImportError as error:
            raise Fatal("the library paho-mqtt is missing: pip install 'iojoule[meters]'") from error
        self._raw, self._timeout_s, self._qos = raw or NoRawLog(), timeout_s, qos
        self._heard: queue.SimpleQueue[Message | str] = queue.SimpleQueue()
        self._agreed: queue.SimpleQueue[str] = queue.SimpleQueue()
        version = paho.CallbackAPIVersion.VERSION2  # type: ignore[attr-defined]
        self._client: Any = paho.Client(version, clean_session=True, reconnect_on_failure=False)
        self._client.connect_timeout = timeout_s
        if login:
            self._client.username_pw_set(*login)
        if tls:
            try:
                self._client.tls_set(ca_certs=ca_file)
            except OSError as error:
                raise Fatal(f"cannot read the authority {ca_file}: {error}") from error
        self._client.on_connect = self._connected
        self._client.on_disconnect = self._gone
        self._client.on_message = self._came
        self._client.on_subscribe = self._subscribed
        where = f"broker {host}:{port}"
        try:
            self._client.connect(host, port, KEEPALIVE_S)
        except OSError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise Fatal(f"{where}: {error}; name its authority in ca_file") from error
            raise Reconnect(f"{where}: {error}") from error
        self._client.loop_start()
        if said := self._answer(f"{where}: no answer"):
            self.close()
            if said in REFUSED:
                raise Fatal(f"{where}: {said}; look at username and password_file")
            raise Reconnect(f"{where}: {said}")

    # Called in the library's thread, as soon as something comes.

    def _connected(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._agreed.put(str(reason) if reason.is_failure else "")

    def _subscribed(self, client: Any, data: Any, number: Any, reasons: Any, properties: Any) -> None:
        self._agreed.put(next((str(reason) for reason in reasons if reason.is_failure), ""))

    def _gone(self, client: Any, data: Any, flags: Any, reason: Any, properties: Any) -> None:
        self._agreed.put(f"the broker hung up: {reason}")
        self._heard.put(f"the broker hung up: {reason}")

    def _came(self, client: Any, data: Any, message: Any) -> None:
        came = Message(message.topic, bytes(message.payload), clock.now_ns(), bool(message.retain))
        self._raw.received(came.topic.encode() + (b" (retained) " if came.retained else b" ") + came.payload)
        self._heard.put(came)

    def _answer(self, otherwise: str) -> str:
        try:
            return self._agreed.get(timeout=self._timeout_s)
        except queue.Empty:
            self.close()
            raise Reconnect(otherwise) from None

    def subscribe(self, topics: Sequence[str]) -> None:
        self._raw.sent(("SUBSCRIBE " + " ".join(topics)).encode())
        self._client.subscribe([(topic, self._qos) for topic in topics])
        if said := self._answer("the broker does not answer"):
            self.close()
            raise Reconnect(said) if "hung up" in said else Fatal(f"the broker refuses {', '.join(topics)}: {said}")

    def publish(self, topic: str, payload: str) -> None:
        self._raw.sent(f"{topic} {payload}".encode())
        self._client.publish(topic, payload, qos=self._qos)

    def take(self, deadline_ns: int) -> Message | None:
        try:
            found = self._heard.get(timeout=max(0.0, (deadline_ns - clock.now_ns()) * 1e-9))
        except queue.Empty:
            return None
        if isinstance(found, str):
            raise Reconnect(found)
        return found

    def close(self) -> None:
        with contextlib.suppress(Exception):  # a session that is gone cannot be ended better
            self._client.disconnect()
            self._client.loop_stop()
