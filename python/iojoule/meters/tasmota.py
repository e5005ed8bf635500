"""Plugs that run Tasmota: told over MQTT every ``TelePeriod``, or asked over HTTP as often as one likes.

Over MQTT the power is that of the last update before the message, and nothing of the ten seconds or more until the
next: such windows cover no phase, and what a phase used is told by the counter of energy. Asked often enough over HTTP,
the power is a mean over each update.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import Bare, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, Retry, read
from iojoule.meters.counter import NEVER_WRAPS_J
from iojoule.meters.http_link import HttpLink, Web
from iojoule.meters.json_body import number, parsed, part
from iojoule.meters.managed import COARSE, Managed, ManagedConfig, register, secret
from iojoule.meters.mqtt_link import Message, Mqtt, PahoLink
from iojoule.meters.plug_web import document
from iojoule.quantities import Seconds

JOULES_PER_KWH = 3.6e6
#: TelePeriods without a message after which the plug is lost.
PATIENCE = 2.5
#: Channels beside power and energy: quantity, unit, last digit, and name in ENERGY.
BESIDE = (
    ("voltage", "V", 1.0, "Voltage"), ("current", "A", 0.001, "Current"), ("power_factor", "1", 0.01, "Factor"),
)  # fmt: skip


class TasmotaConfig(ManagedConfig):
    kind: Literal["tasmota"] = "tasmota"
    url: str | None = Field(default=None, pattern=r"^https?://[^/?#@]+/?$", description="http://HOST of the plug.")
    broker: str | None = Field(default=None, description="Name or address of the MQTT broker.")
    port: int = Field(default=1883, gt=0, lt=65536, description="Port of the broker.")
    topic: str | None = Field(default=None, pattern=r"^[^#+%]+$", description="The plug's Topic, over MQTT.")
    full_topic: str = Field(default="%prefix%/%topic%/", description="The plug's FullTopic.")
    username: str | None = Field(default=None, description="User of the broker, or of the plug's pages (admin).")
    password_file: Path | None = Field(default=None, description="File whose first line is the password.")
    password_env: str | None = Field(default=None, description="Variable of the environment that holds the password.")
    tls: bool = Field(default=False, description="Speak TLS with the broker.")
    ca_file: Path | None = Field(default=None, description="Authority that signed the broker's certificate.")
    qos: Literal[0, 1] = Field(default=1, description="Quality of service that is asked of the broker.")
    resolution: float = Field(default=1.0, ge=0, description="Last digit of the power, W: 1 at WattRes 0.")
    energy_resolution: float = Field(default=3600.0, ge=0, description="Last digit of the energy, J: EnergyRes 3.")
    interval: Seconds = Field(default=10.0, description="TelePeriod over MQTT; time between two looks over HTTP.")
    update: Seconds = Field(default=1.0, description="How often the plug updates its power.")

    @model_validator(mode="before")
    @classmethod
    def _looks_are_more_often_than_messages(cls, raw: object) -> object:
        if isinstance(raw, dict) and raw.get("url") and "interval" not in raw:
            return {**raw, "interval": 0.25}
        return raw

    @model_validator(mode="after")
    def _one_way_is_said(self) -> Self:
        if (self.url is None) == (self.broker is None):
            raise ValueError("say either url (HTTP) or broker (MQTT)")
        if self.broker is not None and self.topic is None:
            raise ValueError("broker needs the topic of the plug")
        if self.broker is not None and self.interval != round(self.interval):
            raise ValueError("TelePeriod is in whole seconds: interval must be, too")
        if (self.username is None) != (self.password_file is None and self.password_env is None):
            raise ValueError("username and one of password_file, password_env belong together")
        return self

    def login(self) -> tuple[str, str] | None:
        password = secret(self.password_file, self.password_env, "password")
        return (self.username, password) if self.username and password else None

    def to(self, prefix: Literal["cmnd", "stat", "tele"], name: str) -> str:
        """The plug's topic for ``name``."""
        return self.full_topic.replace("%prefix%", prefix).replace("%topic%", self.topic or "") + name


