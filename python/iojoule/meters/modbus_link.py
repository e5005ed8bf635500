"""Modbus over TCP and over a serial line (RTU), through pymodbus: one request, its answer or none.

TCP numbers its requests; on a serial line nothing tells an answer from that to an earlier question. So a request that
was not answered in time ends the connection, and a serial line is only asked again when it has been still for a while.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any, Protocol

from iojoule.meters import clock
from iojoule.meters.base import Fatal, NoRawLog, RawLog, Reconnect

#: What a meter says instead of registers (Modbus Application Protocol V1.1b3, §7).
EXCEPTIONS = {
    1: "illegal function", 2: "illegal data address", 3: "illegal data value", 4: "device failure",
    5: "acknowledge", 6: "device busy", 8: "memory parity error", 10: "gateway path unavailable",
    11: "gateway target failed to respond",
}  # fmt: skip


class Refused(Exception):  # noqa: N818 - an answer, not a failure of the line
    """The meter answered with an exception; ``code`` is one of EXCEPTIONS."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__(f"{EXCEPTIONS.get(code, 'exception')} ({code})")


class ModbusLink(Protocol):
    """What the driver needs of a line; a laboratory gives its own."""

    def read(self, function: int, address: int, count: int) -> list[int]:
        """``count`` registers by function 3 or 4; Refused, or Reconnect where no whole answer comes in time."""

    def close(self) -> None: ...


class PymodbusLink:
    """One unit of a line. ``host`` for TCP, ``device`` for a serial line."""

    def __init__(
        self,
        unit: int,
        timeout_s: float,
        raw: RawLog | None = None,
        *,
        host: str = "",
        port: int = 502,
        device: str = "",
        baud: int = 9600,
        parity: str = "N",
        stop_bits: int = 1,
    ) -> None:
        try:
            from pymodbus.client import ModbusSerialClient, ModbusTcpClient
            from pymodbus.exceptions import ModbusException
        except ImportError as error:
            raise Fatal("the library pymodbus is missing: pip install 'iojoule[meters]'") from error
        logging.getLogger("pymodbus.logging").setLevel(logging.CRITICAL)  # what it complains of is raised, too
        self._unit, self._raw, self._failure = unit, raw or NoRawLog(), ModbusException
        self._heard = b""
        said: dict[str, Any] = {"timeout": timeout_s, "retries": 0, "trace_packet": self._trace}
        try:
            self._client: Any = (
                ModbusSerialClient(device, baudrate=baud, parity=parity, stopbits=stop_bits, **said)
                if device
                else ModbusTcpClient(host, port=port, **said)
            )
        except RuntimeError as error:
            raise Fatal(f"{error}: pip install 'iojoule[meters]'") from error
        if device and Path(device).exists() and not os.access(device, os.R_OK | os.W_OK):
            raise Fatal(f"{device}: permission denied; add the user to its group (often dialout)")
        if not self._client.connect():
            raise Reconnect(f"{device or f'{host}:{port}'} cannot be opened")
        line: Any = self._client.socket
        if device:
            # An answer to a question of before may still be on its way.
            clock.sleep(timeout_s)
            with contextlib.suppress(OSError):
                line.reset_input_buffer()

    def _trace(self, sending: bool, data: bytes) -> bytes:
        """The library shows what it has heard of an answer so far, from the beginning each time."""
        if sending:
            self._heard = b""
            self._raw.sent(data)
        else:
            new = data[len(self._heard) :] if data.startswith(self._heard) else data
            self._heard = data
            if new:
                self._raw.received(new)
        return data

    def read(self, function: int, address: int, count: int) -> list[int]:
        ask = self._client.read_holding_registers if function == 3 else self._client.read_input_registers
        where = f"unit {self._unit}, register {address:#06x}"
        try:
            answer = ask(address, count=count, device_id=self._unit)
        except (self._failure, OSError, ValueError, IndexError, ArithmeticError) as error:
            self.close()
            raise Reconnect(f"{where}: {error}") from error
        except Exception as error:  # of bytes that are no answer the library makes errors of any kind
            self.close()
            raise Reconnect(f"{where}: {type(error).__name__}: {error}") from error
        if answer.isError():
            raise Refused(answer.exception_code)
        if answer.function_code != function or len(answer.registers) != count:
            self.close()
            raise Reconnect(f"{where}: {len(answer.registers)} registers answered where {count} were asked for")
        return [int(word) for word in answer.registers]

    def close(self) -> None:
        with contextlib.suppress(Exception):  # a line that is gone cannot be closed better
            self._client.close()
