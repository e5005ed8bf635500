"""A known constant power, such as a fan or a switch that was measured once: not a measurement of this run.

Its readings are flagged ``modelled``, and it has the uncertainty its author gives.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from iojoule.meters import base, clock
from iojoule.meters.base import Bare, Channel, Description, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.config import MeterConfig


class ConstantConfig(MeterConfig):
    kind: Literal["constant"] = "constant"
    watts: float = Field(description="The power, all the time.")
    # No default: who knows the power knows how well.
    u_w: float = Field(ge=0, description="Its standard uncertainty (k = 1), watts.")
    source: str = Field(default="", description="Where the number is from.")
    role: base.Role = Field(default="other", description="What draws it.")
    drive: str | None = Field(default=None, description="The drive that draws it, for the role drive.")


class Constant(Bare):
    """Channel ``power``."""

    Config: ClassVar[type[ConstantConfig]] = ConstantConfig

    def __init__(self, config: ConstantConfig, raw: RawLog | None = None, link: None = None) -> None:
        self.config, self.raw = config, raw or NoRawLog()
        self.poll_s = config.interval
        self.channel = Channel(
            "power", "power", "W", "modelled", "window_mean", u_abs=config.u_w, role=config.role, drive=config.drive
        )
        self._since_ns: int | None = None

    def configure(self) -> None:
        self._since_ns = None

    def describe(self) -> Description:
        config = self.config
        identity = {"model": "constant", "watts": config.watts, "u_w": config.u_w, "source": config.source}
        return Description(identity, (self.channel,))

    def start(self) -> None:
        self._since_ns = clock.now_ns()

    def next(self, deadline_ns: int) -> list[Reading]:
        if self._since_ns is None:
            raise Reconnect("the constant was not started")
        since_ns, self._since_ns = self._since_ns, clock.now_ns()
        return [read(self.channel, since_ns, self._since_ns, 0, self.config.watts, "modelled")]

    def close(self) -> None:
        self._since_ns = None
