"""One meter of another machine, read through ``iojoule meter serve`` as if it hung on this one.

Windows come in the server's time and leave in this host's, through a clock map of bracketed probes. Every reading has
a number on the server, which keeps it on disk: after a cut line, or a restart at either end, what was missed comes
later, none twice. Protocol: ``iojoule.meters.serve.protocol``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from iojoule.meters import clock, wire
from iojoule.meters.base import (
    Channel,
    ClockProbe,
    Description,
    Fatal,
    NoRawLog,
    Rail,
    RawLog,
    Reading,
    Reconnect,
    Retry,
)
from iojoule.meters.clock import ClockMap, best
from iojoule.meters.config import MeterConfig
from iojoule.meters.serve import protocol
from iojoule.meters.serve.credentials import CredentialError, tls, token
from iojoule.meters.serve.protocol import ProtocolError
from iojoule.meters.tcp_line import Line, TcpLine, host_and_port
from iojoule.quantities import Seconds

#: Seconds of silence after which the line is taken for dead; the server speaks every two.
SILENCE_S = 10.0
#: Reads of the server's clock in one ``sync``; the quickest bounds it best.
PROBES = 4
_LISTEN_NS = 100_000_000
#: Windows of two lives of a server that are further apart than this have something missing between them.
_SEAM_NS = 1_000_000


class RemoteConfig(MeterConfig):
    kind: Literal["remote"] = "remote"
    address: str = Field(description="HOST:PORT of the server.")
    meter: str = Field(default="", description="Name of the meter there; of this section when not given.")
    token_file: Path | None = Field(default=None, description="File with the token both ends know.")
    tls_ca: Path | None = Field(default=None, description="Authority that signed the server's certificate.")
    tls_cert: Path | None = Field(default=None, description="Certificate to show to the server.")
    tls_key: Path | None = Field(default=None, description="Key of that certificate.")
    timeout: Seconds = Field(default=5.0, description="How long the server may take to answer.")

    _address = field_validator("address")(host_and_port)

    @property
    def far(self) -> str:
        """Name of the meter on the server."""
        return self.meter or self.name


class Remote:
    """The channels of the far meter, with its accuracy, flags and windows."""

    Config: ClassVar[type[RemoteConfig]] = RemoteConfig
    poll_s = None  # readings come when the server has them
    #: The server keeps what comes while the line is cut: an interruption alone is no gap.
    keeps: ClassVar[bool] = True

    def __init__(self, config: RemoteConfig, raw: RawLog | None = None, link: Line | None = None) -> None:
        self.config, self.raw, self._link = config, raw or NoRawLog(), link
        self._line: Line | None = None
        self.document: dict[str, Any] = {}
        self.maps: dict[str, ClockMap] = {}
        self.clock_id = ""
        #: (epoch, seq) of the last reading that came, and of the last that was handed on.
        self.position: tuple[str, int] | None = None
        self._handed: tuple[str, int] | None = None
        self._acknowledged: tuple[str, int] | None = None
        self._pending: list[Reading] = []
        self._trouble = ""
        self._news: list[str] = []
        self._ends: dict[str, tuple[str, int]] = {}
        self._gap: set[str] = set()
        self._since: dict[str, int] = {}
        self._heard_ns = 0
        self._asked = 0
        self.received = self.lost = self.connections = 0

    def resume(self, after: Mapping[str, tuple[int, int]]) -> None:
        """Go on for a process that died: ``after`` is channel → (number, end in host time) of what it handed on."""
        self._since = {channel: int(end_ns) for channel, (_, end_ns) in after.items()}

    def configure(self) -> None:
        config = self.config
        try:
            secret = token(config.token_file)
            context = tls(config.tls_cert, config.tls_key, config.tls_ca, server=False)
        except CredentialError as error:
            raise Fatal(str(error)) from error
        self._line = self._link or TcpLine(config.address, config.timeout, context, self.raw)
        self._heard_ns = clock.now_ns()
        try:
            greeting = self._answer("iojoule_meters")
        except Reconnect as error:
            if config.tls_cert:
                raise
            # A server of TLS says nothing to a client of none, and hangs up on one that shows no certificate.
            wanted = "a certificate (tls_cert, tls_key)" if context else "TLS (tls_ca)"
            raise Reconnect(f"{error}; its server may ask for {wanted}") from error
        if greeting["iojoule_meters"] != protocol.VERSION:
            raise Fatal(f"{config.address} speaks version {greeting['iojoule_meters']} of the protocol, not 1")
        if greeting.get("token") and secret is None:
            raise Fatal(f"{config.address} asks for a token: give token_file")
        ours, theirs = protocol.nonce(), str(greeting.get("nonce"))
        # A client with a token talks only to a server that knows it too.
        answer = protocol.proof(secret, "client", theirs, ours) if secret else None
        self._say(hello=protocol.VERSION, nonce=ours, proof=answer)
        welcome = self._answer("hello")
        if secret and not protocol.proves(welcome.get("proof"), secret, "server", theirs, ours):
            raise Fatal(f"{config.address} does not know the token")
        try:
            self._choose(welcome["meters"])
            self.describe()
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Reconnect(f"{config.address} describes no meter: {error!r}") from error
        self.connections += 1

    def _choose(self, meters: list[dict[str, Any]]) -> None:
        config = self.config
        named = {str(document["name"]): document for document in meters}
        if config.far not in named:
            raise Fatal(f"{config.address} has no meter {config.far!r} (it has: {', '.join(named)}); set meter")
        self.document = named[config.far]
        if not self.document["channels"]:
            raise Reconnect(f"the meter {config.far!r} of {config.address} is not there yet")
        interval_s = float(self.document["interval_s"])
        if abs(interval_s - config.interval) > 1e-6 * interval_s:
            raise Fatal(
                f'{config.far!r} of {config.address} reads every {interval_s:g} s: write interval = "{interval_s:g}s"'
            )

    def describe(self) -> Description:
        far = self.document
        known = {field.name for field in fields(Channel)}
        told: list[dict[str, Any]] = [{key: one[key] for key in known & one.keys()} for one in far["channels"]]
        channels = tuple(Channel(**one | {"contains": tuple(one["contains"])}) for one in told)
        identity = {"server": self.config.address, "meter": far["name"], "driver": far["driver"]}
        rails = tuple(Rail.of(one) for one in far.get("rails", ()))
        return Description(identity | far["identity"], channels, rails)

    def start(self) -> None:
        self.sync()
        since = None
        if self.position is None and self._since:
            # On the server's clock, and half a window earlier: a clock map is not exact, and what is here is left out.
            at_ns = min(self._since.values()) - int(self.config.interval * 0.5e9)
            since = [self.clock_id, self._far_ns(at_ns)]
        self._say(subscribe=self.config.far, after=self.position, since=since)
        answer = self._answer("subscribed")
        if self.position is None:
            epoch, seq = answer["after"]
            self.position = (str(epoch), int(seq))

    def _far_ns(self, host_ns: int) -> int:
        """The server's clock at a host time."""
        far, at_ns = self.maps[self.clock_id], host_ns
        for _ in range(3):
            at_ns += host_ns - far.host_ns(at_ns)[0]
        return at_ns

    def sync(self) -> ClockProbe | None:
        """The best of a few probes of the server's clock."""
        probes = []
        for _ in range(PROBES):
            self._asked += 1
            sent_ns = clock.now_ns()
            self._say(time=self._asked)
            answer = self._answer("time")
            received_ns = clock.now_ns()
            if answer["time"] != self._asked:
                raise Reconnect("the server answers another question")
            self.clock_id = str(answer["clock"])
            probes.append(ClockProbe(sent_ns, int(answer["ns"]), received_ns))
        return self.maps.setdefault(self.clock_id, ClockMap()).add(probes[best(probes)])

    def next(self, deadline_ns: int) -> list[Reading]:
        self._acknowledge()
        while not self._pending and not self._news and clock.now_ns() < deadline_ns:
            line = self._hear(deadline_ns)
            if line is not None:
                self._take(line)
        while not self._news and (line := self._hear(clock.now_ns())) is not None:
            self._take(line)  # what has come already goes in one batch
        if self._pending:
            readings, self._pending = self._pending, []
            self._handed = self.position
            self.received += len(readings)
            return readings
        if self._news:
            raise Retry("; ".join(self._news.pop(0) for _ in range(len(self._news))))
        if self._trouble:
            raise Retry(self._trouble)
        return []

    def _acknowledge(self) -> None:
        """Whoever asks for more has what was handed on."""
        if self._handed and self._handed != self._acknowledged:
            self._say(have=list(self._handed))
            self._acknowledged = self._handed

    def _take(self, said: dict[str, Any]) -> None:
        """Something the server said by itself."""
        try:
            self._told(said)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Reconnect(f"{self.config.address} says {str(said)[:80]}: {error!r}") from error

    def _told(self, said: dict[str, Any]) -> None:
        if "rows" in said:
            self._rows(said["rows"], str(said["epoch"]), str(said["clock"]))
        elif "lost" in said:
            self._missed(int(said["lost"]), str(said["why"]))
        elif "describe" in said:
            before = self.document
            self.document = said["describe"]
            if before["channels"] != self.document["channels"]:
                raise Reconnect(f"{self.config.far} of {self.config.address} was set anew")
        elif "event" in said:
            text = f"{self.config.far} of {self.config.address}: {said['text']}"
            if said["event"] == "warning":
                self._news.append(text)
            else:
                self._trouble = "" if said["event"] == "back" else text
        elif "refused" in said:
            raise Fatal(f"{self.config.address}: {said['refused']}")
        elif "beat" not in said:
            raise Reconnect(f"the server says {sorted(said)!r}, which is no part of the protocol")

    def _missed(self, count: int, why: str) -> None:
        self.lost += count
        self._gap = {str(channel["id"]) for channel in self.document["channels"]}
        self._news.append(f"{count} readings are lost: {why}")

    def _rows(self, rows: list[list[Any]], epoch: str, clock_id: str) -> None:
        far = self.maps.get(clock_id)
        if far is None:
            # Of a boot of the server whose clock was never compared with ours.
            self._missed(len(rows), "they are of before the server's machine started, and nothing tells when that was")
            self.position = (epoch, int(rows[-1][0]))
            return
        for seq, *row in rows:
            if self.position is not None and epoch == self.position[0] and seq <= self.position[1]:
                continue  # come twice
            if (placed := self._placed(wire.reading(row), far, clock_id)) is not None:
                self._pending.append(placed)
            self.position = (epoch, int(seq))

    def _placed(self, reading: Reading, far: ClockMap, clock_id: str) -> Reading | None:
        """The reading in host time; None where the process that died had handed it on."""
        start_ns, _ = far.host_ns(reading.start_ns)
        end_ns, u_ns = far.host_ns(reading.end_ns)
        handed_ns = self._since.get(reading.channel)
        if handed_ns is not None:
            middle_ns = (start_ns + end_ns) // 2 if end_ns > start_ns else end_ns - int(self.config.interval * 0.5e9)
            if middle_ns <= handed_ns:
                return None
            del self._since[reading.channel]
        flags = reading.quality
        before, end_before_ns = self._ends.get(reading.channel, (clock_id, reading.start_ns))
        # A server that was started anew numbers and joins its windows anew: the seam is looked at here.
        hole_ns = reading.start_ns - end_before_ns - (int(self.config.interval * 1e9) if start_ns == end_ns else 0)
        if reading.channel in self._gap or (reading.seq == 0 and (before != clock_id or hole_ns > _SEAM_NS)):
            flags = flags | {"gap_before"}
        self._gap.discard(reading.channel)
        self._ends[reading.channel] = (clock_id, reading.end_ns)
        u_time_ns = math.ceil(math.hypot(reading.u_time_ns, u_ns))
        return replace(reading, start_ns=start_ns, end_ns=max(start_ns, end_ns), u_time_ns=u_time_ns, quality=flags)

    def _say(self, **document: Any) -> None:
        if self._line is None:
            raise Reconnect("not connected")
        self._line.send(protocol.encode(**document))

    def _hear(self, until_ns: int) -> dict[str, Any] | None:
        """The next document; Reconnect after a silence that is too long, or when it is none."""
        if self._line is None:
            raise Reconnect("not connected")
        # Whoever did not listen for long cannot say that nothing was said: what has come is heard first.
        quiet_ns = max(self._heard_ns + int(SILENCE_S * 1e9), clock.now_ns() + _LISTEN_NS)
        line = self._line.line(min(until_ns, quiet_ns))
        if line is None:
            if clock.now_ns() >= quiet_ns:
                raise Reconnect(f"{self.config.address} has been silent for {SILENCE_S:g} s")
            return None
        self._heard_ns = clock.now_ns()
        try:
            return protocol.decode(line)
        except ProtocolError as error:
            raise Reconnect(f"{self.config.address}: {error}") from error

    def _answer(self, key: str) -> dict[str, Any]:
        """The document with ``key``; what the server says meanwhile is taken."""
        by_ns = clock.now_ns() + int(self.config.timeout * 1e9)
        while (said := self._hear(by_ns)) is not None or clock.now_ns() < by_ns:
            if said is not None and key in said:
                return said
            if said is not None:
                self._take(said)
        raise Reconnect(f"{self.config.address} does not answer within {self.config.timeout:g} s")

    def stop(self) -> dict[str, Any] | None:
        """How many readings came and were lost; the far meter's own integral goes on for its other readers."""
        return {"received": self.received, "lost": self.lost, "connections": self.connections}

    def close(self) -> None:
        if self._line:
            self._line.close()
        self._line = None
