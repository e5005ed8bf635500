"""``iojoule meter manual-note``: what a display shows, told while a run goes on; and asking for it on a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from iojoule.meters.manual import ManualConfig


def manual_note(
    place: Annotated[Path, typer.Argument(help="A file of notes, or the folder of a run or campaign that goes on.")],
    words: Annotated[list[str], typer.Argument(help="VALUE; for a folder NAME VALUE, the name of the meter first.")],
    at: Annotated[str | None, typer.Option(help="When it was read, in UTC; now if left out.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Note what the display of a meter of kind manual shows, now or at a time.

    Examples:  iojoule meter manual-note wall.notes 1234.5 · iojoule meter manual-note runs/20260101T12_web wall 1234.5
    """
    import time

    from iojoule.cli import console
    from iojoule.cli.values import value_of
    from iojoule.errors import ConfigError
    from iojoule.meters.log_text import stamp
    from iojoule.meters.manual import note

    if len(words) != (2 if place.is_dir() else 1):
        raise ConfigError("give FOLDER NAME VALUE, or FILE VALUE", value=" ".join([str(place), *words]))
    value = value_of(words[-1].replace(",", "."), float, "VALUE")
    path = _notes_of(place, words[0]) if place.is_dir() else place
    if not place.parent.is_dir():
        raise ConfigError(f"there is no folder {place.parent}", key="FILE")
    at_ns = time.monotonic_ns()
    if at is not None:
        at_ns = value_of(at, stamp, "--at").ns - (time.time_ns() - at_ns)
    note(path, value, at_ns)
    if json:
        console.document({"notes": str(path), "ns": at_ns, "value": value})
    else:
        print(f"noted {value:g} in {path}")


def _notes_of(folder: Path, meter: str) -> Path:
    """The file of notes of a meter in the run of ``folder`` that goes on."""
    from iojoule.errors import ConfigError
    from iojoule.store.reader import open_run

    runs = [folder] if (folder / "events.jsonl").exists() else sorted(folder.glob("runs/*"))
    if not runs:
        raise ConfigError(f"{folder} is no folder of a run", key="FOLDER")
    run = open_run(runs[-1])
    if (known := [str(one["name"]) for one in run.meters]) and meter not in known:
        raise ConfigError(f"the run has no meter {meter!r} (it has: {', '.join(known)})", key="NAME")
    if run.status != "running":
        raise ConfigError(f"{runs[-1].name} is over: its meters read no more notes", key="FOLDER")
    return runs[-1] / "raw" / f"{meter}.notes"


def asked(config: ManualConfig, when: str) -> float | None:
    """What a person on this terminal says the display shows; None where there is none, or the answer is empty."""
    import sys

    while sys.stdin.isatty() and sys.stderr.isatty():
        print(f"{config.name} shows {when} ({config.unit}): ", end="", file=sys.stderr, flush=True)
        text = sys.stdin.readline().strip().replace(",", ".")
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            print(f"{text!r} is no number", file=sys.stderr)
    return None
