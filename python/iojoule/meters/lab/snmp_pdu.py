"""Power distribution units over SNMP: net-snmp's agent on a socket, asking a made PDU for each object."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import which
from typing import Any, ClassVar

from iojoule.meters import clock
from iojoule.meters.lab.bmc import USER, Sensor
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.lines import served_on_tcp
from iojoule.meters.lab.outside import free_udp_port, running
from iojoule.meters.snmp_link import Value
from iojoule.meters.snmp_oids import TABLES, Model
from iojoule.meters.snmp_pdu import DESCRIPTION

COMMUNITY = "public"
AUTH_KEY, PRIV_KEY = "made-auth-key", "made-priv-key"


class LabSnmp:
    """An ``SnmpLink`` straight to a front; each way takes ``way_s``."""

    def __init__(self, front: PduFront, way_s: float = 0.002) -> None:
        self._front, self._way_s = front, way_s

    def get(self, oids: Sequence[str]) -> list[Value]:
        clock.sleep(self._way_s)
        found = [self._front.value(oid, clock.now_ns()) for oid in oids]
        clock.sleep(self._way_s)
        return [("noSuchInstance" if value is None else value[1]) for value in found]

    def close(self) -> None:
        pass


class PduFront(Sensor):
    """What a PDU shows is that of outlet 1, or of the whole."""

    MODEL: ClassVar[Model]
    OUTLET: ClassVar[int | None] = 1

    _port = 161

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        table = TABLES[self.MODEL]
        where = {"unit": table.first, "outlet": self.OUTLET}
        self._objects = {one.oid.format(**where): one for one in (table.whole if self.OUTLET is None else table.outlet)}
        self._digits = {one.digits.format(**where) for one in self._objects.values() if one.digits}

    def section(self) -> dict[str, Any]:
        where = {} if self.OUTLET is None else {"outlet": self.OUTLET}
        return {
            "kind": "snmp_pdu",
            "host": "127.0.0.1",
            "port": self._port,
            "model": self.MODEL,
            **where,
            **self.keys(),
        }

    def link(self) -> LabSnmp:
        return LabSnmp(self)

    def oid(self, quantity: str) -> str:
        """Where a number of that quantity stands."""
        return next(oid for oid, one in self._objects.items() if one.quantity == quantity)

    def value(self, oid: str, now_ns: int) -> tuple[str, int | str] | None:
        """Type and value of an object; None where there is none."""
        if oid == DESCRIPTION:
            return "string", f"made {self.MODEL}"
        if oid in self._digits:
            return "gauge", 0
        if oid not in self._objects:
            return None
        one, watts = self._objects[oid], self.watts(now_ns)
        amount = {"power": watts, "energy": self._joules, "voltage": 230.0, "current": watts / 230.0}[one.quantity]
        count = round(amount / one.scale) if one.quantity != "energy" else int(amount / one.scale) % one.modulus
        return "gauge", count

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        """``get OID`` as ``OID TYPE VALUE``, ``getnext`` likewise."""
        verb, _, oid = line.partition(" ")
        oid = oid.lstrip(".")
        if verb == "getnext":
            later = sorted((o for o in (*self._objects, *self._digits) if _key(o) > _key(oid)), key=_key)
            oid = later[0] if later else ""
        found = self.value(oid, now_ns) if oid else None
        return now_ns, "NONE" if found is None else f".{oid} {found[0]} {found[1]}"

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        program = which("snmpd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if program is None:
            raise OSError("snmpd is missing: apt-get install snmpd")
        self._port = port or free_udp_port()
        with (
            served_on_tcp(self.answer, self.faults) as (_, ours),
            tempfile.TemporaryDirectory(prefix="iojoule-snmpd-") as name,
        ):
            folder = Path(name)
            conf = folder / "snmpd.conf"
            conf.write_text(_conf(self._trees(), ours))
            conf.chmod(0o600)
            # No file or place of the system's own agent.
            own = {"SNMP_PERSISTENT_DIR": name, "SNMPCONFPATH": name, "MIBS": ""}
            command = [program, "-f", "-Lo", "-C", "-c", str(conf), f"udp:127.0.0.1:{self._port}"]
            with running(command, b"NET-SNMP version", own):
                yield f"127.0.0.1:{self._port}"

    def _trees(self) -> set[str]:
        """The branches the agent hands on: as far as all objects of a maker have in common."""
        return {".".join(oid.split(".")[:8]) for oid in (*self._objects, *self._digits)}


def _key(oid: str) -> tuple[int, ...]:
    return tuple(map(int, oid.split(".")))


def _conf(trees: set[str], ours: int) -> str:
    """The agent's configuration: who may read, and the branches it asks the laboratory for."""
    command = f"{sys.executable} -P -m iojoule.meters.lab.snmp_agent {ours}"
    lines = [
        f"rocommunity {COMMUNITY} 127.0.0.1",
        f"createUser {USER} SHA {AUTH_KEY} AES {PRIV_KEY}",
        f"rouser {USER} priv",
        *(f"pass_persist .{tree} {command}" for tree in trees),
    ]
    return "\n".join(lines) + "\n"


class RaritanFront(PduFront):
    ABOUT: ClassVar[str] = "an outlet of a Raritan PX over SNMP, 1 W, updated every 3 s"
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=1.0, update_s=3.0, latency_s=0.3)
    MODEL = "raritan"


class ApcFront(PduFront):
    ABOUT: ClassVar[str] = "a whole APC rack PDU over SNMP, 10 W, updated every 2 s"
    WATTS: ClassVar[tuple[float, float]] = (1000.0, 4000.0)
    MAKE: ClassVar[Make] = Make(rdg_pct=2.0, resolution=10.0, update_s=2.0, latency_s=0.3)
    MODEL = "apc_rpdu2"
    OUTLET = None


class EatonFront(PduFront):
    ABOUT: ClassVar[str] = "an outlet of an Eaton ePDU over SNMP, 1 W, updated every 5 s"
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=1.0, update_s=5.0, latency_s=0.5)
    MODEL = "eaton_epdu"
