"""Instruments on one load, served side by side on loopback, with the truth on disk beside them.

The truth is a table of cells: from when to when, mean watts, and joules since the bench was opened. What goes wrong
on a bench is done by a line of words (``command``): a fault of the next answers, a plug pulled and put back.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from iojoule.meters import clock, laboratory
from iojoule.meters.lab.faults import Fault
from iojoule.meters.lab.front import Front
from iojoule.meters.lab.load import Driven, Truth
from iojoule.meters.lab.table import FRONTS, front_class

LOOK_S = 0.02
"""How often a load that follows I/O looks at it."""
CELL_S = 0.1
"""Length of a row of the truth."""
FAULTS: tuple[str, ...] = get_args(Fault)
_PORT = re.compile(r"(?:127\.0\.0\.1|localhost)(?:::|:)(\d+)")


@dataclass
class Place:
    """One instrument on the bench. ``port`` 0 lets the kernel choose once; plugged in again, it is the same."""

    name: str
    front: Front
    port: int = 0
    address: str = ""
    served: ExitStack | None = field(default=None, repr=False)

    def plug(self) -> None:
        if self.served is None:
            self.served = ExitStack()
            self.address = self.served.enter_context(self.front.served(self.port))
            self.port = self.port or port_of(self.section()) or 0

    def unplug(self) -> None:
        if self.served is not None:
            self.served.close()
        self.served = None

    def section(self) -> dict[str, Any]:
        return {"name": self.name, **self.front.section()}


class Bench:
    """The instruments ``places`` on ``truth``. As a context it serves them all and writes the truth to ``record``."""

    def __init__(self, truth: Truth, places: Sequence[Place], record: Path | None = None) -> None:
        self.truth, self.places, self.record = truth, {place.name: place for place in places}, record
        self.opened_ns = 0
        self._ending = threading.Event()
        self._noted = ExitStack()
        self._thread = threading.Thread(target=self._keep, name="bench", daemon=True)

    def __enter__(self) -> Bench:
        self.opened_ns = clock.now_ns()
        try:
            for place in self.places.values():
                place.plug()
            self._noted.enter_context(laboratory.noted([place.section() for place in self.places.values()]))
        except BaseException:
            self._clear()
            raise
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._ending.set()
        self._thread.join()
        self._clear()

    def _clear(self) -> None:
        self._noted.close()
        for place in self.places.values():
            with contextlib.suppress(OSError):
                place.unplug()

    def joules(self) -> float:
        """The true energy since the bench was opened."""
        return self.truth.joules(self.opened_ns, clock.now_ns())

    def command(self, line: str) -> str:
        """Do what ``line`` says, such as ``silent wall 2`` or ``unplug wall``; what was done. ValueError otherwise."""
        words = line.split()
        if len(words) not in (2, 3) or (len(words) == 3 and not words[2].isdigit()):
            raise ValueError(
                f"{line.strip()!r}: write FAULT NAME [TIMES], with one of {', '.join(FAULTS)}, unplug, plug"
            )
        act, name = words[:2]
        if name not in self.places:
            raise ValueError(f"no instrument is named {name!r} (there are: {', '.join(self.places)})")
        place = self.places[name]
        if act == "unplug":
            place.unplug()
        elif act == "plug":
            place.plug()
        elif act in FAULTS:
            faults = getattr(place.front, "faults", None)
            if faults is None:
                raise ValueError(f"{name} has no line on which answers go wrong; it can be unplugged")
            faults.next.extend([act] * int(words[2] if len(words) == 3 else 1))
        else:
            raise ValueError(f"{act!r} is none of {', '.join(FAULTS)}, unplug, plug")
        return " ".join(words)

    def _keep(self) -> None:
        """Look at the I/O, and write each whole cell of the truth; a kill leaves all rows up to it."""
        cell_ns, start_ns = int(CELL_S * 1e9), self.opened_ns
        with contextlib.ExitStack() as stack:
            file = stack.enter_context(self.record.open("w", buffering=1)) if self.record else None
            if file:
                file.write("start_ns,end_ns,watts,joules\n")
            while True:
                ended = self._ending.wait(LOOK_S)
                now_ns = clock.now_ns()
                if isinstance(self.truth, Driven):
                    self.truth.look(now_ns)
                while file and start_ns + cell_ns <= now_ns - cell_ns:
                    end_ns = start_ns + cell_ns
                    watts = self.truth.joules(start_ns, end_ns) / CELL_S
                    file.write(f"{start_ns},{end_ns},{watts!r},{self.truth.joules(self.opened_ns, end_ns)!r}\n")
                    start_ns = end_ns
                if ended:
                    return


def place_of(section: Mapping[str, Any], truth: Truth, seed: int) -> Place:
    """The instrument that answers at the address of a ``[[meter]]`` section; ValueError where none can."""
    kind, port = str(section.get("kind")), port_of(section)
    name = str(section.get("name") or kind)
    fronts = [front_class(front_name)(truth, seed) for front_name in FRONTS]
    ours = [front for front in fronts if front.section()["kind"] == kind]
    if not ours:
        kinds = sorted({front.section()["kind"] for front in fronts})
        raise ValueError(f"{name}: the laboratory has no instrument of kind {kind!r} (it has: {', '.join(kinds)})")
    for front in ours:
        if port and port_of(front.section()):
            return Place(name, front, port)
    raise ValueError(f"{name}: give it an address on 127.0.0.1 with a port, or let --front choose where it is served")


def port_of(section: Mapping[str, Any]) -> int | None:
    """The loopback port a section names, in a key ``port`` or inside an address; None where it names none."""
    if isinstance(section.get("port"), int):
        return int(section["port"])
    found = (_PORT.search(value) for value in section.values() if isinstance(value, str))
    return next((int(match[1]) for match in found if match), None)


def toml(sections: Sequence[Mapping[str, Any]]) -> str:
    """``[[meter]]`` sections as they are written."""
    parts = []
    for section in sections:
        flat = {key: value for key, value in section.items() if not isinstance(value, Mapping)}
        parts.append("\n".join(["[[meter]]", *(f"{key} = {_written(value)}" for key, value in flat.items())]))
        for key, value in section.items():
            if isinstance(value, Mapping):
                parts.append(f"[meter.{key}]\n" + "\n".join(f"{_key(k)} = {_written(v)}" for k, v in value.items()))
    return "\n\n".join(parts) + "\n"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else f'"{name}"'


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(str(k))} = {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(one) for one in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
