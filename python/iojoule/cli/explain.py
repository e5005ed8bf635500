"""``iojoule explain``: what a key of the experiment file means; the same text the manual is made from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer


def app(
    key: Annotated[str, typer.Argument(help="Section or key: workload, web_replay, workload.speedup, speedup, …")] = "",
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """What the keys of the experiment file mean, what they take, and their defaults.

    Examples:  iojoule explain · iojoule explain web_replay · iojoule explain speedup
    """
    from iojoule.cli import console
    from iojoule.errors import ConfigError

    entries = list(keys())
    found = [entry for entry in entries if _matches(entry, key)]
    if not found:
        raise ConfigError.unknown_key(key, {entry["key"] for entry in entries} | {entry["kind"] for entry in entries})
    if json:
        console.document({"keys": found})
        return
    section = None
    for entry in found:
        if entry["section"] != section:
            section = entry["section"]
            print(f"\n{section}")
        default = "required" if entry["required"] else f"default {entry['default']}"
        print(f"  {entry['key']:22} {entry['description']}\n{'':25}{entry['type']}; {default}")


def keys() -> Iterator[dict[str, Any]]:
    """Every key of the experiment file: section, kind, key, type, default, description."""
    from iojoule.experiment.model import Header
    from iojoule.experiment.sections import KINDS, model_at
    from iojoule.meters import meter_config_models

    yield from _keys("[experiment]", "experiment", Header, "")
    for section, kinds in KINDS.items():
        for kind, place in kinds.items():
            yield from _keys(f'[[{section}]] kind = "{kind}"', kind, model_at(place), "")
    for kind, model in meter_config_models().items():
        yield from _keys(f'[[meter]] kind = "{kind}"', kind, model, "")


def _keys(section: str, kind: str, model: Any, prefix: str) -> Iterator[dict[str, Any]]:
    from iojoule.experiment.plan import nested_model

    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        nested = nested_model(field.annotation)
        yield {
            "section": section,
            "kind": kind,
            "key": key,
            "type": "table" if nested else _type(field.annotation),
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
    text = str(text).replace("typing.", "").replace("pathlib._local.", "").replace("pathlib.", "")
    text = text.replace("Literal[", "one of [").replace(" | None", "")
    return names.get(text, text)


def _matches(entry: dict[str, Any], key: str) -> bool:
    wanted = (
        key.rsplit(".", 1)[-1]
        if key.split(".")[0] in ("target", "workload", "meter", "experiment") and "." in key
        else key
    )
    return (
        not key
        or entry["kind"] == wanted
        or entry["key"] == wanted
        or entry["key"].rsplit(".", 1)[-1] == wanted
        or entry["section"].startswith((f"[[{key}]]", f"[{key}]"))
    )
