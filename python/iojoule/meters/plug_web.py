"""What plugs say over HTTP: JSON objects, or a reason why there is none, sorted by what to do."""

from __future__ import annotations

import json
import math
from typing import Any

from iojoule.meters.base import Fatal, Retry
from iojoule.meters.http_link import Web


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


def parsed(body: bytes) -> dict[str, Any]:
    """The object in ``body``; ValueError where there is half of one or none."""
    try:
        found = json.loads(body)
    except ValueError as error:  # bytes that are no text, too
        raise ValueError(f"{body[:80]!r} is no JSON") from error
    if not isinstance(found, dict):
        raise ValueError(f"{body[:80]!r} is no object")
    return found


def number(value: Any) -> float | None:
    """A finite number; None for null, text and everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def part(whole: Any, name: str) -> dict[str, Any]:
    """The object named ``name`` in an object; an empty one where there is none."""
    found = whole.get(name) if isinstance(whole, dict) else None
    return found if isinstance(found, dict) else {}
