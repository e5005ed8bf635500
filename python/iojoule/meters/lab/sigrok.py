"""What sigrok-cli prints of the made 34401A: served, the real program reads the front; else its lines are made here."""

from __future__ import annotations

import math
from typing import Any

from iojoule.meters import clock
from iojoule.meters.lab.scpi_dmm import IDENTITY, WATTS_PER_VOLT, ScpiDmmFront

#: From the end of a measurement until the line is there, as sigrok-cli 0.7.2 took on a machine at rest.
PRINTED_AFTER_S = 0.0015


class SigrokFront(ScpiDmmFront):
    ABOUT = "a 34401A multimeter that sigrok-cli reads over TCP, on a transducer of 10 W/V"

    def section(self) -> dict[str, Any]:
        host, port = self._address
        return {
            "kind": "sigrok", "device": f"scpi-dmm:conn=tcp-raw/{host}/{port}", "identity": "34401A",
            "interval": "200ms", "window": "200ms", "latency": "20ms",
            "channels": [
                # It pauses between two measurements, longer on a busy machine: samples, not a mean over all the time.
                {"id": "power", "kind": "instant", "shows": "P1", "measured": "V DC", "unit": "W",
                 "scale": WATTS_PER_VOLT, "boundary": "ac_wall", "accuracy": [0.1, 0.05, 100.0]},
            ],
        }  # fmt: skip

    def link(self) -> Any:
        return Printed(self)


class Printed:
    """The lines of the program, on the clock in use: as fast as the multimeter measures."""

    def __init__(self, front: SigrokFront) -> None:
        self._front = front

    def found(self) -> str:
        maker, model, serial, firmware = IDENTITY.split(",")
        return f"{maker} {model} {firmware} [S/N: {serial}] with 1 channel: P1"

    def lines(self, deadline_ns: int) -> tuple[int, list[str]]:
        at_ns, answer = self._front.answer("READ?", clock.now_ns())
        assert answer is not None
        clock.sleep_until(at_ns + int(PRINTED_AFTER_S * 1e9))
        return clock.now_ns(), [printed(float(answer))]

    def close(self) -> None:
        pass


def printed(volts: float) -> str:
    """A line of the program: at least one digit before the point, in volts or millivolts."""
    if abs(volts) >= 9.9e37:
        return f"P1: {math.copysign(math.inf, volts)} mV DC"
    return f"P1: {volts:.5f} V DC" if abs(volts) >= 1 else f"P1: {volts * 1000:.4f} mV DC"
