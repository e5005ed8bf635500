"""Quarch power modules (PPM, HD PPM, PAM) through QIS, Quarch's instrument server, which is spoken to in text over TCP.

Commands and answers as in Quarch's published application note AN-012 (QisInterface): lines end with CR LF, an answer
with the prompt ``>``. A stripe holds voltage and current of each rail, averaged by the module over a power of two of
samples at 250 kS/s; its number is the module's clock.
"""

from __future__ import annotations

import contextlib
import math
import re
import socket
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field, field_validator

from iojoule.meters import base, clock
from iojoule.meters.base import Channel, ClockProbe, Description, Fatal, NoRawLog, RawLog, Reading, Reconnect, read
from iojoule.meters.config import MeterConfig
from iojoule.quantities import Seconds

SAMPLES_PER_S = 250_000
#: Averagings as the module spells them, and how many samples each is.
AVERAGINGS: dict[str, int] = {
    "0": 1,
    **{str(2**n): 2**n for n in range(1, 10)},
    **{f"{2**n}k": 2 ** (n + 10) for n in range(6)},
}
#: Columns of a stripe by the bit of the header's format, in the order they are sent.
COLUMNS = ((3, "5v", "V"), (2, "5v", "A"), (1, "12v", "V"), (0, "12v", "A"))
_STRIPES_AT_ONCE = 4096


class QuarchConfig(MeterConfig):
    kind: Literal["quarch"] = "quarch"
    module: str = Field(description='The module as QIS lists it, such as "tcp::qtl1995-01-012".')
    host: str = Field(default="127.0.0.1", description="Where QIS runs.")
    port: int = Field(default=9722, ge=1, le=65535, description="Port of QIS.")
    averaging: str = Field(default="16k", description="Samples averaged into a stripe: 0, 2, 4 ... 512, 1k ... 32k.")
    volt_unit: float = Field(default=1e-3, gt=0, description="Volts of one unit in a stripe.")
    ampere_unit: float = Field(default=1e-6, gt=0, description="Amperes of one unit in a stripe.")
    u_rel: float | None = Field(
        default=None, gt=0, le=1, description="Relative standard uncertainty of a rail's power."
    )
    u_abs: float | None = Field(default=None, ge=0, description="Absolute standard uncertainty of a rail's power, W.")
    latency: Seconds = Field(default=0.1, description="The longest a stripe is on its way from the module to QIS.")
    role: base.Role = Field(default="drive", description="What the rails feed.")
    drive: str | None = Field(default=None, description="The drive they feed.")
    timeout: Seconds = Field(default=5.0, description="How long an answer may take.")

    @field_validator("averaging")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in AVERAGINGS:
            raise ValueError(f"averaging {value}: the modules know {', '.join(AVERAGINGS)}")
        return value

    @property
    def stripe_s(self) -> float:
        """Seconds of one stripe."""
        return AVERAGINGS[self.averaging] / SAMPLES_PER_S


class Link(Protocol):
    """A conversation with QIS: a line out, everything up to the prompt back."""

    def ask(self, command: str) -> str: ...
    def close(self) -> None: ...


class QisLink:
    """On a socket. What comes after a timeout could be the answer to anything, so the connection ends there."""

    def __init__(self, host: str, port: int, timeout_s: float, raw: RawLog) -> None:
        self._raw = raw
        try:
            self._socket = socket.create_connection((host, port), timeout_s)
        except OSError as error:
            raise Reconnect(f"no QIS at {host}:{port}: {error.strerror or error}") from error
        self._hear()  # the welcome

    def ask(self, command: str) -> str:
        line = f"{command}\r\n".encode()
        self._raw.sent(line)
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise Reconnect(f"{command}: not sent: {error.strerror or error}") from error
        return self._hear() or self._hear()  # a bare prompt comes before the answer now and then

    def _hear(self) -> str:
        data = b""
        while not data.endswith(b">"):
            try:
                part = self._socket.recv(1 << 16)
            except TimeoutError:
                raise Reconnect(f"QIS did not answer; it said {data[-40:]!r} so far") from None
            except OSError as error:
                raise Reconnect(f"QIS: {error.strerror or error}") from error
            if not part:
                raise Reconnect("QIS hung up")
            data += part
        self._raw.received(data)
        return data[:-1].decode("ascii", errors="replace").strip()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()


