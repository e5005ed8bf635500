"""The sections of the experiment file that come in kinds, and the model each kind is read by."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, get_args

from pydantic import BaseModel

from iojoule.errors import ConfigError
from iojoule.quantities import nbytes, rate, seconds
from iojoule.targets import TARGETS
from iojoule.workloads import WORKLOADS

KINDS: Mapping[str, Mapping[str, str]] = {"target": TARGETS, "workload": WORKLOADS}


def model_of(section: str, raw: Mapping[str, Any]) -> type[BaseModel]:
    """The model class the ``kind`` of a section names; ConfigError where there is no such kind."""
    kinds, kind = KINDS[section], raw.get("kind")
    if kind is None:
        raise ConfigError(f"[[{section}]] needs a kind", key=f"{section}.kind", allowed=sorted(kinds))
    if not isinstance(kind, str) or kind not in kinds:
        nearest = ConfigError.unknown_key(str(kind), kinds).nearest
        raise ConfigError(
            f"{kind!r} is no kind of {section}",
            key=f"{section}.kind",
            value=kind,
            allowed=sorted(kinds),
            nearest=nearest,
        )
    return model_at(kinds[kind])


def model_at(place: str) -> type[BaseModel]:
    """The model at ``module:name``."""
    module, name = place.split(":")
    model: type[BaseModel] = getattr(import_module(module), name)
    return model


def quantity(field: Any) -> str | None:
    """``size``, ``time`` or ``rate``, where a field of a model is one that people write with a unit."""
    parts = (getattr(part, "__metadata__", ()) for part in get_args(field.annotation))
    parsers = [getattr(mark, "parse", None) for mark in (*field.metadata, *(mark for part in parts for mark in part))]
    return next(
        (name for parse, name in ((nbytes, "size"), (seconds, "time"), (rate, "rate")) if parse in parsers), None
    )
