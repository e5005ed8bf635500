"""Power of a server as its BMC measures it: DCMI Get Power Reading (DCMI 1.5, §6.6.1), 1 W, about once a second.

The answer holds the present power, and the least, greatest and mean of a period that is not ours: only the present one
is a reading. Its time stamp is that of the answer, not of the update, and so tells nothing of it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import ClockProbe, Fatal, RawLog, Reading, Reconnect, Retry
from iojoule.meters.ipmi_link import IpmiLink, IpmitoolLink, PyghmiLink
from iojoule.meters.managed import Managed, ManagedConfig, register, secret
from iojoule.quantities import Seconds

#: (network function, command, data).
POWER_READING = (0x2C, 0x02, bytes([0xDC, 0x01, 0x00, 0x00]))
DEVICE_ID = (0x06, 0x01, b"")
SEL_TIME = (0x0A, 0x48, b"")
ACTIVE = 0x40
#: All bits of the power: no value, or more than 16 bits hold.
FULL = 0xFFFF
#: Completion codes that a later attempt may change: busy, out of resources, time-out.
PASSING = {0xC0: "node busy", 0xC3: "timeout", 0xC4: "out of space", 0xCE: "no response", 0xD0: "not ready"}
REFUSED = {0xC9: "parameter out of range", 0xCC: "invalid data", 0xD4: "insufficient privilege"}
#: What a BMC that starts does not have yet, and another never has.
LACKING = {
    0xC1: "it knows no such command", 0xCB: "no such sensor", 0xD5: "not supported in its present state",
}  # fmt: skip


class IpmiConfig(ManagedConfig):
    kind: Literal["ipmi"] = "ipmi"
    host: str | None = Field(default=None, description="The BMC; the machine's own through ipmitool when not given.")
    port: int = Field(default=623, gt=0, lt=65536, description="UDP port of RMCP+.")
    username: str | None = Field(default=None, description="Who logs in; needed with host.")
    password_file: Path | None = Field(default=None, description="File whose first line is the password.")
    password_env: str | None = Field(default=None, description="Variable of the environment that holds the password.")
    ipmitool: str = Field(default="ipmitool", description="The program, where no host is given.")
    interval: Seconds = Field(default=0.25, description="Time between two looks.")
    update: Seconds = Field(default=1.0, description="How often the BMC updates its power.")

    @model_validator(mode="after")
    def _who_logs_in(self) -> Self:
        said = self.username is not None and (self.password_file is not None or self.password_env is not None)
        if self.host is not None and not said:
            raise ValueError("with host, say username and one of password_file, password_env")
        if self.host is None and (self.username or self.password_file or self.password_env):
            raise ValueError("username and password belong to a host; the machine's own BMC asks for none")
        return self


@dataclass(frozen=True, slots=True)
class Power:
    """What a BMC answers: watts now, and of its statistics over ``period_ms``; ``stamp_s`` is its clock."""

    now_w: int
    least_w: int
    greatest_w: int
    mean_w: int
    stamp_s: int
    period_ms: int
    active: bool

    @property
    def watts(self) -> float | None:
        """The present power; None where nothing is measured."""
        return float(self.now_w) if self.active and self.now_w != FULL else None


def power(answer: bytes) -> Power:
    """Of the bytes after the completion code; Retry where they are not a power reading."""
    if len(answer) < 18 or answer[0] != 0xDC:
        raise Retry(f"DCMI: {answer.hex(' ') or 'nothing'} is no power reading")
    now, least, greatest, mean, stamp, period, state = struct.unpack("<4H2IB", answer[1:18])
    return Power(now, least, greatest, mean, stamp, period, bool(state & ACTIVE))


class Ipmi(Managed):
    """``power``, what the server draws. Whether at the wall or behind its supply, DCMI does not say."""

    Config: ClassVar[type[IpmiConfig]] = IpmiConfig

    def __init__(self, config: IpmiConfig, raw: RawLog | None = None, link: IpmiLink | None = None) -> None:
        super().__init__(config, raw)
        self.config, self._given = config, link
        self._link: IpmiLink | None = None
        self._has_clock = False
        self.last: Power | None = None

    def configure(self) -> None:
        self.forget()
        self._link = self._given or self._real()
        device = self._asked(*DEVICE_ID)
        if len(device) < 11:
            raise Retry(f"IPMI: {device.hex(' ') or 'nothing'} is no device id")
        first = power(self._asked(*POWER_READING))
        self._has_clock = len(self._online.raw(*SEL_TIME)) == 5
        self.has([register(self.config, "power", "power", "W", 1.0)])
        self.identity = {
            "host": self.config.host or "/dev/ipmi0", "ipmi": f"{device[4] & 15}.{device[4] >> 4}",
            "manufacturer": int.from_bytes(device[6:9], "little"), "product": int.from_bytes(device[9:11], "little"),
            "firmware": f"{device[2] & 127}.{device[3]:02x}", "statistics_period_s": first.period_ms / 1000,
        }  # fmt: skip

    def _real(self) -> IpmiLink:
        config = self.config
        if config.host is None:
            return IpmitoolLink(config.ipmitool, config.timeout, self.raw)
        password = secret(config.password_file, config.password_env, "password") or ""
        return PyghmiLink(config.host, config.port, config.username or "", password, config.timeout, self.raw)

    @property
    def _online(self) -> IpmiLink:
        if self._link is None:
            raise Reconnect("not connected")
        return self._link

    def _asked(self, netfn: int, command: int, data: bytes) -> bytes:
        """What follows a good completion code."""
        answer = self._online.raw(netfn, command, data)
        code = answer[0] if answer else 0xFF
        what = f"IPMI 0x{netfn:02x} 0x{command:02x}: the BMC answers 0x{code:02x}"
        if code in REFUSED:
            raise Fatal(f"{what}, {REFUSED[code]}")
        if code in LACKING:
            raise self.lacks(f"{what}, {LACKING[code]}")
        if code:
            raise Retry(f"{what}, {PASSING.get(code, 'an error')}")
        return answer[1:]

    def next(self, deadline_ns: int) -> list[Reading]:
        before_ns = clock.now_ns()
        answer = self._asked(*POWER_READING)
        after_ns = clock.now_ns()
        self.last = power(answer)
        return self.seen(before_ns, after_ns, [self.last.watts])

    def sync(self) -> ClockProbe | None:
        """The clock of the BMC's event log, in whole seconds."""
        if not self._has_clock:
            return None
        sent_ns = clock.now_ns()
        answer = self._asked(*SEL_TIME)
        received_ns = clock.now_ns()
        if len(answer) != 4:
            raise Retry(f"IPMI: {answer.hex(' ') or 'nothing'} is no time")
        return ClockProbe(sent_ns, int.from_bytes(answer, "little") * 10**9, received_ns, 10**9)

    def stop(self) -> dict[str, Any] | None:
        """The BMC's own statistics, over its own period."""
        if self.last is None:
            return super().stop()
        seen = self.last
        return (super().stop() or {}) | {
            "bmc_least_w": seen.least_w, "bmc_greatest_w": seen.greatest_w, "bmc_mean_w": seen.mean_w,
            "bmc_period_s": seen.period_ms / 1000,
        }  # fmt: skip

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None