class Quarch:
    """A channel of power for each rail, and their sum ``total``: Σ V·I, rail by rail."""

    Config: ClassVar[type[QuarchConfig]] = QuarchConfig

    def __init__(self, config: QuarchConfig, raw: RawLog | None = None, link: Link | None = None) -> None:
        self.config, self.raw, self._given = config, raw or NoRawLog(), link
        self.poll_s = max(config.interval, config.stripe_s)
        self.link: Link | None = None
        self.identity: dict[str, Any] = {}
        self.columns: list[tuple[str, str]] = []
        self.channels: list[Channel] = []
        self._begin(())

    def _begin(self, columns: tuple[tuple[str, str], ...]) -> None:
        self.columns = list(columns)
        self.clock = clock.ClockMap(resolution_ns=self.config.stripe_s * 1e9)
        self.taken, self.ended, self.read_out = 0, "", False

    def _ask(self, command: str) -> str:
        if self.link is None:
            raise Reconnect("not connected")
        return self.link.ask(f"{self.config.module} {command}")

    def configure(self) -> None:
        config = self.config
        self.link = self._given or QisLink(config.host, config.port, config.timeout, self.raw)
        who = self._ask("*idn?")
        if "invalid" in who.lower() or "not found" in who.lower():
            raise Fatal(f"QIS knows no module {config.module}: {who}")
        self._ask("rec stop")  # left running by a run that died
        for command in ("record:trigger:mode manual", f"record:averaging {config.averaging}"):
            if (said := self._ask(command)).upper() != "OK":
                raise Fatal(f"{command} was not taken: {said}")
        confirmed = self._ask("record:averaging?")
        if confirmed.lower() != config.averaging:
            raise Fatal(f"record:averaging {config.averaging} was not taken: the module says {confirmed}")
        self.identity = {"module": config.module, "idn": who, "confirmed": {"record:averaging": confirmed}}
        self._stream()

    def _stream(self) -> None:
        """Begin to stream; the header says which rails there are and what is averaged."""
        if (said := self._ask("rec stream")).upper() != "OK":
            raise Reconnect(f"rec stream: {said}")
        header = self._ask("stream text header")
        fields = dict(re.findall(r"^(\w+): *(-?\d+)\s*$", header, re.M))
        if not {"Version", "Format", "Average"} <= fields.keys():
            raise Reconnect(f"stream text header: {header[:80]!r} holds no version, format and average")
        if 2 ** int(fields["Average"]) != AVERAGINGS[self.config.averaging]:
            raise Fatal(f"the stream averages 2^{fields['Average']} samples, not {self.config.averaging}")
        columns = tuple((rail, unit) for bit, rail, unit in COLUMNS if int(fields["Format"]) >> bit & 1)
        self._begin(columns)
        rails = [rail for rail, unit in columns if unit == "V" and (rail, "A") in columns]
        if not rails:
            raise Fatal("the module streams no rail with both voltage and current")
        self.identity["stream"] = {"version": fields["Version"], "rails": rails}
        u_rel, u_abs = self.config.u_rel, self.config.u_abs
        known: dict[str, Any] = {"role": self.config.role, "drive": self.config.drive, "u_rel": u_rel}
        known |= {"min_interval_s": self.config.stripe_s, "latency_s": self.config.latency}
        self.channels = [
            Channel(f"power_{rail}", "power", "W", "dc_rail", "window_mean", u_abs=u_abs, **known) for rail in rails
        ]
        if len(rails) > 1:
            inside = tuple(channel.id for channel in self.channels)
            total_abs = None if u_abs is None else u_abs * len(rails)
            self.channels.append(
                Channel("total", "power", "W", "dc_rail", "window_mean", u_abs=total_abs, contains=inside, **known)
            )

    def describe(self) -> Description:
        return Description(self.identity, tuple(self.channels))

    def start(self) -> None:
        """It streams already; what was streamed before now is thrown away by nobody."""

    def sync(self) -> ClockProbe | None:
        """How many stripes the module has made: its clock, in steps of a stripe."""
        sent_ns = clock.now_ns()
        said = self._ask("stream?")
        received_ns = clock.now_ns()
        status, _, rest = said.partition("\n")
        if not (waiting := re.search(r"Stripes Buffered: *(\d+)", rest)):
            raise Reconnect(f"stream?: {said[:80]!r} does not say what is buffered")
        if not status.strip().lower().startswith("running"):
            self.ended = status.strip() or "no status"
        made = self.taken + int(waiting[1])
        return self.clock.add(ClockProbe(sent_ns, round(made * self.config.stripe_s * 1e9), received_ns))

    def next(self, deadline_ns: int) -> list[Reading]:
        """The stripes made since the last call. After an overrun what is left is read, and the stream made anew."""
        if self.read_out:
            raise Reconnect(f"the stream ended: {self.ended}")
        if not self.ended:
            self.sync()
        readings: list[Reading] = []
        while True:
            lines = self._ask(f"stream text {_STRIPES_AT_ONCE}").splitlines()
            stripes = [line for line in map(str.strip, lines) if line and line != "eof"]
            for line in stripes:
                readings += self._stripe(line)
            self.read_out = bool(self.ended) and len(stripes) < _STRIPES_AT_ONCE
            if len(stripes) < _STRIPES_AT_ONCE or clock.now_ns() > deadline_ns:
                return readings

    def _stripe(self, line: str) -> list[Reading]:
        words = line.replace(",", " ").split()
        try:
            number, values = int(words[0]), [float(word) for word in words[2:]]
        except (ValueError, IndexError):
            values = []
        if len(values) != len(self.columns):
            raise Reconnect(f"stripe {line[:80]!r} does not hold {len(self.columns)} values")
        self.taken = max(self.taken, number + 1)
        units = {"V": self.config.volt_unit, "A": self.config.ampere_unit}
        seen = {column: value * units[column[1]] for column, value in zip(self.columns, values, strict=True)}
        end_ns, u_ns = self.clock.host_ns(round((number + 1) * self.config.stripe_s * 1e9))
        # The count is QIS's: a stripe was made up to the latency before it was counted.
        end_ns -= round(self.config.latency / 2 * 1e9)
        u_time_ns = round(math.hypot(u_ns, self.config.latency * 1e9 / math.sqrt(12)))
        window = (end_ns - round(self.config.stripe_s * 1e9), end_ns, u_time_ns)
        watts = {
            f"power_{rail}": seen[rail, "V"] * seen[rail, "A"]
            for rail, unit in seen
            if unit == "V" and (rail, "A") in seen
        }
        watts["total"] = sum(watts.values())
        return [read(channel, *window, watts[channel.id]) for channel in self.channels]

    def stop(self) -> dict[str, Any] | None:
        self._ask("rec stop")
        return None

    def close(self) -> None:
        if self.link:
            self.link.close()
        self.link = None
