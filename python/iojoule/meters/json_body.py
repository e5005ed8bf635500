"""JSON objects as devices send them, over HTTP and MQTT: half of one is an error, a value that is no number is none."""

from __future__ import annotations

import json
import math
from typing import Any


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
