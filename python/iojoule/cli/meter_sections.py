"""The meters a command is about: the ``[[meter]]`` sections of a file, or one made from ``--kind`` and ``-S``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from iojoule.meters.config import MeterConfig

FileArgument = Annotated[Path | None, typer.Argument(help="A file with meter sections, such as an experiment.")]
KindOption = Annotated[str | None, typer.Option("--kind", help="Without a file: the kind of one meter.")]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("-S", "--set", help="Override: meter.key=value or meter.NAME.key=value; with --kind just key=value."),
]


def meters_of(file: Path | None, kind: str | None, settings: Sequence[str] | None) -> list[MeterConfig]:
    """The checked sections, at least one; ConfigError with file, line and key otherwise."""
    from iojoule.errors import ConfigError
    from iojoule.experiment.parse import load, loads
    from iojoule.experiment.plan import read_meters

    if (file is None) == (kind is None):
        raise ConfigError("name a file with [[meter]] sections, or a meter with --kind and -S key=value")
    if file is not None:
        found = read_meters(load(file, settings or ()))
    else:
        written = [s if s.startswith("meter.") else f"meter.{s}" for s in settings or ()]
        source = loads(f'[[meter]]\nkind = "{kind}"\n', Path("--kind"), written)
        found = read_meters(source)
    if not found:
        raise ConfigError("there is no [[meter]] in it", file=file)
    return found
