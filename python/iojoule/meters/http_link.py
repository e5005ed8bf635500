"""HTTP to a device on the management network: one GET at a time, no redirect followed, everything kept in the raw log.

Headers are not kept, since they hold the credentials. An answer that comes too late is lost with its connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from iojoule.meters.base import Fatal, NoRawLog, RawLog, Reconnect


@dataclass(frozen=True, slots=True)
class Reply:
    """Header names are in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Web(Protocol):
    """What a driver needs of HTTP; a laboratory gives its own."""

    def get(self, path: str) -> Reply: ...
    def post(self, path: str, document: Mapping[str, Any]) -> Reply: ...
    def delete(self, path: str) -> Reply: ...
    def authorize(self, headers: Mapping[str, str]) -> None: ...
    def close(self) -> None: ...


class HttpLink:
    """A connection to ``base`` that is kept open. ``verify`` is True, False, or the file of an authority.

    ``login`` is sent as HTTP Basic, or with ``digest`` (RFC 7616). ``hidden`` is put behind every path that is got, and
    not kept: a device may want its password there.

    Reconnect where no whole answer comes within ``timeout_s``; Fatal where a certificate is not to be trusted.
    """

    def __init__(
        self,
        base: str,
        timeout_s: float,
        raw: RawLog | None = None,
        *,
        verify: bool | str = True,
        login: tuple[str, str] | None = None,
        digest: bool = False,
        hidden: str = "",
    ) -> None:
        try:
            import httpx
        except ImportError as error:
            raise Fatal("the library httpx is missing: pip install 'iojoule[meters]'") from error
        import ssl

        self._httpx, self._raw, self._hidden = httpx, raw or NoRawLog(), hidden
        try:
            context = ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify
        except OSError as error:
            raise Fatal(f"cannot read the authority {verify}: {error}") from error
        # Neither proxies nor .netrc of the environment: a meter is asked directly, with what the section says.
        auth = httpx.DigestAuth(*login) if login and digest else login
        self._client = httpx.Client(
            base_url=base, timeout=timeout_s, verify=context, auth=auth, follow_redirects=False, trust_env=False
        )

    def authorize(self, headers: Mapping[str, str]) -> None:
        """Send these with every request from now on."""
        self._client.headers.update(headers)

    def get(self, path: str) -> Reply:
        return self._asked("GET", path)

    def post(self, path: str, document: Mapping[str, Any]) -> Reply:
        """What is sent is not kept: it holds a password."""
        return self._asked("POST", path, document)

    def delete(self, path: str) -> Reply:
        return self._asked("DELETE", path)

    def close(self) -> None:
        self._client.close()

    def _asked(self, method: str, path: str, document: Mapping[str, Any] | None = None) -> Reply:
        self._raw.sent(f"{method} {path}".encode())
        try:
            reply = self._client.request(method, path + self._hidden, json=document)
        except self._httpx.HTTPError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                raise Fatal(f"{self._client.base_url}: {error}; name its authority in ca_file") from error
            raise Reconnect(f"{method} {path}: {str(error) or type(error).__name__}") from error
        self._raw.received(f"{reply.status_code} ".encode() + (reply.content if method == "GET" else b""))
        return Reply(reply.status_code, reply.content, dict(reply.headers))