class Tasmota(Bare):
    """``power``, ``voltage``, ``current``, ``power_factor`` and ``energy``, as far as the plug has them."""

    Config: ClassVar[type[TasmotaConfig]] = TasmotaConfig

    def __init__(self, config: TasmotaConfig, raw: RawLog | None = None, link: Any = None) -> None:
        self.config, self.raw, self._given = config, raw or NoRawLog(), link
        self.poll_s: float | None = config.interval if config.url else None
        self._web: Web | None = None
        self._mqtt: Mqtt | None = None
        self._shown, self._counted = Managed(config, self.raw), Managed(config, self.raw)
        self._keys: list[str] = []
        self._identity: dict[str, Any] = {}
        self._heard_ns = 0
        self._last: tuple[str, list[Reading]] = ("", [])
        self._least_delay_s = math.inf

    # ------------------------------------------------------------------ what both ways share

    def configure(self) -> None:
        self.close()
        self._shown.forget()
        self._counted.forget()
        if self.config.url:
            self._open_web(self.config.url)
        else:
            self._open_mqtt()

    def _found(self, sensors: dict[str, Any], firmware: dict[str, Any]) -> None:
        """Takes the channels from a first look at the sensors."""
        config, energy = self.config, part(sensors, "ENERGY")
        power, total = number(energy.get("Power")), number(energy.get("Total"))
        if power is None:
            raise self._shown.lacks("the plug tells no ENERGY Power: it does not measure, or has several phases")
        beside = [one for one in BESIDE if number(energy.get(one[-1])) is not None]
        self._keys = ["Power", *(key for *_, key in beside)]
        # Both are of one socket: what tells of all the time counts in a total.
        of_power = ("energy",) if total is not None and config.url else ()
        of_energy = ("power",) if config.broker else ()
        shown = [register(config, "power", "power", "W", config.resolution, inside=of_power)]
        shown += [register(config, name, name, unit, digit) for name, unit, digit, _ in beside]
        step_j = config.energy_resolution
        energies = register(config, "energy", "energy", "J", step_j, modulus=NEVER_WRAPS_J, inside=of_energy)
        counted = [energies] if total is not None else []
        if config.broker:
            for one in (*shown, *counted):
                one.channel = replace(one.channel, min_interval_s=config.interval)
        self._shown.has(shown)
        self._counted.has(counted)
        where = {"url": config.url} if config.url else {"broker": f"{config.broker}:{config.port}"}
        version = {"version": firmware["Version"]} if firmware.get("Version") else {}
        self._identity = where | ({"topic": config.topic} if config.topic else {}) | version

    def describe(self) -> Description:
        channels = [one.channel for one in (*self._shown.registers, *self._counted.registers)]
        return Description(self._identity, tuple(channels))

    def start(self) -> None:
        self._heard_ns = clock.now_ns()

    def next(self, deadline_ns: int) -> list[Reading]:
        return self._asked() if self.config.url else self._told(deadline_ns)

    def stop(self) -> dict[str, Any] | None:
        return self._shown.stop() if self.config.url else None

    def close(self) -> None:
        for link in (self._web, self._mqtt):
            if link is not None:
                link.close()
        self._web = self._mqtt = None

    # ------------------------------------------------------------------ HTTP

    def _open_web(self, url: str) -> None:
        login = self.config.login()
        if self._given is not None:
            self._web = self._given
        else:
            import urllib.parse

            # The plug wants its password in the address.
            named = {"user": login[0], "password": login[1]} if login else {}
            hidden = f"&{urllib.parse.urlencode(named, quote_via=urllib.parse.quote)}" if named else ""
            self._web = HttpLink(url, self.config.timeout, self.raw, hidden=hidden)
        firmware = self._status(2, "StatusFWR")
        self._found(self._status(8, "StatusSNS"), firmware)

    def _status(self, which: int, name: str) -> dict[str, Any]:
        if self._web is None:
            raise Reconnect("not connected")
        found = document(self._web, f"/cm?cmnd=Status%20{which}")
        if "WARNING" in found:
            raise Fatal(f"the plug says {found['WARNING']}: give username and password_file")
        if name not in found:
            raise Retry(f"Status {which} answered without {name}")
        return part(found, name)

    def _asked(self) -> list[Reading]:
        before_ns = clock.now_ns()
        energy = part(self._status(8, "StatusSNS"), "ENERGY")
        after_ns = clock.now_ns()
        readings = self._shown.seen(before_ns, after_ns, [number(energy.get(key)) for key in self._keys])
        if self._counted.registers:
            readings += self._counted.seen(before_ns, after_ns, [_joules(energy)])
        return readings

    # ------------------------------------------------------------------ MQTT

    def _open_mqtt(self) -> None:
        config = self.config
        ca_file = str(config.ca_file) if config.ca_file else None
        self._mqtt = self._given or PahoLink(
            config.broker or "", config.port, config.timeout, self.raw, login=config.login(), tls=config.tls,
            ca_file=ca_file, qos=config.qos,
        )  # fmt: skip
        self._last, self._least_delay_s = ("", []), math.inf
        self._mqtt.subscribe(
            [config.to("tele", "LWT"), config.to("tele", "SENSOR"), config.to("stat", "RESULT"),
             config.to("stat", "STATUS2"), config.to("stat", "STATUS8")]
        )  # fmt: skip
        firmware = part(self._command("Status", "2", "STATUS2", "StatusFWR"), "StatusFWR")
        wanted = round(config.interval)
        took = self._command("TelePeriod", str(wanted), "RESULT", "TelePeriod")["TelePeriod"]
        if took != wanted:
            raise Fatal(f"TelePeriod {wanted} was not taken: the plug says {took} (it takes 10 to 3600)")
        self._found(part(self._command("Status", "8", "STATUS8", "StatusSNS"), "StatusSNS"), firmware)

    def _command(self, name: str, value: str, answer: str, key: str) -> dict[str, Any]:
        """What the plug answers to a command; Reconnect when it does not in time."""
        self._broker.publish(self.config.to("cmnd", name), value)
        until_ns = clock.now_ns() + int(self.config.timeout * 1e9)
        while (message := self._broker.take(until_ns)) is not None:
            self._alive(message)
            if message.topic != self.config.to("stat", answer) or message.retained:
                continue
            try:
                found = parsed(message.payload)
            except ValueError:
                continue
            if key in found:
                return found
        raise Reconnect(f"{name} {value} was not answered by {self.config.topic}")

    @property
    def _broker(self) -> Mqtt:
        if self._mqtt is None:
            raise Reconnect("not connected")
        return self._mqtt

    def _alive(self, message: Message) -> None:
        """The broker says in the plug's name when it is gone."""
        if message.topic == self.config.to("tele", "LWT") and message.payload == b"Offline":
            raise Reconnect(f"{self.config.topic} is offline")

    def _told(self, deadline_ns: int) -> list[Reading]:
        lost_ns = self._heard_ns + int(PATIENCE * self.config.interval * 1e9)
        while (message := self._broker.take(min(deadline_ns, lost_ns))) is not None:
            self._alive(message)
            # What was kept for whoever comes may be of yesterday.
            if message.topic == self.config.to("tele", "SENSOR") and not message.retained:
                self._heard_ns = message.at_ns
                return self._message(message)
        if clock.now_ns() >= lost_ns:
            raise Reconnect(f"no message of {self.config.topic} for {PATIENCE:g} TelePeriods")
        return []

    def _message(self, message: Message) -> list[Reading]:
        """The readings of a message; those of before, marked stale, where it is the same one again."""
        try:
            sensors = parsed(message.payload)
        except ValueError as error:
            raise Retry(f"{message.topic}: {error}") from error
        stamp, energy = str(sensors.get("Time", "")), part(sensors, "ENERGY")
        if not energy:
            return []  # another sensor of the plug's
        before, readings = self._last
        if stamp and stamp == before:
            return [replace(one, quality=one.quality | {"stale"}) for one in readings]
        end_ns, u_ns = self._ended(message, stamp)
        start_ns = end_ns - int(self.config.update * 1e9)
        readings = []
        for one, key in zip(self._shown.registers, self._keys, strict=True):
            value = number(energy.get(key))
            coarse = key == "Power" and value is not None and one.step > COARSE * abs(value)
            flags = ("sentinel", "invalid") if value is None else ("under_range",) * coarse
            readings.append(read(one.channel, start_ns, end_ns, u_ns, math.nan if value is None else value, *flags))
        self._last = stamp, readings
        joules = _joules(energy)
        for one in self._counted.registers:
            if joules is None or one.counter is None:
                continue
            if (counted := one.counter.look(end_ns, round(joules * 1e9))) is not None:
                since_ns, used_j, more = counted
                readings = [*readings, read(one.channel, since_ns, end_ns, u_ns, used_j, *more)]
        return readings

    def _ended(self, message: Message, stamp: str) -> tuple[int, int]:
        """When the update ended that a message shows, and its standard uncertainty: it was shown for up to an update.

        A message that was held up on its way has an older stamp than the others had when they came.
        """
        config = self.config
        latency_s = config.update / 2 if config.latency is None else config.latency
        u_s = config.update / math.sqrt(12) if config.latency is None else config.u_latency
        late_s = 0.0
        try:
            delay_s = message.at_ns * 1e-9 - datetime.fromisoformat(stamp).replace(tzinfo=None).timestamp()
        except ValueError:
            pass
        else:
            self._least_delay_s = min(self._least_delay_s, delay_s)
            # Stamps are whole seconds; and the plug's clock may have been set, the message not late at all.
            held_s = min(delay_s - self._least_delay_s, config.interval)
            late_s = held_s if held_s > 1.0 else 0.0
        ended_ns = message.at_ns - int((latency_s + config.update / 2 + late_s / 2) * 1e9)
        return ended_ns, math.ceil(math.hypot(u_s, config.update / math.sqrt(12), late_s / math.sqrt(12)) * 1e9)


def _joules(energy: dict[str, Any]) -> float | None:
    total = number(energy.get("Total"))
    return None if total is None else total * JOULES_PER_KWH
