"""The BMC of a server over IPMI: DCMI power readings of a made server, served through RMCP+ by pyghmi."""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from iojoule.meters import clock
from iojoule.meters.ipmi import ACTIVE, DEVICE_ID, POWER_READING, SEL_TIME
from iojoule.meters.lab.bmc import USER, Sensor
from iojoule.meters.lab.lines import served_on_tcp
from iojoule.meters.lab.outside import free_udp_port, running

PASSWORD_VARIABLE = "IOJOULE_LAB_BMC_PASSWORD"
"""Where a reader of the made BMC finds its password."""
DEVICE = bytes([0x20, 0x81, 0x01, 0x23, 0x02, 0x00]) + (4242).to_bytes(3, "little") + (17).to_bytes(2, "little")
UNKNOWN_COMMAND = b"\xc1"


class LabIpmi:
    """An ``IpmiLink`` straight to a front; each way takes ``way_s``."""

    def __init__(self, front: IpmiFront, way_s: float = 0.002) -> None:
        self._front, self._way_s = front, way_s

    def raw(self, netfn: int, command: int, data: bytes = b"") -> bytes:
        clock.sleep(self._way_s)
        answer = self._front.reply(netfn, command, data, clock.now_ns())
        clock.sleep(self._way_s)
        return answer

    def close(self) -> None:
        pass


class IpmiFront(Sensor):
    ABOUT: ClassVar[str] = "a server's BMC over IPMI (DCMI), 1 W, updated every second"

    _port = 623

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._least, self._greatest = 0xFFFE, 0

    def section(self) -> dict[str, Any]:
        login = {"username": USER, "password_env": PASSWORD_VARIABLE}
        return {"kind": "ipmi", "host": "127.0.0.1", "port": self._port, **login, **self.keys()}

    def link(self) -> LabIpmi:
        return LabIpmi(self)

    def reply(self, netfn: int, command: int, data: bytes, now_ns: int) -> bytes:
        """Completion code and answer."""
        match netfn, command, data:
            case _ if (netfn, command, data) == POWER_READING:
                return b"\0\xdc" + self._power(now_ns)
            case _ if (netfn, command) == DEVICE_ID[:2]:
                return b"\0" + DEVICE
            case _ if (netfn, command) == SEL_TIME[:2]:
                return b"\0" + struct.pack("<I", self.utc_s(now_ns))
        return UNKNOWN_COMMAND

    def _power(self, now_ns: int) -> bytes:
        watts = round(self.watts(now_ns))
        self._least, self._greatest = min(self._least, watts), max(self._greatest, watts)
        return struct.pack("<4H2IB", watts, self._least, self._greatest, watts, self.utc_s(now_ns), 1_000_000, ACTIVE)

    def answer(self, line: str, now_ns: int) -> tuple[int, str | None]:
        """``raw NETFN COMMAND DATA`` in hex as a completion code and what follows, in hex."""
        _, netfn, command, *data = line.split(" ")
        return now_ns, self.reply(int(netfn, 16), int(command, 16), bytes.fromhex("".join(data)), now_ns).hex()

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        self._port = port or free_udp_port()
        with served_on_tcp(self.answer, self.faults) as (_, ours):
            agent = [sys.executable, "-P", "-m", "iojoule.meters.lab.ipmi_agent", str(self._port), str(ours)]
            with running(agent, b"ready"):
                yield f"127.0.0.1:{self._port}"
