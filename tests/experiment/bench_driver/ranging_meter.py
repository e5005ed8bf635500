"""A meter with ranges that reads its watts from a file: the first while it finds its range and when it is ready, then
the last. It is put into the table of drivers by ``sitecustomize``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from iojoule.meters import clock
from iojoule.meters.base import Bare, Channel, Description, Fatal, RawLog, Reading, read
from iojoule.meters.config import MeterConfig

RANGES_W = (5.0, 20.0, 100.0)
POWER = Channel("power", "power", "W", "ac_wall", "window_mean", u_rel=0.001)


class RangingConfig(MeterConfig):
    kind: Literal["ranging_meter"] = "ranging_meter"
    watts: Path
    range: float | Literal["find"]


class RangingMeter(Bare):
    Config: ClassVar[type[RangingConfig]] = RangingConfig
    RANGES: ClassVar[tuple[str, ...]] = ("range",)

    def __init__(self, config: RangingConfig, raw: RawLog | None = None) -> None:
        self.config, self.poll_s, self.at_ns, self.ready = config, config.interval, 0, False

    @classmethod
    def ranged(cls, config: RangingConfig, peaks: Mapping[str, float]) -> RangingConfig:
        large = [one for one in RANGES_W if one >= 1.1 * peaks["power"]]
        if not large:
            raise Fatal(f"no range is above {peaks['power']:g} W")
        return config.model_copy(update={"range": large[0]})

    def configure(self) -> None:
        pass

    def describe(self) -> Description:
        return Description({"range": self.config.range}, (POWER,))

    def start(self) -> None:
        self.at_ns = clock.now_ns()

    def next(self, deadline_ns: int) -> list[Reading]:
        since_ns, self.at_ns = self.at_ns, clock.now_ns()
        shown = self.config.watts.read_text().split()
        watts = float(shown[-1 if self.ready and self.config.range != "find" else 0])
        self.ready = True
        flags = {"range_changed"} if self.config.range == "find" else set()
        if self.config.range != "find" and watts > self.config.range:
            flags |= {"overload", "invalid"}
        return [read(POWER, since_ns, self.at_ns, 0, watts, *flags)]

    def close(self) -> None:
        pass
