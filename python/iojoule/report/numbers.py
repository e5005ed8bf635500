"""How numbers are written: as many digits as their uncertainty allows, never without a unit."""

from __future__ import annotations

import math

UNIT_TEXT = {"1": "", "1/s": "per s", "1/J": "per J"}
MINUS = "−"


def plain(value: float | None, digits: int = 4) -> str:
    """`value` with so many significant digits, thousands kept apart by a thin space."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    if value == int(value) and abs(value) < 1e15:
        decimals = 0
    return fixed(value, min(decimals, 9))


def fixed(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", MINUS)


def with_uncertainty(value: float | None, half: float | None) -> str:
    """`12.17 ± 0.14`: the half-width to two significant digits, the value to the same place. A half-width of zero is a
    count, known exactly, and is not written."""
    if value is None:
        return "–"
    if half is None or half <= 0 or not math.isfinite(half):
        return plain(value)
    decimals = 1 - math.floor(math.log10(half))
    if round(half, decimals) >= 10 ** (2 - decimals):
        decimals -= 1
    if decimals < 0:
        value, half, decimals = round(value, decimals), round(half, decimals), 0
    return f"{fixed(value, min(decimals, 9))} ± {fixed(half, min(decimals, 9))}"


def quoted(value: float | None, half: float | None, unit: str) -> str:
    """Value, uncertainty and unit."""
    said = with_uncertainty(value, half)
    return f"{said} {unit_text(unit)}".strip() if value is not None else said


def unit_text(unit: str) -> str:
    return UNIT_TEXT.get(unit, unit)


def percent(value: float | None, half: float | None = None) -> str:
    """A signed difference: `+4.2 ± 1.1 %`."""
    if value is None:
        return "–"
    sign = "+" if value > 0 else ""
    said = with_uncertainty(value, half) if half else fixed(value, 1 if abs(value) < 100 else 0)
    return f"{sign}{said} %"
