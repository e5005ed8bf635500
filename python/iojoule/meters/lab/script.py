"""A load written down in words: ``idle 5s, spin-up 2s, active 10s, 12.5W 3s``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from iojoule.meters.lab.load import State
from iojoule.quantities import seconds

#: Watts of the states that have names: a 3.5-inch drive at 12 V and 5 V together.
LEVELS: Mapping[str, float] = {"idle": 5.0, "active": 12.0, "spin-up": 24.0, "standby": 0.8}


def states(text: str, levels: Mapping[str, float] = LEVELS) -> list[State]:
    """The states a script names, in their order; ValueError where a part of it is none."""
    found = []
    for part in text.split(","):
        words = part.split()
        if len(words) != 2:
            raise ValueError(f"{part.strip()!r} is no state; write for example: idle 5s, active 10s, 12.5W 3s")
        watts = re.fullmatch(r"(\d+(?:\.\d+)?)W", words[0])
        if watts is None and words[0] not in levels:
            raise ValueError(
                f"there is no state {words[0]!r} (there are: {', '.join(levels)}, and watts such as 12.5W)"
            )
        length_s = seconds(words[1])
        if length_s <= 0:
            raise ValueError(f"{part.strip()!r}: a state lasts longer than 0 s")
        found.append(State(float(watts[1]) if watts else levels[words[0]], length_s))
    return found
