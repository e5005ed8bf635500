"""Energy meters on Modbus, TCP and RTU: Eastron SDM and any meter whose registers are noted in the section.

Registers read by one request belong together; those of another request may already be of the next update, so each
request has windows of its own. What a counter cannot resolve is in the uncertainty of its channel.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from iojoule.meters import clock
from iojoule.meters.base import Bare, Description, Fatal, MeterError, NoRawLog, RawLog, Reading, Reconnect, Retry
from iojoule.meters.counter import NEVER_WRAPS_J
from iojoule.meters.managed import Managed, ManagedConfig, register
from iojoule.meters.modbus_link import ModbusLink, PymodbusLink, Refused
from iojoule.meters.modbus_registers import FACTORS, MODELS, UNITS, Block, Number, Order, Type, blocks
from iojoule.quantities import Seconds

#: A meter takes this many numbers in one request, and answers at most 125 registers.
PARAMETERS, REGISTERS = 30, 125
#: What only another section or another meter can help: illegal function, address, value; no way to the unit.
FINAL = (1, 2, 3, 10)


class RegisterNote(BaseModel):
    """One number of a meter that no table has."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    address: int = Field(ge=0, le=65535, description="Its first register, as it is sent: 0 is the first there is.")
    unit: str = Field(description="What a count is, times scale: " + ", ".join(FACTORS) + ".")
    type: Type = Field(default="f32", description="u16, i16, u32, i32, u64, i64, f32, f64.")
    function: Literal[3, 4] = Field(default=4, description="3 for holding registers, 4 for input registers.")
    scale: float = Field(default=1.0, gt=0, description="Units per count.")
    resolution: float = Field(default=0.0, ge=0, description="Its last digit, in its unit, where the type has more.")
    word_order: Order = Field(default="big", description="Which register of a number comes first.")
    byte_order: Order = Field(default="big", description="Which byte of a register comes first.")
    sentinel: float | None = Field(default=None, description="The count that stands for no value.")
    modulus: float | None = Field(default=None, gt=1, description="Where a counter starts again, in counts.")
    contains: tuple[str, ...] = Field(default=(), description="Channels whose energy is inside this one's.")

    @model_validator(mode="after")
    def _unit_is_known(self) -> Self:
        if self.unit not in FACTORS:
            raise ValueError(f"unit {self.unit!r}: there are {', '.join(FACTORS)}")
        return self

    def number(self) -> Number:
        return Number(
            self.address, self.unit, self.type, self.function, self.scale, self.resolution, self.word_order,
            self.byte_order, self.sentinel, self.modulus,
        )  # fmt: skip


class ModbusConfig(ManagedConfig):
    kind: Literal["modbus"] = "modbus"
    host: str | None = Field(default=None, description="Name or address of the meter or its gateway (TCP).")
    port: int = Field(default=502, gt=0, lt=65536, description="TCP port.")
    device: str | None = Field(default=None, description="Serial line (RTU), such as /dev/ttyUSB0.")
    baud: int | None = Field(default=None, gt=0, description="Speed of the line; the model's, else 9600.")
    parity: Literal["N", "E", "O"] | None = Field(default=None, description="Parity; the model's, else N.")
    stop_bits: Literal[1, 2] = Field(default=1, description="Stop bits.")
    unit: int = Field(default=1, ge=0, le=247, description="Number of the meter on its line.")
    model: Literal["sdm120", "sdm230", "sdm72", "sdm630"] | None = Field(default=None, description="Table to use.")
    quantities: tuple[str, ...] = Field(default=("power", "energy"), description="Which numbers of a model are read.")
    registers: dict[str, RegisterNote] = Field(
        default_factory=dict, description="Numbers by channel, in place of a model."
    )
    most: int = Field(default=60, ge=4, le=REGISTERS, description="Most registers of one request.")
    resolution: float = Field(default=0.0, ge=0, description="Last digit of a model's power, W.")
    energy_resolution: float = Field(default=0.001, ge=0, description="Last digit of a model's energy, kWh.")
    interval: Seconds = Field(default=0.25, description="Time between two looks.")
    update: Seconds = Field(default=1.0, description="How often the meter updates its registers.")

    @model_validator(mode="after")
    def _meter_and_numbers_are_said(self) -> Self:
        if (self.host is None) == (self.device is None):
            raise ValueError("say either host (TCP) or device (a serial line)")
        if (self.model is None) == (not self.registers):
            raise ValueError("say either model or registers")
        numbers = self.numbers()
        if self.model and (unknown := set(self.quantities) - MODELS[self.model].numbers.keys()):
            there = ", ".join(MODELS[self.model].numbers)
            raise ValueError(f"the {self.model} has no {', '.join(sorted(unknown))} (there are: {there})")
        if unknown := {name for note in self.registers.values() for name in note.contains} - numbers.keys():
            raise ValueError(f"contains names no channel of registers: {', '.join(sorted(unknown))}")
        return self

    def numbers(self) -> dict[str, Number]:
        """By channel."""
        if self.model is None:
            return {name: note.number() for name, note in self.registers.items()}
        table = MODELS[self.model].numbers
        return {name: _finest(table[name], self) for name in self.quantities if name in table}

    def inside(self, name: str) -> tuple[str, ...]:
        """Channels whose energy is inside that of ``name``: of one supply, power counts in a total."""
        if self.model is None:
            return self.registers[name].contains
        energies = tuple(one for one in self.quantities if one.endswith("energy"))
        if name == "power":
            return energies
        return energies[1:] if energies and name == energies[0] and "power" not in self.quantities else ()


