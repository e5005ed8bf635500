"""Every key of the experiment file with its type, default and meaning, read off the models themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from iojoule.experiment.model import Header
from iojoule.experiment.plan import nested_model
from iojoule.experiment.sections import KINDS, model_at, quantity
from iojoule.meters import meter_config_models


def keys() -> Iterator[dict[str, Any]]:
    """Every key of the experiment file: section, kind, key, type, default, description."""
    yield from _keys("[experiment]", "experiment", Header, "")
    for section, kinds in KINDS.items():
        for kind, place in kinds.items():
            yield from _keys(f'[[{section}]] kind = "{kind}"', kind, model_at(place), "")
    for kind, model in meter_config_models().items():
        yield from _keys(f'[[meter]] kind = "{kind}"', kind, model, "")


def _keys(section: str, kind: str, model: Any, prefix: str) -> Iterator[dict[str, Any]]:
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        nested = nested_model(field.annotation)
        yield {
            "section": section,
            "kind": kind,
            "key": key,
            "type": quantity(field) or ("table" if nested else _type(field.annotation)),
            "required": field.is_required(),
            "default": None if field.is_required() or nested else _default(field),
            "description": field.description or "",
        }
        if nested is not None:
            yield from _keys(section, kind, nested, f"{key}.")


def _default(field: Any) -> Any:
    value = field.get_default(call_default_factory=True)
    return str(value) if value is not None and not isinstance(value, str | int | float | bool | list | dict) else value


def _type(annotation: Any) -> str:
    text = getattr(annotation, "__name__", None) if isinstance(annotation, type) else str(annotation)
    names = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}
    text = (
        str(text).replace("typing.", "").replace("pathlib._local.", "").replace("pathlib.", "").replace("datetime.", "")
    )
    text = re.sub(r"iojoule\.[\w.]+\.\w+", "table", text)
    text = text.replace("Literal[", "one of [").replace(" | None", "")
    if union := re.fullmatch(r"Union\[(\w+), (.*?)(?:, NoneType)?\]", text):
        return f"{names.get(union[1], union[1])} or {union[2]}"
    return names.get(text, text)
