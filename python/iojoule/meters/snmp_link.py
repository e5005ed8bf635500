"""SNMP v2c and v3 (USM, RFC 3414) through pysnmp: one GET for several objects, one answer or none.

Every request has a number of its own, so that an answer that comes late is thrown away and never taken for the next.
Communities and keys are not in the raw log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from iojoule.meters.base import Fatal, NoRawLog, RawLog, Reconnect, Retry

#: What an agent says in place of a number: ``noSuchInstance``, or text.
Value = int | str
#: Errors that only another user, key or setting can end.
_REFUSED = (
    "AuthenticationError", "AuthenticationFailure", "DecryptionError", "NoAccessEntry", "NoGroupName", "NotInView",
    "UnknownSecurityName", "UnknownUserName", "UnsupportedAuthProtocol", "UnsupportedPrivProtocol",
    "UnsupportedSecurityLevel", "WrongDigest",
)  # fmt: skip
AUTH = {
    "md5": "USM_AUTH_HMAC96_MD5", "sha": "USM_AUTH_HMAC96_SHA", "sha224": "USM_AUTH_HMAC128_SHA224",
    "sha256": "USM_AUTH_HMAC192_SHA256", "sha384": "USM_AUTH_HMAC256_SHA384", "sha512": "USM_AUTH_HMAC384_SHA512",
}  # fmt: skip
PRIV = {
    "des": "USM_PRIV_CBC56_DES", "aes": "USM_PRIV_CFB128_AES", "aes192": "USM_PRIV_CFB192_AES",
    "aes256": "USM_PRIV_CFB256_AES",
}  # fmt: skip


class SnmpLink(Protocol):
    """What the driver needs of an agent; a laboratory gives its own."""

    def get(self, oids: Sequence[str]) -> list[Value]: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Credentials:
    """A community (v2c), or a user with the keys of authentication and of privacy (v3); an empty key is none."""

    community: str = ""
    username: str = ""
    auth: str = "sha"
    auth_key: str = ""
    priv: str = "aes"
    priv_key: str = ""


class PysnmpLink:
    """One agent at ``host:port``. Each of ``retries`` more requests waits ``timeout_s`` for its own answer."""

    def __init__(
        self, host: str, port: int, who: Credentials, timeout_s: float, retries: int, raw: RawLog | None = None
    ) -> None:
        try:
            import pysnmp.hlapi.v3arch.asyncio as api
        except ImportError as error:
            raise Fatal("the library pysnmp is missing: pip install 'iojoule[meters]'") from error
        self._api: Any = api
        self._raw = raw or NoRawLog()
        self._who = who
        self._loop = asyncio.new_event_loop()
        self._engine = self._loop.run_until_complete(self._made())
        try:
            make = api.UdpTransportTarget.create((host, port), timeout=timeout_s, retries=retries)
            self._target = self._loop.run_until_complete(make)
        except Exception as error:  # the library wraps what the resolver says
            self.close()
            raise Reconnect(f"{host}:{port}: {error}") from error

    async def _made(self) -> Any:
        return self._api.SnmpEngine()

    def _user(self) -> Any:
        api, who = self._api, self._who
        if not who.username:
            return api.CommunityData(who.community, mpModel=1)
        keys: dict[str, Any] = {}
        if who.auth_key:
            keys |= {"authKey": who.auth_key, "authProtocol": getattr(api, AUTH[who.auth])}
        if who.priv_key:
            keys |= {"privKey": who.priv_key, "privProtocol": getattr(api, PRIV[who.priv])}
        return api.UsmUserData(who.username, **keys)

    def get(self, oids: Sequence[str]) -> list[Value]:
        """The values of ``oids`` in their order, as they were at one instant between the question and the answer."""
        api = self._api
        self._raw.sent(("GET " + " ".join(oids)).encode())
        asked = [api.ObjectType(api.ObjectIdentity(oid)) for oid in oids]
        try:
            call = api.get_cmd(self._engine, self._user(), self._target, api.ContextData(), *asked, lookupMib=False)
            problem, status, index, found = self._loop.run_until_complete(call)
        except (OSError, ValueError) as error:
            raise Reconnect(f"SNMP: {error}") from error
        except Exception as error:
            # The library's own errors have no common public base: a key it cannot take, an answer it cannot read.
            if "key" in str(error).lower() or "passphrase" in str(error).lower():
                raise Fatal(f"SNMP: {type(error).__name__}: a key of {self._who.username} is not usable") from error
            raise Reconnect(f"SNMP: {type(error).__name__}") from error
        if problem:
            self._raw.received(str(problem).encode())
            if type(problem).__name__ in _REFUSED:
                raise Fatal(f"SNMP: {problem}; look at user, keys and their protocols")
            raise Retry(f"SNMP: {problem}")
        if int(status):
            name = f"{status.prettyPrint() if hasattr(status, 'prettyPrint') else status}"
            where = oids[int(index) - 1] if 0 < int(index) <= len(oids) else ""
            self._raw.received(f"{name} {where}".encode())
            if name in ("noAccess", "authorizationError"):
                raise Fatal(f"SNMP: {name} {where}")
            raise Retry(f"SNMP: {name} {where}")
        self._raw.received("\n".join(f"{oid} = {value.prettyPrint()}" for oid, value in found).encode())
        if [str(oid) for oid, _ in found] != list(oids):
            raise Retry(f"SNMP: the answer is for other objects than {', '.join(oids)}")
        return [_value(value) for _, value in found]

    def close(self) -> None:
        async def ended() -> None:
            self._engine.close_dispatcher()

        self._loop.run_until_complete(ended())
        self._loop.close()


def _value(value: Any) -> Value:
    """A number, also of text that is one; else the name of what there is in its place."""
    kind = type(value).__name__
    if kind in ("NoSuchInstance", "NoSuchObject", "EndOfMibView"):
        return kind[0].lower() + kind[1:]
    try:
        return int(value)
    except (TypeError, ValueError):
        return str(value.prettyPrint())
