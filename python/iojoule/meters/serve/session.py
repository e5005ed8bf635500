"""One client's conversation with a server of meters, without a socket: lines heard, lines to be said.

What is said of readings is pulled (``pump``) as fast as the client takes it, from the spool: a slow client lags behind
and costs no memory; one that lags by more than the spool holds is told how many readings it lost.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from iojoule.meters.serve import protocol
from iojoule.meters.serve.protocol import ProtocolError, encode
from iojoule.meters.serve.spool import Position, Spool

#: Readings in one line.
BATCH = 200
#: Seconds of silence after which the server says that it is there.
BEAT_S = 2.0


class Hub(Protocol):
    """What a session tells of: the meters of a bench."""

    spool: Spool

    def descriptions(self) -> list[dict[str, Any]]:
        """Every meter's document, without channels while it is not there."""

    def trouble(self, meter: str) -> tuple[str, str]:
        """``("lost" | "fatal", why)`` while a meter gives no readings, ``("", "")`` while it does."""

    def now_ns(self) -> int:
        """The clock the windows are on."""


class Session:
    """``greet``, then ``hear`` each line, and ``pump`` until there is nothing more; ``ended`` says it is over."""

    def __init__(self, hub: Hub, token: bytes | None = None) -> None:
        self._hub, self._token = hub, token
        self._nonce = protocol.nonce()
        self._welcome = False
        self.ended = False
        #: Why the client was refused.
        self.why = ""
        self.meter = ""
        self._after = Position(0, -1)
        #: What the client said it has for good.
        self.have: Position | None = None
        self._described: dict[str, Any] = {}
        self._trouble = ("", "")
        self._spool_trouble = ""

    def greet(self) -> bytes:
        return encode(iojoule_meters=protocol.VERSION, nonce=self._nonce, token=self._token is not None)

    def hear(self, line: bytes) -> list[bytes]:
        """The answers to one line."""
        try:
            said = protocol.decode(line)
            if not self._welcome:
                return [self._hello(said)]
            if "time" in said:
                return [encode(time=said["time"], ns=self._hub.now_ns(), clock=self._hub.spool.clock)]
            if "subscribe" in said:
                return [self._subscribe(said)]
            if "have" in said:
                epoch, seq = said["have"]
                self.have = self._hub.spool.find(str(epoch), int(seq))
                return []
            raise ProtocolError(f"{sorted(said)!r} is nothing a client says")
        except (ProtocolError, TypeError, ValueError) as error:
            return [self._refuse(str(error))]

    def _refuse(self, why: str) -> bytes:
        self.ended, self.why = True, why
        return encode(refused=why)

    def _hello(self, said: dict[str, Any]) -> bytes:
        theirs = said.get("nonce")
        if said.get("hello") != protocol.VERSION or not isinstance(theirs, str) or not 8 <= len(theirs) <= 256:
            return self._refuse(f"this is a server of meters, version {protocol.VERSION}; say hello in its protocol")
        answer = None
        if self._token is not None:
            if not protocol.proves(said.get("proof"), self._token, "client", self._nonce, theirs):
                return self._refuse("the token is wrong or missing")
            answer = protocol.proof(self._token, "server", self._nonce, theirs)
        self._welcome = True
        return encode(hello=protocol.VERSION, proof=answer, meters=self._hub.descriptions())

    def _subscribe(self, said: dict[str, Any]) -> bytes:
        names = [str(document["name"]) for document in self._hub.descriptions()]
        if (meter := said["subscribe"]) not in names:
            return self._refuse(f"there is no meter {str(meter)[:80]!r} here (there are: {', '.join(names)})")
        spool = self._hub.spool
        if said.get("after"):
            epoch, seq = said["after"]
            # An epoch this spool never had is another spool's: whatever is here, the client does not have.
            self._after = spool.find(str(epoch), int(seq)) or spool.before_all()
        elif said.get("since"):
            clock, at_ns = said["since"]
            self._after = spool.before(meter, str(clock), int(at_ns))
        else:
            self._after = spool.end(meter)
        self.meter = meter
        self._described = self._document()
        name = spool.name_of(self._after.epoch)[0] if self._after.epoch else ""
        return encode(subscribed=meter, after=[name, self._after.seq])

    def _document(self) -> dict[str, Any]:
        return next(document for document in self._hub.descriptions() if document["name"] == self.meter)

    def pump(self) -> list[bytes]:
        """What is to be said now without being asked; empty when there is nothing new."""
        if not self.meter:
            return []
        spool, said = self._hub.spool, []
        if (document := self._document()) != self._described:
            self._described = document
            said.append(encode(describe=document))
        stored, lost = spool.read(self.meter, self._after, BATCH)
        if lost:
            said.append(encode(lost=lost, why=f"the spool of the server holds {spool.limit_bytes} bytes"))
        if stored:
            epoch, clock = spool.name_of(stored[0].position.epoch)
            said.append(encode(rows=[[s.position.seq, *json.loads(s.row)] for s in stored], epoch=epoch, clock=clock))
            self._after = stored[-1].position
        if (trouble := self._hub.trouble(self.meter)) != self._trouble and len(stored) < BATCH:
            self._trouble = trouble
            said.append(encode(event=trouble[0] or "back", text=trouble[1]))
        if spool.trouble != self._spool_trouble:
            self._spool_trouble = spool.trouble
            if spool.trouble:
                text = f"the server's disk takes no readings, they wait in memory: {spool.trouble}"
                said.append(encode(event="warning", text=text))
        return said

    def beat(self) -> bytes:
        """Said after ``BEAT_S`` of silence."""
        return encode(beat=self._hub.now_ns())
