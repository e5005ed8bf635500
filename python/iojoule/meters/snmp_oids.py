"""Where PDUs keep their numbers: object identifiers by maker, as public tools use them (unverified on real hardware).

APC: PowerNet-MIB, rPDU2. Raritan: PDU2-MIB, where the decimal digits of a value stand in an object of their own, and a
signed sensor has another column than an unsigned one. Eaton: EATON-EPDU-MIB.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Quantity = Literal["power", "energy", "voltage", "current"]
Model = Literal["apc_rpdu2", "raritan", "eaton_epdu"]

#: Unit of a channel, by quantity.
UNITS: Mapping[str, str] = {"power": "W", "energy": "J", "voltage": "V", "current": "A"}
#: What one of a unit is in the channel's.
FACTORS: Mapping[str, tuple[str, float]] = {
    "W": ("power", 1.0), "mW": ("power", 1e-3), "kW": ("power", 1e3),
    "J": ("energy", 1.0), "Wh": ("energy", 3600.0), "kWh": ("energy", 3.6e6),
    "V": ("voltage", 1.0), "mV": ("voltage", 1e-3), "A": ("current", 1.0), "mA": ("current", 1e-3),
}  # fmt: skip
#: A register of 32 bits starts again here, whether it is a Counter32 or a Gauge32 used as one.
MODULUS = 2**32
#: "No value", "not supported": -1, and -1 seen as unsigned. No register is believed to show them as a measurement.
SENTINELS = frozenset({-1, 2**32 - 1, 2**31 - 1, -(2**31), 2**64 - 1})


@dataclass(frozen=True, slots=True)
class Oid:
    """One object: ``oid`` with ``{unit}`` and ``{outlet}``; a count is ``scale`` in the unit of its channel.

    ``digits`` names the object with the number of decimal digits; ``signed`` the column to read in place of ``oid``
    where the object ``least`` (the least the sensor can show) is below zero.
    """

    quantity: Quantity
    oid: str
    scale: float = 1.0
    modulus: int = MODULUS
    digits: str = ""
    signed: str = ""
    least: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The objects of a maker, of the whole PDU and of one outlet; ``first`` is the number of the first unit."""

    first: int
    whole: tuple[Oid, ...]
    outlet: tuple[Oid, ...]


_APC = "1.3.6.1.4.1.318.1.1.26"
_RARITAN = "1.3.6.1.4.1.13742.6"
_EATON = "1.3.6.1.4.1.534.6.6.7"


def _raritan(quantity: Quantity, place: str, config: str, which: str, sensor: int, scale: float = 1.0) -> Oid:
    at = f"{{unit}}.{which}.{sensor}"
    return Oid(
        quantity, f"{_RARITAN}.5.{place}.1.4.{at}", scale, digits=f"{_RARITAN}.3.{config}.1.7.{at}",
        signed=f"{_RARITAN}.5.{place}.1.6.{at}", least=f"{_RARITAN}.3.{config}.1.27.{at}",
    )  # fmt: skip


TABLES: Mapping[Model, Table] = {
    "apc_rpdu2": Table(
        1,
        (Oid("power", f"{_APC}.4.3.1.5.{{unit}}", 10.0), Oid("energy", f"{_APC}.4.3.1.9.{{unit}}", 360_000.0)),
        (
            Oid("power", f"{_APC}.9.4.3.1.7.{{outlet}}"),
            Oid("energy", f"{_APC}.9.4.3.1.11.{{outlet}}", 360_000.0),
            Oid("current", f"{_APC}.9.4.3.1.6.{{outlet}}", 0.1),
        ),
    ),
    "raritan": Table(
        1,
        (_raritan("power", "2.3", "3.4", "1", 5), _raritan("energy", "2.3", "3.4", "1", 8, 3600.0)),
        (
            _raritan("power", "4.3", "5.4", "{outlet}", 5),
            _raritan("energy", "4.3", "5.4", "{outlet}", 8, 3600.0),
            _raritan("voltage", "4.3", "5.4", "{outlet}", 4),
            _raritan("current", "4.3", "5.4", "{outlet}", 1),
        ),
    ),
    "eaton_epdu": Table(
        0,
        (Oid("power", f"{_EATON}.3.5.1.4.{{unit}}.1"),),
        (
            Oid("power", f"{_EATON}.6.5.1.3.{{unit}}.{{outlet}}"),
            Oid("energy", f"{_EATON}.6.5.1.4.{{unit}}.{{outlet}}", 3600.0),
            Oid("voltage", f"{_EATON}.6.3.1.2.{{unit}}.{{outlet}}", 1e-3),
            Oid("current", f"{_EATON}.6.4.1.3.{{unit}}.{{outlet}}", 1e-3),
        ),
    ),
}
