"""Where energy meters on Modbus keep their numbers, and what the 16-bit words of a number mean.

A number is one to four registers; which of them comes first, and which byte of each, is the maker's choice (the
standard orders bytes only). Addresses of Eastron meters as their makers' documents and public tools give them.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Type = Literal["u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"]
Order = Literal["big", "little"]
#: Format of ``struct`` and number of registers.
TYPES: Mapping[str, tuple[str, int]] = {
    "u16": ("H", 1), "i16": ("h", 1), "u32": ("I", 2), "i32": ("i", 2), "u64": ("Q", 4), "i64": ("q", 4),
    "f32": ("f", 2), "f64": ("d", 4),
}  # fmt: skip
#: Unit of a channel, by quantity.
UNITS: Mapping[str, str] = {
    "power": "W", "energy": "J", "voltage": "V", "current": "A", "apparent_power": "VA", "reactive_power": "var",
    "power_factor": "1", "frequency": "Hz",
}  # fmt: skip
#: What one of a unit is in the channel's.
FACTORS: Mapping[str, tuple[str, float]] = {
    "W": ("power", 1.0), "mW": ("power", 1e-3), "kW": ("power", 1e3),
    "J": ("energy", 1.0), "Wh": ("energy", 3600.0), "kWh": ("energy", 3.6e6),
    "V": ("voltage", 1.0), "mV": ("voltage", 1e-3), "A": ("current", 1.0), "mA": ("current", 1e-3),
    "VA": ("apparent_power", 1.0), "var": ("reactive_power", 1.0), "1": ("power_factor", 1.0),
    "Hz": ("frequency", 1.0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a meter. ``scale`` is units per count, ``digit`` its last digit in its unit, 0 where the type says
    it all. ``sentinel`` is the count that stands for "no value"."""

    address: int
    unit: str
    type: Type = "f32"
    function: int = 4
    scale: float = 1.0
    digit: float = 0.0
    word_order: Order = "big"
    byte_order: Order = "big"
    sentinel: float | None = None
    modulus: float | None = None

    @property
    def registers(self) -> int:
        return TYPES[self.type][1]

    @property
    def quantity(self) -> str:
        return FACTORS[self.unit][0]

    @property
    def factor(self) -> float:
        """What a count is in the unit of its channel."""
        return FACTORS[self.unit][1] * self.scale

    def value(self, words: Sequence[int]) -> float | None:
        """The number in the unit of its channel; None for NaN, infinity and the sentinel."""
        ordered = words if self.word_order == "big" else tuple(reversed(words))
        bytes_of = ">" if self.byte_order == "big" else "<"
        data = b"".join(struct.pack(f"{bytes_of}H", word) for word in ordered)
        count: float = struct.unpack(f">{TYPES[self.type][0]}", data)[0]
        if not math.isfinite(count) or count == self.sentinel:
            return None
        return count * self.factor

    def step(self, value: float) -> float:
        """From ``value`` to the next one the register can show, in the unit of its channel.

        A float has 24 bits: kilowatt-hours above 16384 no longer show single watt-hours.
        """
        digit = self.digit * FACTORS[self.unit][1]
        if self.type[0] != "f":
            return max(digit, self.factor)
        bits = 24 if self.type == "f32" else 53
        exponent = math.frexp(value / self.factor)[1] if value else -126
        return max(digit, 2.0 ** max(exponent - bits, -149) * self.factor)

    def wraps_at(self, never: float) -> float:
        """Where a counter starts again, in the unit of its channel; ``never`` for a float."""
        if self.modulus is not None:
            return self.modulus * self.factor
        if self.type[0] == "f":
            return never
        return float(2 ** (16 * self.registers - (self.type[0] == "i"))) * self.factor


@dataclass(frozen=True, slots=True)
class Model:
    """A maker's table. ``baud`` and ``parity`` are those of its serial line when it leaves the factory; ``bridge`` is
    how many registers between two numbers may be read along with them."""

    numbers: Mapping[str, Number]
    baud: int
    parity: Literal["N", "E"]
    bridge: int = 0


def _eastron(*without: str) -> dict[str, Number]:
    numbers = {
        "voltage": Number(0x0000, "V"),
        "current": Number(0x0006, "A"),
        "power": Number(0x000C, "W"),
        "apparent_power": Number(0x0012, "VA"),
        "reactive_power": Number(0x0018, "var"),
        "power_factor": Number(0x001E, "1"),
        "frequency": Number(0x0046, "Hz"),
        "import_energy": Number(0x0048, "kWh"),
        "energy": Number(0x0156, "kWh"),
    }
    return {name: number for name, number in numbers.items() if name not in without}


#: The SDM630 has three phases: those of the first stand where an SDM120 has its only one, the sum of power at 0x0034.
MODELS: Mapping[str, Model] = {
    "sdm120": Model(_eastron(), 2400, "N", bridge=4),
    "sdm230": Model(_eastron(), 2400, "N", bridge=4),
    "sdm72": Model(
        {"power": Number(0x0034, "W"), "import_energy": Number(0x0048, "kWh"), "energy": Number(0x0156, "kWh")},
        9600, "E",
    ),
    "sdm630": Model(
        {
            "voltage": Number(0x0000, "V"),
            "current": Number(0x0030, "A"),
            "power": Number(0x0034, "W"),
            "apparent_power": Number(0x0038, "VA"),
            "reactive_power": Number(0x003C, "var"),
            "power_factor": Number(0x003E, "1"),
            "frequency": Number(0x0046, "Hz"),
            "import_energy": Number(0x0048, "kWh"),
            "energy": Number(0x0156, "kWh"),
        },
        9600, "E", bridge=4,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Block:
    """Registers that one request reads, with the names of the numbers in them."""

    function: int
    address: int
    count: int
    names: tuple[str, ...]


def blocks(numbers: Mapping[str, Number], most: int, bridge: int) -> list[Block]:
    """As few requests as hold all ``numbers``, none of more than ``most`` registers."""
    found: list[Block] = []
    for name, number in sorted(numbers.items(), key=lambda item: (item[1].function, item[1].address)):
        end = number.address + number.registers
        last = found[-1] if found else None
        if (
            last is not None
            and last.function == number.function
            and number.address - (last.address + last.count) <= bridge
            and end - last.address <= most
        ):
            count = max(last.count, end - last.address)
            found[-1] = Block(last.function, last.address, count, (*last.names, name))
        else:
            found.append(Block(number.function, number.address, number.registers, (name,)))
    return found
