"""Energy meters of the Eastron kind on Modbus: behind a TCP gateway, and on a serial line of 2400 baud.

Frames are made here byte by byte (Modbus Messaging on TCP/IP V1.0b; over Serial Line V1.02, CRC-16 with 0xA001), so
that a library at the other end finds out what is wrong with them.
"""

from __future__ import annotations

import contextlib
import os
import pty
import select
import socketserver
import struct
import threading
import tty
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from iojoule.meters import clock
from iojoule.meters.base import Reconnect
from iojoule.meters.lab.bmc import Sensor
from iojoule.meters.lab.faults import Faults
from iojoule.meters.lab.instrument import Make
from iojoule.meters.lab.load import Truth
from iojoule.meters.modbus_link import Refused

ILLEGAL_FUNCTION, ILLEGAL_ADDRESS, ILLEGAL_VALUE, BUSY = 1, 2, 3, 6
#: Registers the made meter has: its parameters, and its total.
AREAS = (range(0x0060), range(0x0156, 0x0158))
MOST = 80


class LabModbus:
    """A ``ModbusLink`` straight to a front; each byte takes ``byte_s``, and the meter ``turnaround_s`` to answer."""

    def __init__(self, front: ModbusFront, byte_s: float = 0.0, turnaround_s: float = 0.004) -> None:
        self._front, self._byte_s, self._turnaround_s = front, byte_s, turnaround_s

    def read(self, function: int, address: int, count: int) -> list[int]:
        clock.sleep(8 * self._byte_s + self._turnaround_s)
        answer = self._front.answer(self._front.NUMBER, struct.pack(">BHH", function, address, count), clock.now_ns())
        if answer is None:
            clock.sleep(1.0)
            raise Reconnect(f"unit {self._front.NUMBER}: no answer")
        clock.sleep((len(answer) + 3) * self._byte_s)
        if answer[0] & 0x80:
            raise Refused(answer[1])
        return list(struct.unpack(f">{count}H", answer[2:]))

    def close(self) -> None:
        pass


class ModbusFront(Sensor):
    ABOUT: ClassVar[str] = "an Eastron SDM120 behind a Modbus TCP gateway, 0.1 W and 1 Wh, updated every second"
    WATTS: ClassVar[tuple[float, float]] = (30.0, 500.0)
    MAKE: ClassVar[Make] = Make(rdg_pct=1.0, resolution=0.1, update_s=1.0, latency_s=0.3)
    NUMBER: ClassVar[int] = 1

    _address: tuple[str, int] = ("127.0.0.1", 502)

    def __init__(self, truth: Truth, seed: int = 0) -> None:
        super().__init__(truth, seed)
        #: What a test bends: values by register (NaN too), and exceptions in place of the next answers.
        self.instead: dict[int, float] = {}
        self.exceptions: deque[int] = deque()

    def section(self) -> dict[str, Any]:
        host, port = self._address
        return {
            "kind": "modbus", "host": host, "port": port, "unit": self.NUMBER, "model": "sdm120", "resolution": 0.1,
            **self.keys(),
        }  # fmt: skip

    def link(self) -> LabModbus:
        return LabModbus(self)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with _served_on_tcp(self.answer, self.faults, port) as self._address:
            yield "{}:{}".format(*self._address)

    def parameters(self, now_ns: int) -> dict[int, float]:
        """What the registers show, by the first of each pair."""
        watts, volts = self.watts(now_ns), 230.0
        kwh = self.counts(now_ns) / 1000
        return {
            0x0000: volts, 0x0006: watts / volts, 0x000C: watts, 0x0012: watts, 0x0018: 0.0, 0x001E: 1.0, 0x0034: watts,
            0x0046: 50.0, 0x0048: kwh, 0x0156: kwh, **self.instead,
        }  # fmt: skip

    def answer(self, unit: int, request: bytes, now_ns: int) -> bytes | None:
        """What is answered to a request, both without unit and check; None when another unit was asked."""
        if unit != self.NUMBER:
            return None
        function = request[0]
        if self.exceptions:
            return bytes([function | 0x80, self.exceptions.popleft()])
        if function != 4 or len(request) != 5:
            return bytes([function | 0x80, ILLEGAL_FUNCTION])
        address, count = struct.unpack(">HH", request[1:])
        if not 1 <= count <= MOST:
            return bytes([function | 0x80, ILLEGAL_VALUE])
        if not any(address in area and address + count - 1 in area for area in AREAS):
            return bytes([function | 0x80, ILLEGAL_ADDRESS])
        words = [0] * (count + 1)
        for register, value in self.parameters(now_ns).items():
            pair = struct.unpack(">HH", struct.pack(">f", value))
            for at, word in zip((register - address, register - address + 1), pair, strict=True):
                if 0 <= at < count:
                    words[at] = word
        return struct.pack(f">BB{count}H", function, 2 * count, *words[:count])


