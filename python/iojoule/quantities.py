"""Quantities as people write them in an experiment: ``4KiB``, ``30s``, ``500/s``.

A bare number is taken in the base unit (bytes, seconds, per second). Decimal and binary prefixes differ, as in IEC
80000-13: ``1kB`` is 1000 bytes, ``1KiB`` is 1024.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 2**63 / 1e9
_BYTES = {"B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kMGTP", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_BYTES |= {f"K{suffix}": _BYTES[f"k{suffix}"] for suffix in ("B", "iB")}
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"


def seconds(value: str | float) -> float:
    """Seconds of ``90``, ``"1.5s"``, ``"250ms"`` or a sum like ``"1h30m"``; ValueError otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(float(value), value, "a time")
    parts = re.findall(rf"({_NUMBER})\s*([a-zµ]+)", str(value))
    if not parts or re.sub(rf"{_NUMBER}\s*[a-zµ]+\s*", "", str(value)).strip():
        raise ValueError(f"{value!r} is not a time; write for example 30s, 250ms or 1h30m")
    return _finite(
        sum(float(number) * _unit(unit, _SECONDS, value, "a time") for number, unit in parts), value, "a time"
    )


def nbytes(value: str | int) -> int:
    """Bytes of ``4096``, ``"4KiB"``, ``"1.5GB"``; ValueError otherwise."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    number, unit = _split(value, "a size", "4KiB or 10MB")
    size = _finite(number * _unit(unit or "B", _BYTES, value, "a size"), value, "a size")
    if size != int(size):
        raise ValueError(f"{value!r} is not a whole number of bytes")
    return int(size)


def spelled_size(size: int) -> str:
    """The largest unit that spells a number of bytes exactly: ``4KiB``, ``10MB``, ``1001B``; ``nbytes`` reads it."""
    for unit in ("PiB", "TiB", "GiB", "MiB", "KiB", "PB", "TB", "GB", "MB", "kB"):
        if size and size % _BYTES[unit] == 0:
            return f"{size // _BYTES[unit]}{unit}"
    return f"{size}B"


def spelled_time(span_s: float) -> str:
    """A time for people, to whole seconds from a minute on: ``7.5s``, ``4min30s``, ``1h05min``."""
    if span_s < 59.95:
        return f"{span_s:.3g}s"
    whole = round(span_s)
    if whole < 3600:
        minutes, left = divmod(whole, 60)
        return f"{minutes}min{left:02d}s" if left else f"{minutes}min"
    hours, minutes = divmod(round(whole / 60), 60)
    return f"{hours}h{minutes:02d}min"


def rate(value: str | float) -> float:
    """Events per second of ``500``, ``"500/s"``, ``"30/min"``; ValueError otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _finite(float(value), value, "a rate")
    number, unit = _split(value, "a rate", "500/s")
    if not unit:
        return _finite(number, value, "a rate")
    if not unit.startswith("/"):
        raise ValueError(f"{value!r} is not a rate; write for example 500/s")
    return _finite(number / _unit(unit[1:], _SECONDS, value, "a rate"), value, "a rate")


def _split(value: str | float, what: str, example: str) -> tuple[float, str]:
    match = re.fullmatch(rf"\s*({_NUMBER})\s*(\S*)\s*", str(value))
    if not match:
        raise ValueError(f"{value!r} is not {what}; write for example {example}")
    return float(match[1]), match[2]


def _finite(number: float, value: object, what: str) -> float:
    """``number``; TOML has ``inf`` and ``nan``, and nothing that is measured lasts or weighs that."""
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not {what}: it is no finite number")
    if what == "a time" and number >= _LONGEST_S:
        raise ValueError(f"{value!r} is longer than nanoseconds in 64 bits can tell: {_LONGEST_S:.3g} s")
    return number


def _unit(unit: str, table: Mapping[str, float], value: object, what: str) -> float:
    if unit not in table:
        raise ValueError(f"{value!r} is not {what}: the unit {unit!r} is not one of {', '.join(table)}")
    return table[unit]


if TYPE_CHECKING:
    Seconds = float
    Size = int
    Rate = float
else:

    class _Lazy:
        """Pydantic validator around a parser; pydantic itself is imported only by those who declare models."""

        def __init__(self, parse: Any) -> None:
            self.parse = parse

        def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
            from pydantic_core import core_schema

            # The inner schema is the number with the field's own bounds; none of these quantities is negative.
            return core_schema.no_info_before_validator_function(self.parse, {"ge": 0, **handler(source)})

        def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, str]:
            return {"type": "string"}

    Seconds = Annotated[float, _Lazy(seconds)]
    Size = Annotated[int, _Lazy(nbytes)]
    Rate = Annotated[float, _Lazy(rate)]
