"""The dialogue of SCPI instruments: set and ask back, registers, lists of numbers.

A meter that answers something else than was asked for has lost the order of question and answer: ``Reconnect``.
"""

from __future__ import annotations

import re

from iojoule.meters.base import Fatal, Reconnect
from iojoule.meters.visa import Link

_UNITS = {"MS": 1e-3, "S": 1.0, "MV": 1e-3, "V": 1.0, "MA": 1e-3, "A": 1.0, "": 1.0}


class Dialogue:
    """What is said to an instrument over one link."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.say = link.write
        self.ask = link.query
        self.close = link.close

    def confirm(self, setting: str, value: str) -> str:
        """Set, ask back, and return what the instrument says it is now; Fatal when that is something else."""
        self.say(f"{setting} {value}")
        answer = self.ask(f"{setting}?")
        if plain(answer) != plain(value) and plain(answer := self.ask(f"{setting}?")) != plain(value):
            # Asked twice: noise on the line is no reason to give a meter up.
            raise Fatal(f"{setting} {value} was not taken: the meter says {answer}")
        return answer

    def register(self, command: str) -> int:
        """The integer a status query answers."""
        answer = self.ask(command)
        if not re.fullmatch(r"[+-]?\d+", answer.strip()):
            raise Reconnect(f"{command}: {answer[:80]!r} is not a register")
        return int(answer)

    def numbers(self, command: str, count: int, timeout_s: float | None = None) -> list[float]:
        """``count`` numbers separated by commas; NAN and INF are numbers here."""
        return self.row(command, count, timeout_s)[0]

    def row(self, command: str, count: int, timeout_s: float | None = None) -> tuple[list[float], int]:
        """``numbers``, and how many bytes the answer had on the line."""
        answer = self.ask(command, timeout_s)
        try:
            values = [float(word) for word in answer.split(",")]
        except ValueError:
            values = []
        if len(values) != count:
            raise Reconnect(f"{command}: {answer[:80]!r} is not {count} numbers")
        return values, len(answer) + 2


def amount(value: float, unit: str) -> str:
    """``300V``, ``500MA``: a range as it is sent."""
    return f"{value:g}{unit}" if value >= 1 else f"{value * 1000:g}M{unit}"


def plain(text: str) -> str | float:
    """A setting written in one of several ways, made comparable: ``250MS`` and ``250.0E-03``, ``OFF`` and ``0``."""
    text = text.strip().upper().rpartition(" ")[2]
    text = {"ON": "1", "OFF": "0", "ASC": "ASCII"}.get(text, text)
    match = re.fullmatch(r"([+-]?[\d.]+(?:E[+-]?\d+)?)([A-Z]*)", text)
    return round(float(match[1]) * _UNITS[match[2]], 9) if match and match[2] in _UNITS else text
