"""Shelly plugs and relays that measure: Gen2 and later over their RPC, Gen1 over ``/status``.

Power and the counter of energy are renewed each at their own time, so each has windows of its own. A plug also keeps
the energy of whole minutes of its own clock; these become windows of host time through probes of that clock.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from iojoule.meters import clock
from iojoule.meters.base import Channel, ClockProbe, Description, Fatal, RawLog, Reading, Reconnect, read
from iojoule.meters.clock import ClockMap
from iojoule.meters.counter import NEVER_WRAPS_J
from iojoule.meters.http_link import HttpLink, Web
from iojoule.meters.json_body import number, part
from iojoule.meters.managed import Managed, ManagedConfig, register, secret
from iojoule.meters.plug_web import document
from iojoule.quantities import Seconds

JOULES_PER_WH, JOULES_PER_WATT_MINUTE = 3600.0, 60.0
MINUTE_S = 60
#: A clock that is this far from where it should be has been set.
CLOCK_SET_NS = 3 * 10**9
#: Errors of a plug that say its input was too much.
TOO_MUCH = {"overpower", "overvoltage", "overcurrent"}
#: Channels beside power and energy: quantity, unit, last digit, and where a Gen2 status has them.
BESIDE = (("voltage", "V", 0.1, "voltage"), ("current", "A", 0.001, "current"), ("power_factor", "1", 0.01, "pf"))


class ShellyConfig(ManagedConfig):
    kind: Literal["shelly"] = "shelly"
    url: str = Field(pattern=r"^https?://[^/?#@]+/?$", description="http://HOST of the plug.")
    component: Literal["Switch", "PM1", "Cover"] = Field(default="Switch", description="What measures, of Gen2.")
    id: int = Field(default=0, ge=0, description="Which of several.")
    username: str = Field(default="admin", description="Who logs in where a password is given; Gen2 knows admin only.")
    password_file: Path | None = Field(default=None, description="File whose first line is the password.")
    password_env: str | None = Field(default=None, description="Variable of the environment that holds the password.")
    resolution: float = Field(default=0.1, ge=0, description="Last digit of the power, W.")
    energy_resolution: float | None = Field(
        default=None, ge=0, description="Last digit of the energy, J; 0.001 Wh, or a watt-minute of Gen1."
    )
    energy_update: Seconds = Field(default=60.0, description="The longest the energy stays as it is under load.")
    minutes: bool = Field(default=False, description="Also read the energy of whole minutes (Gen2).")
    interval: Seconds = Field(default=0.25, description="Time between two looks.")
    update: Seconds = Field(default=1.0, description="How often the plug updates its power.")


class Shelly(Managed):
    """``power``, ``voltage``, ``current``, ``power_factor`` and ``energy`` as far as there are; ``minutes``."""

    Config: ClassVar[type[ShellyConfig]] = ShellyConfig

    def __init__(self, config: ShellyConfig, raw: RawLog | None = None, link: Web | None = None) -> None:
        super().__init__(config, raw)
        self.config, self._given = config, link
        self._web: Web | None = None
        self._gen = 2
        self._counted_config = _of_counter(config)
        self._counted = Managed(self._counted_config, self.raw)
        self._present: list[bool] = []
        self._clock = ClockMap(1e9)
        self._minute: Channel | None = None
        self._minute_ts: int | None = None
        self._minute_end_ns = 0

    def configure(self) -> None:
        config = self.config
        self.close()
        self.forget()
        self._counted.forget()
        self._clock, self._minute_ts = ClockMap(1e9), None
        password = secret(config.password_file, config.password_env, "password")
        login = (config.username, password) if password else None
        if self._given is None:
            # Without a password, so that the plug can say first of which generation it is.
            about = HttpLink(config.url, config.timeout, self.raw)
            try:
                said = document(about, "/shelly")
            finally:
                about.close()
            self._gen = _generation(said)
            self._web = HttpLink(config.url, config.timeout, self.raw, login=login, digest=self._gen > 1)
        else:
            self._web = self._given
            said = document(self._web, "/shelly")
            self._gen = _generation(said)
        shown, counted, _ = self._looked()
        if shown[0] is None:
            raise self.lacks(f"{config.component} {config.id} of {config.url} tells no power")
        registers = [register(config, "power", "power", "W", config.resolution, inside=self._inside(counted))]
        registers += [
            register(config, name, name, unit, digit)
            for (name, unit, digit, _), value in zip(BESIDE, shown[1:], strict=True)
            if value is not None
        ]
        self.has(registers)
        self._present = [True, *(value is not None for value in shown[1:])]
        step_j = config.energy_resolution
        if step_j is None:
            step_j = 0.001 * JOULES_PER_WH if self._gen > 1 else JOULES_PER_WATT_MINUTE
        energy = register(self._counted_config, "energy", "energy", "J", step_j, modulus=NEVER_WRAPS_J)
        self._counted.has([energy] if counted is not None else [])
        self._minute = None
        if config.minutes and self._gen > 1:
            if self.sync() is None:
                raise Fatal(f"the clock of {config.url} is not set: it has no whole minutes; set its time server")
            self._minute = replace(self.registers[0].channel, id="minutes", u_abs=0.0, contains=(), min_interval_s=60.0)
        self.identity = {"url": config.url, "generation": self._gen} | {
            key: said[key] for key in ("id", "model", "type", "mac", "ver", "fw", "app") if said.get(key)
        }

    def _inside(self, counted: float | None) -> tuple[str, ...]:
        """All are of one socket: power counts in a total."""
        minutes = ("minutes",) if self.config.minutes and self._gen > 1 else ()
        return (("energy",) if counted is not None else ()) + minutes

    def describe(self) -> Description:
        channels = [one.channel for one in (*self.registers, *self._counted.registers)]
        return Description(self.identity, (*channels, self._minute) if self._minute else tuple(channels))

    @property
    def _online(self) -> Web:
        if self._web is None:
            raise Reconnect("not connected")
        return self._web

    def _looked(self) -> tuple[list[float | None], float | None, dict[str, Any]]:
        """Power and what stands beside it, the counted joules, and the status they are from."""
        config = self.config
        if self._gen == 1:
            status = document(self._online, "/status")
            meter, relay = _nth(status.get("meters"), config.id), _nth(status.get("relays"), config.id)
            watts = number(meter.get("power")) if meter.get("is_valid", True) else None
            total = number(meter.get("total"))
            errors = ["overpower"] if relay.get("overpower") or meter.get("overpower") is True else []
            joules = None if total is None else total * JOULES_PER_WATT_MINUTE
            return [watts, None, None, None], joules, {"errors": errors}
        status = document(self._online, f"/rpc/{config.component}.GetStatus?id={config.id}")
        shown = [number(status.get("apower")), *(number(status.get(key)) for *_, key in BESIDE)]
        total = number(part(status, "aenergy").get("total"))
        return shown, None if total is None else total * JOULES_PER_WH, status

    def next(self, deadline_ns: int) -> list[Reading]:
        before_ns = clock.now_ns()
        shown, counted, status = self._looked()
        after_ns = clock.now_ns()
        values = [value for value, there in zip(shown, self._present, strict=True) if there]
        readings = self.seen(before_ns, after_ns, values)
        if self._counted.registers:
            readings += self._counted.seen(before_ns, after_ns, [counted])
        if self._minute is not None:
            readings += self._minutes(self._minute, part(status, "aenergy"))
        errors = status.get("errors")
        if isinstance(errors, list) and TOO_MUCH.intersection(map(str, errors)):
            spoilt = {"overload", "invalid"}
            return [replace(one, quality=one.quality | spoilt) if one.unit in "WJ" else one for one in readings]
        return readings

    def _minutes(self, channel: Channel, counted: dict[str, Any]) -> list[Reading]:
        """The minutes that ended since the last look: ``by_minute[0]`` is that before ``minute_ts``, in mWh."""
        stamp, by_minute = number(counted.get("minute_ts")), counted.get("by_minute")
        # Firmware before 1.0 stamps no whole minutes: what its figures are of is not known well enough.
        if stamp is None or stamp % MINUTE_S or not isinstance(by_minute, list):
            return []
        known, self._minute_ts = self._minute_ts, int(stamp)
        if known is None or self._minute_ts < known:
            self._minute_end_ns = 0
            return []  # those of before began when nobody looked
        ended = (self._minute_ts - known) // MINUTE_S
        readings: list[Reading] = []
        for back in range(min(ended, len(by_minute)) - 1, -1, -1):
            start_ns, u_ns = self._clock.host_ns((self._minute_ts - (back + 1) * MINUTE_S) * 10**9)
            end_ns, _ = self._clock.host_ns((self._minute_ts - back * MINUTE_S) * 10**9)
            contiguous = bool(readings) or (self._minute_end_ns > 0 and back + 1 == ended)
            # The map of the clock is fitted anew with each probe: minutes go on where the last one ended.
            start_ns = self._minute_end_ns if contiguous else start_ns
            self._minute_end_ns = max(end_ns, start_ns)
            mwh = number(by_minute[back])
            flags = () if mwh is not None else ("sentinel", "invalid")
            watts = float("nan") if mwh is None else mwh * 1e-3 * JOULES_PER_WH / MINUTE_S
            readings.append(read(channel, start_ns, self._minute_end_ns, u_ns, watts, *flags))
        return readings

    def sync(self) -> ClockProbe | None:
        """The plug's clock, in steps of 1 s; None while nobody has set it."""
        path = "/rpc/Sys.GetStatus" if self._gen > 1 else "/status"
        sent_ns = clock.now_ns()
        unix_s = number(document(self._online, path).get("unixtime"))
        received_ns = clock.now_ns()
        if not unix_s:
            return None
        probe = ClockProbe(sent_ns, int(unix_s) * 10**9, received_ns)
        if self._clock.probes and abs(self._clock.host_ns(probe.meter_ns)[0] - sent_ns) > CLOCK_SET_NS:
            self._clock, self._minute_ts = ClockMap(1e9), None  # the minute in which it was set was none
        return self._clock.add(probe)

    def close(self) -> None:
        if self._web is not None:
            self._web.close()
        self._web = None


def _of_counter(config: ShellyConfig) -> ManagedConfig:
    """The counter waits longer for its updates; what it then shows is as old as the power is."""
    latency_s = config.update / 2 if config.latency is None else config.latency
    u_latency_s = config.update / 12**0.5 if config.latency is None else config.u_latency
    changed = {"update": config.energy_update, "latency": latency_s, "u_latency": u_latency_s}
    return config.model_copy(update=changed)


def _generation(said: dict[str, Any]) -> int:
    """Gen1 does not say it is."""
    return int(number(said.get("gen")) or 1)


def _nth(rows: Any, at: int) -> dict[str, Any]:
    found = rows[at] if isinstance(rows, list) and len(rows) > at else None
    return found if isinstance(found, dict) else {}
