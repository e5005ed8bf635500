"""What plugs say over HTTP: JSON objects, or a reason why there is none, sorted by what to do."""

from __future__ import annotations

from typing import Any

from iojoule.meters.base import Fatal, Retry
from iojoule.meters.http_link import Web
from iojoule.meters.json_body import parsed


def document(web: Web, path: str) -> dict[str, Any]:
    """The object at ``path``. What a person must set right is Fatal, what may pass is not."""
    reply = web.get(path)
    if reply.status in (401, 403):
        raise Fatal(f"{path}: {reply.status}, the plug wants a password; name its file in password_file")
    if 300 <= reply.status < 400:
        # Not followed: the password would go wherever the answer says.
        raise Fatal(f"{path}: the plug sends to {reply.headers.get('location')}; write that in url")
    found: dict[str, Any] | None = None
    try:
        found = parsed(reply.body)
    except ValueError as error:
        if reply.status == 200:
            raise Retry(f"{path}: {error}") from error
    if found is not None and reply.status != 200 and found.get("code") in (-103, -105, 404):
        raise Fatal(f"{path}: {found.get('message')}")
    if reply.status == 404:
        raise Fatal(f"{path}: the plug has no such path")
    if reply.status != 200 or found is None:
        raise Retry(f"{path}: {reply.status}")
    return found