def _finest(number: Number, config: ModbusConfig) -> Number:
    """With the last digit the section says a model's register has."""
    digit = {"power": config.resolution, "energy": config.energy_resolution}.get(number.quantity, 0.0)
    return Number(number.address, number.unit, number.type, number.function, number.scale, digit)


class Modbus(Bare):
    """One channel for each number."""

    Config: ClassVar[type[ModbusConfig]] = ModbusConfig

    def __init__(self, config: ModbusConfig, raw: RawLog | None = None, link: ModbusLink | None = None) -> None:
        self.config, self.raw, self._given = config, raw or NoRawLog(), link
        self.poll_s: float | None = config.interval
        self._link: ModbusLink | None = None
        self._numbers = config.numbers()
        most, bridge = min(config.most, 2 * PARAMETERS), MODELS[config.model].bridge if config.model else 0
        self._blocks = [(block, Managed(config, self.raw)) for block in blocks(self._numbers, most, bridge)]
        self._failure: MeterError | None = None

    def configure(self) -> None:
        config = self.config
        self.close()  # a serial line is opened by one at a time, be it by us
        model = MODELS[config.model] if config.model else None
        self._link = self._given or PymodbusLink(
            config.unit, config.timeout, self.raw, host=config.host or "", port=config.port,
            device=config.device or "", baud=config.baud or (model.baud if model else 9600),
            parity=config.parity or (model.parity if model else "N"), stop_bits=config.stop_bits,
        )  # fmt: skip
        # One by one: a meter that lacks a register refuses the whole of a request, and does not say which one it is.
        self._failure = None
        first = {name: self._looked(name) for name in self._numbers}
        for block, of_block in self._blocks:
            of_block.forget()
            registers = []
            for name in block.names:
                number = self._numbers[name]
                modulus = number.wraps_at(NEVER_WRAPS_J) if number.quantity == "energy" else None
                step = number.step(first[name] or 0.0)
                unit, inside = UNITS[number.quantity], config.inside(name)
                made = register(config, name, number.quantity, unit, step, modulus=modulus, inside=inside)
                registers.append(made)
            of_block.has(registers)

    def _looked(self, name: str) -> float | None:
        number = self._numbers[name]
        block = Block(number.function, number.address, number.registers, (name,))
        return number.value(self._read(block))

    def _read(self, block: Block) -> list[int]:
        try:
            return self._online.read(block.function, block.address, block.count)
        except Refused as error:
            what = f"{', '.join(block.names)} (function {block.function}, register {block.address:#06x}): {error}"
            if error.code in FINAL:
                # What was there once may come back, as behind a gateway that starts anew.
                known = any(of_block.registers for _, of_block in self._blocks)
                raise (Reconnect if known else Fatal)(f"unit {self.config.unit} refuses {what}") from error
            raise Retry(f"unit {self.config.unit}: {what}") from error

    @property
    def _online(self) -> ModbusLink:
        if self._link is None:
            raise Reconnect("not connected")
        return self._link

    def describe(self) -> Description:
        config = self.config
        where = {name: f"{number.function}:{number.address:#06x}" for name, number in self._numbers.items()}
        identity = {
            "model": config.model or "registers of the section",
            "line": f"{config.host}:{config.port}" if config.host else config.device,
            "unit": config.unit, "registers": where,
        }  # fmt: skip
        channels = {one.channel.id: one.channel for _, of_block in self._blocks for one in of_block.registers}
        return Description(identity, tuple(channels[name] for name in self._numbers))

    def start(self) -> None:
        """Nothing: the meter measures all the time."""

    def next(self, deadline_ns: int) -> list[Reading]:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        readings: list[Reading] = []
        for block, of_block in self._blocks:
            try:
                readings += self._look(block, of_block)
            except MeterError as error:
                if not readings:
                    raise
                # What the requests before this one told is handed over first.
                self._failure = error
                break
        return readings

    def _look(self, block: Block, of_block: Managed) -> list[Reading]:
        before_ns = clock.now_ns()
        words = self._read(block)
        after_ns = clock.now_ns()
        values = []
        for name in block.names:
            number = self._numbers[name]
            at = number.address - block.address
            values.append(number.value(words[at : at + number.registers]))
        return of_block.seen(before_ns, after_ns, values)

    def stop(self) -> dict[str, Any] | None:
        closest_s = min(of_block.closest_s for _, of_block in self._blocks)
        return {"closest_changes_s": closest_s} if math.isfinite(closest_s) else None

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        self._link = None