class ModbusRtuFront(ModbusFront):
    ABOUT: ClassVar[str] = "an Eastron SDM120 on a serial line of 2400 baud (Modbus RTU)"
    BAUD: ClassVar[int] = 2400

    _device = "/dev/null"

    def section(self) -> dict[str, Any]:
        line = {"kind": "modbus", "device": self._device, "unit": self.NUMBER, "model": "sdm120", "resolution": 0.1}
        return line | self.keys()

    def link(self) -> LabModbus:
        return LabModbus(self, 10 / self.BAUD, 0.02)

    @contextlib.contextmanager
    def served(self, port: int = 0) -> Iterator[str]:
        with _served_on_pty(self.answer, self.faults, 10 / self.BAUD) as self._device:
            yield self._device


Answer = Callable[[int, bytes, int], bytes | None]


@contextlib.contextmanager
def _served_on_tcp(answer: Answer, faults: Faults, port: int) -> Iterator[tuple[str, int]]:
    """On loopback; host and port."""
    connections: list[Any] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            connections.append(self.request)
            with contextlib.suppress(OSError):
                self._talk()

        def _talk(self) -> None:
            buffer = b""
            while data := self.request.recv(4096):
                buffer += data
                while len(buffer) >= 8 and len(buffer) >= (end := 6 + int.from_bytes(buffer[4:6], "big")):
                    head, unit, request = buffer[:4], buffer[6], buffer[7:end]
                    buffer = buffer[end:]
                    said = answer(unit, request, clock.now_ns())
                    if said is None:
                        continue
                    whole = head + struct.pack(">HB", len(said) + 1, unit) + said
                    for wait_s, part in faults.parts(whole):
                        clock.sleep(wait_s)
                        if part is None:
                            return
                        self.request.sendall(part)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="lab-modbus", daemon=True)
        thread.start()
        try:
            host, bound = server.server_address[:2]
            yield str(host), int(bound)
        finally:
            server.shutdown()
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(2)  # who is connected notices that the plug is pulled
            thread.join(5.0)


@contextlib.contextmanager
def _served_on_pty(answer: Answer, faults: Faults, byte_s: float) -> Iterator[str]:
    """On a pseudo-terminal, whose path it is. A frame ends where the line is still for 20 ms."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    ending = threading.Event()

    def heard() -> bytes:
        frame = b""
        while not ending.is_set():
            if select.select([ours], [], [], 0.02)[0]:
                frame += os.read(ours, 4096)
            elif frame:
                return frame
        return b""

    def talk() -> None:
        while frame := heard():
            if len(frame) < 4 or crc16(frame) != 0:
                continue  # a meter is silent when it is not sure
            said = answer(frame[0], frame[1:-2], clock.now_ns())
            if said is None:
                continue
            whole = frame[:1] + said
            for wait_s, part in faults.parts(whole + struct.pack("<H", crc16(whole))):
                if part is None:
                    break
                clock.sleep(wait_s + len(part) * byte_s)
                os.write(ours, part)

    thread = threading.Thread(target=talk, name="lab-modbus-rtu", daemon=True)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        ending.set()
        thread.join(5.0)
        os.close(ours)
        os.close(theirs)


def crc16(data: bytes) -> int:
    """0 over a frame with its own check."""
    check = 0xFFFF
    for byte in data:
        check ^= byte
        for _ in range(8):
            check = check >> 1 ^ (0xA001 if check & 1 else 0)
    return check
