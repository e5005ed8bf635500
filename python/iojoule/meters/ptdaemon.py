"""A power meter behind SPEC's PTDaemon, whose text protocol is read over TCP (``serve.ptdaemon`` has its commands).

The daemon stamps samples with the local time of its machine. Its clock is compared with ours at every sample: just
before one is due, its count of samples is asked for again and again, and the sample was stamped between two answers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from iojoule.meters import base, clock
from iojoule.meters.base import Channel, ClockProbe, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, Retry
from iojoule.meters.clock import ClockMap
from iojoule.meters.config import MeterConfig
from iojoule.meters.ptdaemon_log import GAP, QUANTITIES, UNKNOWN, Sample, parse
from iojoule.meters.ptdaemon_uncertainty import HalfWidth
from iojoule.meters.tcp_line import Line, TcpLine, host_and_port
from iojoule.quantities import Seconds

HELLO = "Hello, PTDaemon here!"
#: Begin to ask so long before a sample is due, and ask so often.
EARLY_S, ASK_S = 0.03, 0.005
#: A stamp further than this from where the clock should be: the clock was set.
STEP_NS = 250_000_000
#: Room above the greatest value seen when ranges are fixed.
HEAD_ROOM = 1.1
#: Fields of the answer to Identify, as SPEC's harness names them.
IDENTITY = (
    "driver", "interval_ms", "watts", "volts", "amps", "pf", "energy", "frequency", "accepted", "version", "os", "mode",
    "accuracy", "ranges", "channels",
)  # fmt: skip


class PtdaemonConfig(MeterConfig):
    kind: Literal["ptdaemon"] = "ptdaemon"
    address: str = Field(description="HOST:PORT of the daemon; its usual port is 8888.")
    voltage_range: float | Literal["find"] | None = Field(
        default=None, description="Volts, or find; as it is if left out."
    )
    current_range: float | Literal["find"] | None = Field(
        default=None, description="Amperes, or find; as it is if left out."
    )
    mark: str = Field(
        default="", pattern=r"^[A-Za-z0-9._-]*$", description="Written on every line of the daemon's log."
    )
    lag: Seconds = Field(default=0.1, ge=0, description="A sample is stamped at most this long after its window's end.")
    u_rel: float | None = Field(
        default=None, gt=0, description="Relative standard uncertainty of power; the daemon's own when left out."
    )
    boundary: base.Boundary = Field(default="ac_wall", description="Where the meter sits.")
    role: base.Role = Field(default="system", description="What it feeds.")
    drive: str | None = Field(default=None, description="The drive it feeds, for the role drive.")
    timeout: Seconds = Field(default=5.0, description="How long an answer may take.")

    _address = field_validator("address")(host_and_port)


class Ptdaemon:
    """Channels ``power``, ``voltage``, ``current`` and ``power_factor`` of the daemon's first channel."""

    Config: ClassVar[type[PtdaemonConfig]] = PtdaemonConfig
    RANGES: ClassVar[tuple[str, ...]] = ("voltage_range", "current_range")
    poll_s = None  # the daemon sets the pace

    def __init__(self, config: PtdaemonConfig, raw: RawLog | None = None, link: Line | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self._line: Line | None = None
        self.identity: dict[str, Any] = {}
        self.map = ClockMap(resolution_ns=1e6)
        self.half_width = HalfWidth()
        self._at: list[float] = []
        self._count = self._read = 0
        self._counted_ns = 0
        self._counts = True
        self._edge_ns = 0
        self._before: tuple[int, int] | None = None
        self._news = ""
        self.sum_j = self.sum_s = 0.0

    @classmethod
    def ranged(cls, config: PtdaemonConfig, peaks: Mapping[str, float]) -> PtdaemonConfig:
        """``config`` with ranges above ``peaks``; the daemon takes the smallest of the meter's that is not below."""
        found = {}
        for key, channel in (("voltage_range", "voltage"), ("current_range", "current")):
            if getattr(config, key) == "find":
                if not peaks.get(channel):
                    raise Fatal(f"no {channel} was read, so no range can be chosen: give {key}")
                found[key] = HEAD_ROOM * abs(peaks[channel])
        return config.model_copy(update=found)

    def configure(self) -> None:
        self._line = self._link or TcpLine(self.config.address, self.config.timeout, None, self.raw)
        if (hello := self._ask("Hello")) != HELLO:
            raise Fatal(f"{self.config.address} says {hello[:60]!r}: this is not PTDaemon")
        words = self._ask("Identify").split(",")
        if len(words) < len(IDENTITY) - 1:
            raise Reconnect(f"Identify: {','.join(words)[:80]!r} has {len(words)} fields")
        said = dict(zip(IDENTITY, words, strict=False))
        if said["mode"] != "mode=power" or said["watts"] != "1":
            raise Fatal(f"{self.config.address} measures no power: {said['driver']}, {said['mode']}")
        self._ask("Stop")  # left running by somebody who died; ranges cannot be set meanwhile
        for which, wanted in (("V", self.config.voltage_range), ("A", self.config.current_range)):
            if wanted is not None:
                self._set_range(which, wanted)
        self.identity = said | {"confirmed": dict(zip(("a_auto", "a", "v_auto", "v"), self._ranges(), strict=True))}
        self._at = []

    def _set_range(self, which: str, wanted: float | Literal["find"]) -> None:
        command = f"SR,{which},{'Auto' if wanted == 'find' else f'{wanted:g}'}"
        if (said := self._ask(command)) != f"Range {which} changed":
            raise Fatal(f"{command} was not taken: the daemon says {said[:80]!r}")
        at = 0 if which == "A" else 2
        auto, now = self._ranges()[at : at + 2]
        if auto == -1 and now == -1:
            return  # a meter that cannot tell its ranges
        # Where a meter has no such range, the daemon takes the next above.
        if (wanted == "find") != (auto == 1) or (wanted != "find" and now < wanted * (1 - 1e-6)):
            raise Fatal(f"{command} was not taken: the daemon says automatic {auto:g}, range {now:g}")

    def _ranges(self) -> list[float]:
        """(automatic, range) of amperes, then of volts."""
        said = self._ask("RR")
        head, *words = said.split(",")
        try:
            values = [float(word) for word in words[:4]]
        except ValueError:
            values = []
        if head != "Ranges" or len(values) != 4:
            raise Reconnect(f"RR: {said[:80]!r} are no ranges")
        return values

    def describe(self) -> Description:
        known: dict[str, Any] = {"role": self.config.role, "drive": self.config.drive, "u_rel": self.config.u_rel}
        channels = tuple(
            Channel(
                name, name, unit, self.config.boundary, "window_mean", latency_s=self.config.lag,
                **(known if name == "power" else {}),
            )
            for name, unit in QUANTITIES.values()
        )  # fmt: skip
        return Description({"address": self.config.address} | self.identity, channels)

    def start(self) -> None:
        command = f"Go,{round(self.config.interval * 1000)},0,{self.config.mark or self.config.name}"
        if not (said := self._ask(command)).startswith("Starting untimed measurement"):
            raise Fatal(f"{command}: the daemon says {said[:80]!r}")
        self._count = self._read = 0
        self._counted_ns = self._edge_ns = clock.now_ns()
        self._before, self._counts = None, True
        self.half_width = HalfWidth(fixed=not self._ranging)
        self.sum_j = self.sum_s = 0.0

    def next(self, deadline_ns: int) -> list[Reading]:
        if self._news:
            news, self._news = self._news, ""
            raise Retry(news)
        if self._counts and not self._await_sample(deadline_ns):
            return []
        since_ns, samples = self._unread()
        received_ns = self._edge_ns if self._counts else clock.now_ns()
        if not samples:
            if not self._counts and clock.now_ns() < deadline_ns:
                clock.sleep(ASK_S)  # a daemon that does not wait with its answer
            return []
        self._compare(since_ns, samples[-1], received_ns)
        if self.config.u_rel is None:
            self.half_width.told(self._ask("Uncertainty"), samples)
        moved = self._ranging and self._moved()
        return [reading for sample in samples for reading in self._readings(sample, moved)]

    @property
    def _ranging(self) -> bool:
        return "find" in (self.config.voltage_range, self.config.current_range)

    def _moved(self) -> bool:
        """Whether a range is another than after the sample before."""
        before, self._at = self._at, self._ranges()
        return bool(before) and before != self._at

    def _await_sample(self, deadline_ns: int) -> bool:
        """Ask for the count until it is more than was read; between which two asks that was is kept."""
        clock.sleep_until(min(deadline_ns, self._edge_ns + int((self.config.interval - EARLY_S) * 1e9)))
        while True:
            sent_ns = clock.now_ns()
            said = self._ask("Watts").split(",")
            if said[0] == "Watts" and len(said) >= 5 and said[4].isdigit():
                count = int(said[4])
            elif said[0].startswith(("No", "Error")):
                count = 0
            else:
                self._counts = False  # then RL alone says that there is something new
                return True
            if count > self._read:
                self._count, self._edge_ns = count, clock.now_ns()
                return True
            self._counted_ns = sent_ns
            if clock.now_ns() >= deadline_ns:
                return False
            clock.sleep(ASK_S)

    def _unread(self) -> tuple[int, list[Sample]]:
        """Since when none was unread, and the samples that are now."""
        since_ns, sent_ns = self._counted_ns, clock.now_ns()
        said = self._ask("RL", self.config.interval)
        words = said.split()
        if said.startswith(("No unread", "Insufficient unread", "No data")):
            self._counted_ns = sent_ns
            return since_ns, []
        if len(words) != 3 or words[0] != "Last" or not words[1].isdigit():
            raise Reconnect(f"RL: {said[:80]!r} says no number of samples")
        samples = []
        for _ in range(int(words[1])):
            line = self._line_within(self.config.timeout)
            try:
                sample = parse(line)
            except ValueError as error:
                raise Reconnect(f"RL: {error}") from error
            # A line that was cut can look whole: every value the meter is said to have must be there.
            if missing := [
                name for name in QUANTITIES if self.identity[name.lower()] == "1" and name not in sample.values
            ]:
                raise Reconnect(f"RL: {line[:80]!r} has no {missing[0]}")
            samples.append(sample)
        self._read += len(samples)
        self._counted_ns = sent_ns
        stamps = [self._before[0] if self._before else -1, *(sample.stamp_ns for sample in samples)]
        if any(b == a for a, b in pairwise(stamps)):
            raise Reconnect("RL: the same sample came twice")
        return since_ns, samples

    def _compare(self, since_ns: int, sample: Sample, received_ns: int) -> None:
        """The newest sample was stamped between two looks; where that cannot be, the clock was set."""
        probe = ClockProbe(since_ns, sample.stamp_ns, received_ns)
        if self.map.probes:
            off_ns = self.map.host_ns(sample.stamp_ns)[0] - (since_ns + received_ns) // 2
            if abs(off_ns) > STEP_NS + (received_ns - since_ns) // 2:
                self._news = f"the clock of {self.config.address} was set by {off_ns * 1e-9:+.3f} s"
                self.map, self._before = ClockMap(resolution_ns=1e6), None
        self.map.add(probe)

    def _readings(self, sample: Sample, moved: bool = False) -> list[Reading]:
        config = self.config
        stamped_ns, u_ns = self.map.host_ns(sample.stamp_ns)
        end_ns = stamped_ns - int(config.lag * 0.5e9)
        u_time_ns = math.ceil(math.hypot(u_ns, config.lag * 1e9 / math.sqrt(12)))
        start_ns = end_ns - int(config.interval * 1e9)
        if self._before and 0 < sample.stamp_ns - self._before[0] <= GAP * config.interval * 1e9:
            start_ns = min(self._before[1], end_ns)  # a sample reaches back to the one before
        self._before = (sample.stamp_ns, end_ns)
        found = []
        for name, (quantity, unit) in QUANTITIES.items():
            value = sample.values.get(name, UNKNOWN)
            invalid = value == UNKNOWN
            u = math.nan
            if quantity == "power" and not invalid:
                u = self.half_width.u(value) if config.u_rel is None else config.u_rel * abs(value)
            flags = frozenset(({"sentinel", "invalid"} if invalid else set()) | ({"range_changed"} if moved else set()))
            found.append(
                Reading(quantity, quantity, unit, start_ns, end_ns, u_time_ns, math.nan if invalid else value, u, flags)
            )
            if quantity == "power" and not invalid:
                self.sum_j += value * (end_ns - start_ns) * 1e-9
                self.sum_s += (end_ns - start_ns) * 1e-9
        return found

    def sync(self) -> ClockProbe | None:
        """The last probe: one is made with every sample, and none can be made without."""
        return self.map.probes[-1] if self.map.probes else None

    def stop(self) -> dict[str, Any] | None:
        """The daemon's own mean of all samples, as the energy of the time they cover; and how its clock ran."""
        said = self._ask("Watts").split(",")
        self._ask("Stop")
        final: dict[str, Any] = {"readings_j": self.sum_j, "covered_s": self.sum_s, "integrated_s": self.sum_s}
        if (
            said[0] == "Watts"
            and len(said) > 4
            and said[4] == str(self._read)
            and self.sum_s
            and float(said[1]) != UNKNOWN
        ):
            final |= {
                "meter_j": float(said[1]) * self.sum_s,
                "meter_w": float(said[1]),
                "readings_w": self.sum_j / self.sum_s,
            }
        if self.map.probes:
            final["clock"] = self.map.describe()
        return final

    def _ask(self, command: str, longer_s: float = 0.0) -> str:
        if self._line is None:
            raise Reconnect("not connected")
        if unasked := self._line.unasked():
            raise Reconnect(f"the daemon said {unasked[:60]!r} unasked")
        self._line.send(command.encode("ascii") + b"\r\n")
        return self._line_within(self.config.timeout + longer_s, command)

    def _line_within(self, seconds: float, command: str = "RL") -> str:
        if self._line is None:
            raise Reconnect("not connected")
        line = self._line.line(clock.now_ns() + int(seconds * 1e9))
        if line is None:
            raise Reconnect(f"{command}: no whole answer within {seconds:g} s")
        return line.decode("ascii", errors="replace").strip("\r\n ")

    def close(self) -> None:
        if self._line:
            self._line.close()
        self._line = None
