"""Power of a server as its BMC shows it over Redfish (DMTF DSP0266, schemas DSP2046).

A chassis tells its power in ``EnvironmentMetrics``, older ones in ``Power``. How often the figure is renewed is nowhere
said: the ``IntervalInMin`` of ``PowerMetrics`` is the span of its minimum, maximum and average, not the rate.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import ClockProbe, Fatal, RawLog, Reading, Reconnect, Retry
from iojoule.meters.counter import NEVER_WRAPS_J
from iojoule.meters.http_link import HttpLink, Web
from iojoule.meters.json_body import number, parsed
from iojoule.meters.managed import Managed, ManagedConfig, register, secret
from iojoule.quantities import Seconds

ROOT = "/redfish/v1/"
JOULES_PER_KWH = 3.6e6
#: Where power and energy stand, by resource; the first that has a power wins.
PLACES = (
    ("EnvironmentMetrics", ("PowerWatts", "Reading"), ("EnergykWh", "Reading")),
    ("Power", ("PowerControl", 0, "PowerConsumedWatts"), ()),
)


class RedfishConfig(ManagedConfig):
    kind: Literal["redfish"] = "redfish"
    url: str = Field(pattern=r"^https?://[^/?#@]+/?$", description="https://HOST of the BMC.")
    chassis: str | None = Field(default=None, description="Id of the chassis; needed where several tell a power.")
    username: str | None = Field(default=None, description="Who logs in; without one nobody does.")
    password_file: Path | None = Field(default=None, description="File whose first line is the password.")
    password_env: str | None = Field(default=None, description="Variable of the environment that holds the password.")
    login: Literal["basic", "session"] = Field(default="basic", description="Password in every request, or a session.")
    ca_file: Path | None = Field(default=None, description="Authority that signed the BMC's certificate.")
    verify: bool = Field(default=True, description="Whether the certificate must be good; recorded in the manifest.")
    resolution: float = Field(default=1.0, ge=0, description="Last digit of the power, W.")
    energy_resolution: float = Field(default=1000.0, ge=0, description="Last digit of the energy, J.")
    interval: Seconds = Field(default=0.25, description="Time between two looks.")
    update: Seconds = Field(default=1.0, description="How often the BMC updates its power.")

    @model_validator(mode="after")
    def _password_is_said(self) -> Self:
        if (self.username is None) != (self.password_file is None and self.password_env is None):
            raise ValueError("username and one of password_file, password_env belong together")
        return self


class Redfish(Managed):
    """``power``, and ``energy`` where the chassis counts it."""

    Config: ClassVar[type[RedfishConfig]] = RedfishConfig

    def __init__(self, config: RedfishConfig, raw: RawLog | None = None, link: Web | None = None) -> None:
        super().__init__(config, raw)
        self.config, self._given = config, link
        self._web: Web | None = None
        self._session = ""
        self._resource = ""
        self._paths: tuple[tuple[Any, ...], ...] = ()
        self._stamped: str | None = None

    def configure(self) -> None:
        config = self.config
        self.forget()
        password = secret(config.password_file, config.password_env, "password")
        login = (config.username, password) if config.username and password else None
        verify = str(config.ca_file) if config.ca_file and config.verify else config.verify
        basic = login if config.login == "basic" else None
        self._web = self._given or HttpLink(config.url, config.timeout, self.raw, verify=verify, login=basic)
        root = self._document(ROOT)
        if login and config.login == "session":
            self._open_session(*login)
        found = [(path, *place) for path in self._chassis(root) if (place := self._place(path))]
        if len(found) != 1:
            raise self.lacks(
                f"{len(found)} chassis tell a power: {', '.join(path for path, *_ in found)}; name one in chassis"
            )
        chassis, self._resource, self._paths, document = found[0]
        self._stamped = self._sensor(document)
        counts = len(self._paths) > 1 and not self._stamped
        registers = [register(config, "power", "power", "W", config.resolution, inside=("energy",) * counts)]
        if counts:
            step_j = config.energy_resolution
            registers.append(register(config, "energy", "energy", "J", step_j, modulus=NEVER_WRAPS_J))
        self.has(registers)
        body = self._document(chassis)
        said = {key: body[key] for key in ("Manufacturer", "Model", "SerialNumber") if body.get(key)}
        if isinstance(facts := _at(document, ("PowerControl", 0, "PowerMetrics")), Mapping):
            said["PowerMetrics"] = facts
        trusted = config.verify and config.url.startswith("https")
        self.identity = {
            "url": config.url, "certificate": "verified" if trusted else "not verified",
            "redfish": root.get("RedfishVersion"), "chassis": chassis, "resource": self._resource,
            "sensor": self._stamped, **said,
        }  # fmt: skip

    def _open_session(self, username: str, password: str) -> None:
        reply = self._online.post(f"{ROOT}SessionService/Sessions", {"UserName": username, "Password": password})
        token = reply.headers.get("x-auth-token")
        if reply.status not in (200, 201) or not token:
            raise Fatal(f"the BMC opened no session for {username}: {reply.status}")
        self._session = reply.headers.get("location", "")
        self._online.authorize({"X-Auth-Token": token})

    def _chassis(self, root: Mapping[str, Any]) -> list[str]:
        all_of_them = self._document(str(_at(root, ("Chassis", "@odata.id")) or f"{ROOT}Chassis"))
        paths = [str(member.get("@odata.id")) for member in all_of_them.get("Members", [])]
        wanted = self.config.chassis
        chosen = [path for path in paths if wanted is None or path.rstrip("/").rpartition("/")[2] == wanted]
        if not chosen:
            raise self.lacks(f"no chassis {wanted or ''} (there are: {', '.join(paths) or 'none'})")
        return chosen

    def _place(self, chassis: str) -> tuple[str, tuple[tuple[Any, ...], ...], Mapping[str, Any]] | None:
        """The resource of a chassis that has a power, the ways to its values, and what it holds."""
        body = self._document(chassis)
        for name, power, energy in PLACES:
            path = _at(body, (name, "@odata.id"))
            if not path:
                continue
            document = self._document(str(path))
            if _has(document, power):
                paths = (power, energy) if energy and _has(document, energy) else (power,)
                return str(path), paths, document
        return None

    def _sensor(self, document: Mapping[str, Any]) -> str | None:
        """The sensor behind the power, where it stamps its readings: it is read in place of the metrics."""
        path = _at(document, ("PowerWatts", "DataSourceUri"))
        if not path or "PowerWatts" not in document:
            return None
        sensor = self._document(str(path))
        return str(path) if sensor.get("ReadingTime") and "Reading" in sensor else None

    @property
    def _online(self) -> Web:
        if self._web is None:
            raise Reconnect("not connected")
        return self._web

    def _document(self, path: str) -> dict[str, Any]:
        """A resource. What a person must set right is Fatal, what may pass is not."""
        reply = self._online.get(path)
        if reply.status in (401, 403) and self._session and self.registers:
            raise Reconnect(f"{path}: the session has ended ({reply.status})")
        if reply.status in (401, 403):
            raise Fatal(f"{path}: {reply.status}, the BMC does not let {self.config.username or 'a stranger'} read it")
        if 300 <= reply.status < 400:
            # Not followed: the password would go wherever the answer says.
            raise Fatal(f"{path}: the BMC sends to {reply.headers.get('location')}; write that in url")
        if reply.status == 404:
            raise self.lacks(f"{path}: the BMC has no such resource")
        if reply.status != 200:
            raise Retry(f"{path}: {reply.status}")
        try:
            return parsed(reply.body)
        except ValueError as error:
            raise Retry(f"{path}: {error}") from error

    def next(self, deadline_ns: int) -> list[Reading]:
        before_ns = clock.now_ns()
        document = self._document(self._stamped or self._resource)
        after_ns = clock.now_ns()
        if self._stamped:
            return self.seen(before_ns, after_ns, [number(document.get("Reading"))], document.get("ReadingTime"))
        values = [number(_at(document, path)) for path in self._paths]
        if len(values) > 1 and values[1] is not None:
            values[1] *= JOULES_PER_KWH
        return self.seen(before_ns, after_ns, values)

    def sync(self) -> ClockProbe | None:
        """The BMC's clock from the Date of an answer, where it sends one: a step of 1 s."""
        sent_ns = clock.now_ns()
        reply = self._online.get(ROOT)
        received_ns = clock.now_ns()
        try:
            said = parsedate_to_datetime(reply.headers["date"])
        except (KeyError, ValueError):
            return None
        return ClockProbe(sent_ns, _unix_ns(said), received_ns, 10**9)

    def close(self) -> None:
        if self._web is None:
            return
        try:
            if self._session:
                self._web.delete(self._session)
        except (Reconnect, Fatal):
            pass  # the BMC ends it by itself
        self._web.close()
        self._web, self._session = None, ""


def _at(document: Any, path: tuple[Any, ...]) -> Any:
    """What stands at the end of a path of keys and indices; None where the path ends early."""
    for step in path:
        if isinstance(step, int):
            document = document[step] if isinstance(document, list) and len(document) > step else None
        else:
            document = document.get(step) if isinstance(document, Mapping) else None
    return document


def _has(document: Mapping[str, Any], path: tuple[Any, ...]) -> bool:
    """Whether the property is there at all: a BMC that is starting shows null for a while."""
    return isinstance(holder := _at(document, path[:-1]), Mapping) and path[-1] in holder


def _unix_ns(at: datetime) -> int:
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()) * 10**9
