"""The JSON lines a meter's process prints: readings as rows of fixed order, NaN as null."""

from __future__ import annotations

import json
import math
from typing import Any

from iojoule.meters.base import Reading

Row = list[Any]

#: Made once: ``json.dumps`` with options makes one a call. Strict, so NaN in an identity is an error and no surprise.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def row(reading: Reading) -> Row:
    """The reading as a JSON array."""
    return [
        reading.channel,
        reading.quantity,
        reading.unit,
        reading.seq,
        reading.start_ns,
        reading.end_ns,
        reading.u_time_ns,
        _finite(reading.value),
        _finite(reading.u_value),
        reading.flags,
    ]


def reading(row: Row) -> Reading:
    """The reading in ``row``; ValueError or TypeError when it is not one."""
    channel, quantity, unit, seq, start_ns, end_ns, u_time_ns, value, u_value, flags = row
    value, u_value = (math.nan if number is None else float(number) for number in (value, u_value))
    return Reading(channel, quantity, unit, start_ns, end_ns, u_time_ns, value, u_value, frozenset(flags.split()), seq)


def line(**document: Any) -> bytes:
    """One line of strict JSON; ValueError for NaN."""
    return _encode(document).encode() + b"\n"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
