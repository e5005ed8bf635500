"""Reading an experiment file: TOML in, plain sections out; every error names file, line and key.

``${VAR}`` and ``${VAR:-default}`` in strings are taken from the environment. Paths are relative to the file, but for
``experiment.output``, which is relative to where the command is typed.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from iojoule.errors import ConfigError

SECTIONS = ("target", "workload", "meter")


@dataclass(frozen=True)
class Source:
    """An experiment file as written, and its sections as plain data."""

    path: Path
    text: str
    raw: dict[str, Any]
    settings: tuple[str, ...] = ()

    def line_of(self, section: str, index: int, key: str | None) -> int | None:
        """Line of ``key`` in the ``index``-th ``[[section]]``; the section's own line where the key is not written."""
        header = re.compile(rf"^\s*\[\[?\s*{re.escape(section)}\s*(\.[^\]]*)?\]\]?")
        count, found = -1, None
        for number, line in enumerate(self.text.splitlines(), start=1):
            if line.lstrip().startswith("["):
                match = header.match(line)
                if match and not match[1]:
                    count += 1
                if match and count == index:
                    found = found or number
                elif count > index or (count == index and not match):
                    break
            elif key and found and count == index and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", line):
                return number
        return found

    def error(self, message: str, section: str, index: int, key: str | None, **more: Any) -> ConfigError:
        return ConfigError(
            message,
            key=f"{section}.{key}" if key else section,
            file=self.path,
            line=self.line_of(section, index, key),
            **more,
        )


def load(path: Path, settings: Sequence[str] = ()) -> Source:
    """The file at ``path`` with ``settings`` (``workload.NAME.key=value``) written over it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the experiment: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"the experiment is not UTF-8 text: {error.reason} at byte {error.start}", file=path
        ) from error
    return loads(text, path, settings)


def loads(text: str, path: Path, settings: Sequence[str] = ()) -> Source:
    """``load`` of a text already read; ``path`` is its name in errors and the base of its relative paths."""
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"not TOML: {error}", file=path, line=int(line[1]) if line else None) from error
    return sections(raw, text, path, settings)


def sections(raw: dict[str, Any], text: str, path: Path, settings: Sequence[str] = ()) -> Source:
    """``loads`` of a document that is parsed already; ``text`` is only used to find lines."""
    raw = _expanded(raw, path)
    source = Source(path, text, raw, tuple(settings))
    for key in raw:
        if key not in ("experiment", *SECTIONS):
            unknown = ConfigError.unknown_key(key, ("experiment", *SECTIONS), file=path)
            unknown.line = source.line_of(key, 0, None) or _line_of_top(text, key)
            raise unknown
    for section in SECTIONS:
        entries = raw.setdefault(section, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise source.error(f"write [[{section}]], with two brackets", section, 0, None)
    if not isinstance(raw.setdefault("experiment", {}), dict):
        raise source.error("write [experiment]", "experiment", 0, None)
    for setting in settings:
        _set(source, setting)
    return source


def config_error(error: ValidationError, source: Source, section: str, index: int, keys: Iterable[str]) -> ConfigError:
    """What pydantic complains of, in the words of the file; an unknown key first, since it explains a missing one."""
    complaints = error.errors()
    # Of a key that is true or a table, given a table, that it is not true says nothing.
    telling = [c for c in complaints if not (c["type"].startswith("bool_") and isinstance(c["input"], Mapping))]
    complaints = telling or complaints
    first = next((c for c in complaints if c["type"] == "extra_forbidden"), complaints[0])
    location = [str(part) for part in first["loc"] if not isinstance(part, int)]
    key = location[-1] if location else None
    if first["type"] == "extra_forbidden" and key is not None:
        unknown = ConfigError.unknown_key(f"{section}.{'.'.join(location)}", keys, file=source.path)
        unknown.line = source.line_of(section, index, key)
        return unknown
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        message = f"{key!r} is missing"
    elif key is not None:
        message = f"{key}: {message[0].lower()}{message[1:]}"
    given = first.get("input")
    return source.error(message, section, index, key, value=given if isinstance(given, str | int | float) else None)


def _line_of_top(text: str, key: str) -> int | None:
    lines = text.splitlines()
    return next((n for n, line in enumerate(lines, 1) if re.match(rf"\s*{re.escape(key)}\s*=", line)), None)


def _expanded(value: Any, path: Path) -> Any:
    if isinstance(value, Mapping):
        return {key: _expanded(entry, path) for key, entry in value.items()}
    if isinstance(value, list):
        return [_expanded(entry, path) for entry in value]
    if isinstance(value, str):
        return re.sub(r"\$\{(\w+)(?::-([^}]*))?\}", lambda match: _variable(match, path), value)
    return value


def _variable(match: re.Match[str], path: Path) -> str:
    found = os.environ.get(match[1]) or match[2]
    if found is None:
        raise ConfigError(f"the environment has no {match[1]}; set it, or write ${{{match[1]}:-default}}", file=path)
    return found


def _set(source: Source, setting: str) -> None:
    name, separator, text = setting.partition("=")
    parts = name.strip().split(".")
    if not separator or len(parts) < 2:
        raise ConfigError(f"-S takes section.key=value or section.name.key=value, not {setting!r}", key="-S")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    for entry, keys in _addressed(source, parts, setting):
        for key in keys[:-1]:
            entry = entry.setdefault(key, {})
            if not isinstance(entry, dict):
                raise ConfigError(f"-S {setting}: {key} is no table", key="-S")
        entry[keys[-1]] = value


def _addressed(source: Source, parts: list[str], setting: str) -> list[tuple[dict[str, Any], list[str]]]:
    section, rest = parts[0], parts[1:]
    if section == "experiment":
        return [(source.raw["experiment"], rest)]
    if section not in SECTIONS:
        raise ConfigError.unknown_key(section, ("experiment", *SECTIONS))
    entries = source.raw[section]
    named = [entry for entry in entries if entry.get("name") == rest[0]]
    if named and len(rest) > 1:
        return [(entry, rest[1:]) for entry in named]
    if not entries:
        raise ConfigError(f"-S {setting}: the experiment has no [[{section}]]", key="-S")
    return [(entry, rest) for entry in entries]
