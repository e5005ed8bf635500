"""IPMI requests to a BMC: over the network (RMCP+, lanplus) through pyghmi, on the machine itself through ``ipmitool``.

A request has a number of its own in its session. One that is not answered in time ends the session, so that its answer
is never taken for the next. The password is not in the raw log, which holds network function, command and data.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Callable
from typing import Any, Protocol

from iojoule.meters.base import Fatal, NoRawLog, RawLog, Reconnect, Retry

#: What a BMC says that no further attempt will change.
_REFUSED = re.compile(
    "Incorrect password|Unauthorized|Invalid (role|username|authentication|integrity|confid)|No Cipher|Kg", re.I
)

USER_LEVEL = 2


class IpmiLink(Protocol):
    """What the driver needs of a BMC; a laboratory gives its own."""

    def raw(self, netfn: int, command: int, data: bytes = b"") -> bytes:
        """The completion code and what follows it."""

    def close(self) -> None: ...


def said(netfn: int, command: int, data: bytes) -> bytes:
    """A request as the raw log and ``ipmitool raw`` write it."""
    return " ".join(f"0x{byte:02x}" for byte in (netfn, command, *data)).encode()


class PyghmiLink:
    """A session with the BMC at ``host:port`` at user level."""

    def __init__(
        self, host: str, port: int, username: str, password: str, timeout_s: float, raw: RawLog | None = None
    ) -> None:
        try:
            from pyghmi import exceptions
            from pyghmi.ipmi.private.session import Session
        except ImportError as error:
            raise Fatal("the library pyghmi is missing: pip install 'iojoule[meters]'") from error
        self._api: Any = Session
        self._trouble: type[Exception] = exceptions.PyghmiException
        self._raw, self._timeout_s = raw or NoRawLog(), timeout_s
        self._session: Any = None

        # Four messages until a session stands.
        def log_in(call: Callable[[Any], None]) -> None:
            # As bytes: the library keeps those that log in by name and password, puts text in and takes bytes out.
            who = username.encode(), password.encode()
            self._session = self._api(host, *who, port=port, onlogon=call, privlevel=USER_LEVEL, keepalive=False)

        answer = self._answered(log_in, 4 * timeout_s)
        if "error" in answer:
            text = f"{host}: {getattr(self._session, 'errormsg', None) or answer['error']}"
            raise Fatal(f"the BMC refuses {username}: {text}") if _REFUSED.search(text) else Reconnect(text)

    def raw(self, netfn: int, command: int, data: bytes = b"") -> bytes:
        self._raw.sent(said(netfn, command, data))
        answer = self._answered(
            lambda call: self._session.raw_command(netfn, command, data=tuple(data), callback=call), self._timeout_s
        )
        self._session.incommand = False
        if "error" in answer:
            raise Reconnect(f"IPMI: {answer['error']}")
        whole = bytes([answer["code"], *answer["data"]])
        self._raw.received(whole.hex(" ").encode())
        return whole

    def _answered(self, ask: Callable[[Callable[[Any], None]], object], timeout_s: float) -> dict[str, Any]:
        """What the library calls back with; Reconnect where it does not within ``timeout_s``."""
        heard: list[dict[str, Any]] = []
        until_s = time.monotonic() + timeout_s
        try:
            ask(heard.append)
            while not heard and (rest_s := until_s - time.monotonic()) > 0:
                self._api.wait_for_rsp(timeout=min(rest_s, 0.2))
        except (self._trouble, OSError) as error:
            self._leave()
            raise Reconnect(f"IPMI: {error}") from error
        if not heard:
            self._leave()
            raise Reconnect(f"IPMI: no answer within {timeout_s:g} s")
        return heard[0]

    def close(self) -> None:
        with contextlib.suppress(Exception):  # whatever the library thinks of a session that is over
            self._session.logout(False)
        self._leave()

    def _leave(self) -> None:
        """Forget the session without a word: a logout waits for the answer that does not come."""
        if self._session is not None:
            self._session.incommand, self._session.logged = False, 0
            with contextlib.suppress(Exception):
                self._session._mark_broken()


class IpmitoolLink:
    """The machine's own BMC, through the kernel (``/dev/ipmi0``); ``program`` is ``ipmitool``."""

    def __init__(self, program: str, timeout_s: float, raw: RawLog | None = None) -> None:
        self._program, self._timeout_s, self._raw = program, timeout_s, raw or NoRawLog()

    def raw(self, netfn: int, command: int, data: bytes = b"") -> bytes:
        asked = said(netfn, command, data)
        self._raw.sent(asked)
        try:
            done = subprocess.run(
                [self._program, "-I", "open", "raw", *asked.decode().split()],
                capture_output=True, text=True, errors="replace", timeout=self._timeout_s, check=False,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise Fatal(f"{self._program} is missing: apt-get install ipmitool, or name the BMC in host") from error
        except subprocess.TimeoutExpired as error:
            raise Retry(f"{self._program}: no answer within {self._timeout_s:g} s") from error
        self._raw.received((done.stdout + done.stderr).encode())
        if refused := re.search(r"rsp=0x([0-9a-f]{1,2})\b", done.stderr):
            return bytes([int(refused[1], 16)])
        if "Could not open device" in done.stderr:
            raise Fatal(f"{done.stderr.strip().splitlines()[0]}: no BMC here, or not for this user")
        if done.returncode:
            raise Retry(f"{self._program}: {done.stderr.strip()[:200]}")
        try:
            return b"\0" + bytes.fromhex(done.stdout)
        except ValueError as error:
            raise Retry(f"{self._program}: {done.stdout[:80]!r} are no bytes") from error

    def close(self) -> None:
        """Nothing is open."""
