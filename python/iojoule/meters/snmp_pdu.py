"""A power distribution unit over SNMP: power and energy of the whole or of one outlet, by a table of objects.

What a digit is worth decides what a PDU is good for: the 10 W of an APC's total say nothing of one drive. A reading of
which a digit is more than a tenth is ``under_range``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import RawLog, Reading, Reconnect, Retry
from iojoule.meters.managed import Managed, ManagedConfig, register, secret
from iojoule.meters.snmp_link import Credentials, PysnmpLink, SnmpLink, Value
from iojoule.meters.snmp_oids import FACTORS, MODULUS, SENTINELS, TABLES, UNITS, Model, Oid
from iojoule.quantities import Seconds

DESCRIPTION = "1.3.6.1.2.1.1.1.0"
NUMBER = Annotated[str, Field(pattern=r"^\.?\d+(\.\d+)+$")]


class OidNote(BaseModel):
    """One object of a PDU that no table has."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    oid: NUMBER = Field(description="The object, with its instance.")
    unit: str = Field(description="What a count is, times scale: " + ", ".join(FACTORS) + ".")
    scale: float = Field(default=1.0, gt=0, description="Units per count: 0.01 for hundredths.")
    modulus: int = Field(default=MODULUS, gt=1, description="Where an energy register starts again, in counts.")
    contains: tuple[str, ...] = Field(default=(), description="Channels whose energy is inside this one's.")

    @model_validator(mode="after")
    def _unit_is_known(self) -> Self:
        if self.unit not in FACTORS:
            raise ValueError(f"unit {self.unit!r}: there are {', '.join(FACTORS)}")
        return self


class SnmpPduConfig(ManagedConfig):
    kind: Literal["snmp_pdu"] = "snmp_pdu"
    host: str = Field(description="Name or address of the PDU.")
    port: int = Field(default=161, gt=0, lt=65536, description="UDP port of its agent.")
    model: Model | None = Field(default=None, description="Table of objects: apc_rpdu2, raritan, eaton_epdu.")
    unit: int | None = Field(default=None, ge=0, description="Which of several PDUs in a chain; the first.")
    outlet: int | None = Field(default=None, ge=1, description="The outlet; the whole PDU when not given.")
    oids: dict[str, OidNote] = Field(default_factory=dict, description="Objects by channel, in place of a model.")
    community: str = Field(default="public", description="Community of v2c; it stands in the manifest.")
    community_file: Path | None = Field(default=None, description="File whose first line is the community.")
    username: str | None = Field(default=None, description="User of v3; v2c without one.")
    auth: Literal["md5", "sha", "sha224", "sha256", "sha384", "sha512"] = Field(
        default="sha", description="How v3 authenticates."
    )
    auth_file: Path | None = Field(default=None, description="File whose first line is that key.")
    auth_env: str | None = Field(default=None, description="Variable of the environment that holds it.")
    priv: Literal["des", "aes", "aes192", "aes256"] = Field(default="aes", description="How v3 encrypts.")
    priv_file: Path | None = Field(default=None, description="File whose first line is that key.")
    priv_env: str | None = Field(default=None, description="Variable of the environment that holds it.")
    retries: int = Field(default=1, ge=0, le=10, description="How often a question is asked again.")
    interval: Seconds = Field(default=0.5, description="Time between two looks.")
    update: Seconds = Field(default=2.0, description="How often the PDU updates its registers.")

    @model_validator(mode="after")
    def _objects_are_said(self) -> Self:
        if (self.model is None) == (not self.oids):
            raise ValueError("say either model or oids")
        if unknown := {name for note in self.oids.values() for name in note.contains} - self.oids.keys():
            raise ValueError(f"contains names no channel of oids: {', '.join(sorted(unknown))}")
        return self

    def objects(self) -> dict[str, tuple[Oid, tuple[str, ...]]]:
        """By channel: the object, and the channels inside it."""
        if self.model is None:
            return {name: (_noted(note), note.contains) for name, note in self.oids.items()}
        table = TABLES[self.model]
        chosen = table.whole if self.outlet is None else table.outlet
        # Both are of one rail. Power counts in a total: the register of energy takes hours to be as fine.
        inside = tuple(one.quantity for one in chosen if one.quantity == "energy")
        return {one.quantity: (one, inside if one.quantity == "power" else ()) for one in chosen}

    def credentials(self) -> Credentials:
        """With the keys as their files and the environment hold them now; Fatal where one cannot be had."""
        community = secret(self.community_file, None, "community") or self.community
        auth = secret(self.auth_file, self.auth_env, "key of authentication") or ""
        priv = secret(self.priv_file, self.priv_env, "key of privacy") or ""
        return Credentials(community, self.username or "", self.auth, auth, self.priv, priv)


