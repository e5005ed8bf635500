"""``iojoule explain``: what a key of the experiment file means; the same text the manual is made from."""

from __future__ import annotations

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
    from iojoule.experiment.explained import keys

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
        print(f"  {entry['key']:26} {entry['description']}\n{'':29}{entry['type']}; {default}")


def _matches(entry: dict[str, Any], key: str) -> bool:
    """`meter.interval` and `meter.scpi.interval` say where the key stands; a plain `interval` may stand anywhere."""
    section, _, rest = key.partition(".")
    if rest and section in ("target", "workload", "meter", "experiment"):
        if not entry["section"].startswith((f"[[{section}]]", f"[{section}]")):
            return False
        kind, _, inner = rest.partition(".")
        if inner and kind == entry["kind"]:
            rest = inner
        key = rest
    return (
        not key
        or key in (entry["kind"], entry["key"], entry["key"].rsplit(".", 1)[-1])
        or entry["section"].startswith((f"[[{key}]]", f"[{key}]"))
    )
