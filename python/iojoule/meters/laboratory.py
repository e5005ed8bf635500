"""Which meters are instruments of the laboratory, so that no made watt is taken for a measured one.

They cannot be told by what they say: they speak as real ones do. A bench that serves notes the addresses of its
instruments in a file of the system's temporary folder, locked for as long as it serves; a meter whose section names
one of them says so in its identity, which goes wherever its readings go.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

MADE = "made by iojoule meter lab, not measured"
_PLACE = re.compile(r"(?:127\.0\.0\.1|localhost)(?:::|:|/)(\d+)|(?:^|ASRL)(/[^\s:,]+)")
_LOOPBACK = ("127.0.0.1", "localhost")


@contextlib.contextmanager
def noted(sections: Sequence[Mapping[str, Any]]) -> Iterator[None]:
    """While the block lasts, the meters of these sections are known to be made."""
    with tempfile.NamedTemporaryFile("w", prefix="iojoule-laboratory-", suffix=".json") as file:
        Path(file.name).chmod(0o644)
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump(sorted(set[str]().union(*map(_places, sections))), file)
        file.flush()
        yield


def is_made(section: Mapping[str, Any]) -> bool:
    """Whether a bench serves, now and on this machine, what this section reads."""
    wanted = _places(section)
    return bool(wanted) and any(wanted & served for served in _benches())


def _benches() -> Iterator[set[str]]:
    for path in Path(tempfile.gettempdir()).glob("iojoule-laboratory-*.json"):
        with contextlib.suppress(OSError, ValueError), path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # granted: the bench was killed
            except BlockingIOError:
                yield set(json.load(file))


def _places(section: Mapping[str, Any]) -> set[str]:
    """Loopback ports and paths, the only addresses the laboratory has."""
    texts = [str(value) for value in section.values() if isinstance(value, str | Path)]
    places = {port or path for text in texts for port, path in _PLACE.findall(text)}
    if isinstance(section.get("port"), int) and any(text in _LOOPBACK for text in texts):
        places.add(str(section["port"]))
    return places