def _noted(note: OidNote) -> Oid:
    quantity, factor = FACTORS[note.unit]
    return Oid(quantity, note.oid.lstrip("."), factor * note.scale, note.modulus)  # type: ignore[arg-type]


class SnmpPdu(Managed):
    """One channel per object: ``power``, ``energy``, ``voltage``, ``current``, or as the section names them."""

    Config: ClassVar[type[SnmpPduConfig]] = SnmpPduConfig

    def __init__(self, config: SnmpPduConfig, raw: RawLog | None = None, link: SnmpLink | None = None) -> None:
        super().__init__(config, raw)
        self.config, self._given = config, link
        self._link: SnmpLink | None = None
        self._oids: list[str] = []
        self._scales: list[float] = []

    def configure(self) -> None:
        config = self.config
        self.forget()
        self._link = self._given or PysnmpLink(
            config.host, config.port, config.credentials(), config.timeout, config.retries, self.raw
        )
        table = TABLES[config.model] if config.model else None
        unit = config.unit if config.unit is not None else table.first if table else 0
        registers, self._oids, self._scales = [], [], []
        for name, (one, inside) in config.objects().items():
            oid, scale = self._settled(one, {"unit": unit, "outlet": config.outlet})
            self._oids.append(oid)
            self._scales.append(scale)
            modulus = one.modulus * scale if one.quantity == "energy" else None
            unit_of = UNITS[one.quantity]
            registers.append(register(config, name, one.quantity, unit_of, scale, modulus=modulus, inside=inside))
        for oid, value in zip(self._oids, self._link.get(self._oids), strict=True):
            if isinstance(value, str) or value in SENTINELS:
                raise self.lacks(f"{oid}: the PDU answers {value}: it has no such value")
        self.has(registers)
        described = self._link.get([DESCRIPTION])[0]
        self.identity = {
            "host": config.host, "description": str(described), "version": "3" if config.username else "2c",
            "objects": dict(zip((one.channel.id for one in self.registers), self._oids, strict=True)),
        }  # fmt: skip

    def _settled(self, one: Oid, where: dict[str, int | None]) -> tuple[str, float]:
        """The object to read, and what a count of it is: after its decimal digits and its sign, where they are told."""
        oid, digits, signed, least = (text.format(**where) for text in (one.oid, one.digits, one.signed, one.least))
        if not digits:
            return oid, one.scale
        told, lowest = self._online.get([digits, least])
        if isinstance(told, str) or not 0 <= told <= 9:
            raise self.lacks(f"{digits}: the PDU answers {told}: it has no such sensor")
        # The signed column is undefined for sensors that go beyond 32 bits; they cannot be negative.
        return signed if isinstance(lowest, int) and lowest < 0 else oid, one.scale * 10.0**-told

    @property
    def _online(self) -> SnmpLink:
        if self._link is None:
            raise Reconnect("not connected")
        return self._link

    def next(self, deadline_ns: int) -> list[Reading]:
        before_ns = clock.now_ns()
        values = self._online.get(self._oids)
        after_ns = clock.now_ns()
        if gone := [f"{oid}: {value}" for oid, value in zip(self._oids, values, strict=True) if isinstance(value, str)]:
            raise Retry(f"the PDU no longer has {', '.join(gone)}")
        shown = [self._scaled(value, scale) for value, scale in zip(values, self._scales, strict=True)]
        return self.seen(before_ns, after_ns, shown)

    @staticmethod
    def _scaled(value: Value, scale: float) -> float | None:
        return None if value in SENTINELS else float(value) * scale

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None
