"""Numbers as fio writes them: ``4k`` is 4096, ``10`` is ten seconds, ``1k,4k`` is reads, writes.

After the HOWTO of fio 3.33, "Parameter types". Every function raises ValueError for what it cannot read.
"""

from __future__ import annotations

import re

_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SECONDS = {
    "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "sec": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6,
}  # fmt: skip


def size(text: str, kb_base: int = 1024) -> int:
    """Bytes. With ``kb_base`` 1024, fio's default, ``k`` is 1024 and ``ki`` is 1000; with 1000 the other way round."""
    match = re.fullmatch(r"(0x[0-9a-f]+|\d+(?:\.\d+)?)\s*(?:([kmgtp])(i?))?b?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(f"{text!r} is not a size of fio's, like 4k or 1g")
    number = float(int(match[1], 16)) if match[1].lower().startswith("0x") else float(match[1])
    if match[2] is None:
        return int(number)
    binary = (kb_base == 1024) != bool(match[3])
    return int(number * (1024 if binary else 1000) ** _POWERS[match[2].lower()])


def integer(text: str) -> int:
    """A count; prefixes are of 1024 as in sizes."""
    return size(text)


def seconds(text: str, unit: str = "s") -> float:
    """Seconds; a bare number is in ``unit``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", text.strip().lower())
    if match is None or (match[2] or unit) not in _SECONDS:
        raise ValueError(f"{text!r} is not a time of fio's, like 30, 10m or 250ms")
    return float(match[1]) * _SECONDS[match[2] or unit]


def flag(text: str | None) -> bool:
    """A boolean; a key without a value is true."""
    if text is None:
        return True
    if text.strip().lower() not in ("0", "1", "true", "false"):
        raise ValueError(f"{text!r} is neither 0 nor 1")
    return text.strip().lower() in ("1", "true")


def per_direction(text: str) -> tuple[str, str, str]:
    """Reads, writes, trims of ``4k,8k,16k``; what is left out is as the one before, as for fio's ``bs``."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) > 3:
        raise ValueError(f"{text!r} has more than three parts")
    read = parts[0]
    write = parts[1] if len(parts) > 1 else read
    return read, write, parts[2] if len(parts) > 2 else write


def shares(text: str) -> list[tuple[str, float]]:
    """``4k/10:64k/50:32k/`` as pairs with their per cent; those left blank share what is left over evenly."""
    entries = [(value, share) for value, _, share in (part.partition("/") for part in text.split(":"))]
    given = sum(float(share) for _, share in entries if share)
    blank = sum(1 for _, share in entries if not share)
    if given > 100 + 1e-9 or (not blank and abs(given - 100) > 1e-9):
        raise ValueError(f"the shares of {text!r} come to {given:g} %, not to 100 %")
    return [(value, float(share) if share else (100 - given) / blank) for value, share in entries]


def paths(text: str) -> list[str]:
    """Names separated by ``:``, where ``\\:`` stands for a colon in a name."""
    return [part.replace("\\:", ":") for part in re.split(r"(?<!\\):", text) if part]


def joined(names: list[str]) -> str:
    """The inverse of ``paths``."""
    return ":".join(name.replace(":", "\\:") for name in names)
