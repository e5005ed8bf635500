"""A design file: TOML, strict, and every list where one value may stand is a sweep.

Axes are multiplied with each other, in the order of the file, the last one changing fastest. Axes that ``[sweep] zip``
puts into one group go in step instead. Every ``[[case]]`` is a named set of overrides, written as the sections it
changes; each case is swept by itself. Paths are relative to the file.
"""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from iojoule.errors import ConfigError
from iojoule.experiment.parse import Source, config_error
from iojoule.sim.sections import SECTIONS, Design, model_of

MOST_POINTS = 100_000
"""A sweep with more points than this is taken for a mistake."""

Raw = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One design to be simulated; ``parameters`` are the swept keys (``array.drives``) and the ``case``."""

    index: int
    parameters: dict[str, Any]
    design: Design


@dataclass(frozen=True)
class Sweep:
    """A design file unrolled."""

    source: Source
    name: str
    description: str
    points: list[Point]

    @property
    def axes(self) -> dict[str, list[Any]]:
        """Values of every parameter in the order they first come."""
        axes: dict[str, list[Any]] = {}
        for point in self.points:
            for key, value in point.parameters.items():
                seen = axes.setdefault(key, [])
                if value not in seen:
                    seen.append(value)
        return axes


def read(path: Path, settings: Sequence[str] = ()) -> Sweep:
    """The sweep of the design at ``path``, with ``settings`` (``array.drives=[4, 8]``) written over it."""
    return _read(path, settings, {})


def _read(path: Path, settings: Sequence[str], asked: Mapping[str, Raw]) -> Sweep:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read the design: {error.strerror}", file=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the design is not UTF-8 text: {error.reason} at byte {error.start}", file=path) from error
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise ConfigError(f"not TOML: {error}", file=path, line=int(line[1]) if line else None) from error
    for section, keys in asked.items():
        if isinstance(raw.setdefault(section, {}), dict):
            raw[section] = _over({section: raw[section]}, {section: keys})[section]
    for setting in settings:
        _set(raw, setting)
    return unroll(Source(path, text, raw))


def of(raw: Raw, base: Path | None = None) -> Sweep:
    """The sweep of sections given as plain data; paths are relative to ``base`` (default: here)."""
    return unroll(Source((base or Path()) / "design", "", raw))


def unroll(source: Source) -> Sweep:
    """Every point of the design, checked; nothing is simulated and no trace is opened."""
    raw = source.raw
    for key in raw:
        if key not in SECTIONS and key not in ("case", "sweep"):
            unknown = ConfigError.unknown_key(key, (*SECTIONS, "case", "sweep"), file=source.path)
            unknown.line = source.line_of(key, 0, None)
            raise unknown
    groups = _zip_groups(source)
    points: list[Point] = []
    for index, (case, sections) in enumerate(_cases(source)):
        for parameters, chosen in _combinations(source, sections, groups):
            shown = {"case": case, **parameters} if case is not None else parameters
            points.append(Point(len(points), shown, _design(source, chosen, index if case else None)))
            if len(points) > MOST_POINTS:
                raise ConfigError(f"the design has more than {MOST_POINTS:,} points", file=source.path)
    if not points:
        raise ConfigError("the design has no points", file=source.path)
    header = points[0].design.design
    return Sweep(source, header.name or source.path.stem, header.description, points)


def _cases(source: Source) -> Iterator[tuple[str | None, Raw]]:
    base = {key: value for key, value in source.raw.items() if key in SECTIONS}
    cases = source.raw.get("case", [])
    if not isinstance(cases, list) or not all(isinstance(case, dict) for case in cases):
        raise source.error("write [[case]], with two brackets", "case", 0, None)
    if not cases:
        yield None, base
    names: set[str] = set()
    for index, case in enumerate(cases):
        name = case.get("name", f"case {index + 1}")
        if not isinstance(name, str) or name in names:
            raise source.error(f"a case needs a name of its own, not {name!r}", "case", index, "name")
        names.add(name)
        for key, value in case.items():
            if key not in (*SECTIONS, "name"):
                unknown = ConfigError.unknown_key(f"case.{key}", (*SECTIONS, "name"), file=source.path)
                unknown.line = source.line_of("case", index, key)
                raise unknown
            if key != "name" and key != "fault" and not isinstance(value, dict):
                raise source.error(f"{key} is a section: write [case.{key}]", "case", index, key)
        yield name, _over(base, {key: value for key, value in case.items() if key != "name"})


def _over(base: Raw, changes: Raw) -> Raw:
    """``base`` with the keys of ``changes``; a case that names another kind starts its section anew."""
    merged = dict(base)
    for key, change in changes.items():
        old = merged.get(key)
        anew = not isinstance(old, dict) or key == "fault" or _kind_of(key, change) not in (None, _kind_of(key, old))
        merged[key] = change if anew else {**(old or {}), **change}
    return merged


def _kind_of(section: str, raw: Raw) -> Any:
    match section:
        case "policy":
            return raw.get("kind")
        case "drive":
            return next((key for key in ("preset", "file") if key in raw), None)
        case "trace":
            return next((key for key in ("file", "synth", "random", "weblog") if key in raw), None)
    return None


def _zip_groups(source: Source) -> list[list[str]]:
    given = source.raw.get("sweep", {})
    if not isinstance(given, dict):
        raise source.error("write [sweep]", "sweep", 0, None)
    for key in given:
        if key != "zip":
            unknown = ConfigError.unknown_key(f"sweep.{key}", ("zip",), file=source.path)
            unknown.line = source.line_of("sweep", 0, key)
            raise unknown
    groups: Any = given.get("zip", [])
    shaped = isinstance(groups, list) and all(
        isinstance(group, list) and len(group) > 1 and all(isinstance(key, str) for key in group) for group in groups
    )
    if not shaped:
        raise source.error('zip is a list of groups of keys: [["array.drives", "trace.speed"]]', "sweep", 0, "zip")
    return [list(group) for group in groups]


def _combinations(
    source: Source, sections: Raw, groups: Sequence[Sequence[str]]
) -> Iterator[tuple[dict[str, Any], Raw]]:
    axes = dict(_axes(source, sections))
    for key, values in axes.items():
        if not values:
            section, _, name = key.partition(".")
            raise source.error("an empty list sweeps nothing", section, 0, name)
    if math.prod(len(values) for values in axes.values()) > MOST_POINTS * 10:
        raise ConfigError(f"the design has more than {MOST_POINTS:,} points", file=source.path)
    steps: list[list[dict[str, Any]]] = []
    for key, values in axes.items():
        group = next((group for group in groups if key in group), [key])
        members = [one for one in group if one in axes]
        if key != members[0]:
            continue
        lengths = {one: len(axes[one]) for one in members}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{one} has {length}" for one, length in lengths.items())
            raise source.error(f"keys that go in step need as many values: {said}", "sweep", 0, "zip")
        steps.append([{one: axes[one][i] for one in members} for i in range(len(values))])
    for step in itertools.product(*steps):
        parameters = {key: value for part in step for key, value in part.items()}
        yield parameters, _with(sections, parameters)


def _axes(source: Source, sections: Raw) -> Iterator[tuple[str, list[Any]]]:
    """Keys that hold a list where one value stands, or a list of lists where a list stands."""
    for section, raw in sections.items():
        if section == "fault":
            continue
        if not isinstance(raw, dict):
            raise source.error(f"write [{section}]", section, 0, None)
        yield from _axes_of(section, raw, _model_of(source, section, raw))


def _model_of(source: Source, section: str, raw: Raw) -> type[BaseModel]:
    try:
        return model_of(section, raw)
    except ConfigError as error:
        error.file, error.line = str(source.path), source.line_of(section, 0, "kind")
        raise


def _axes_of(path: str, raw: Raw, model: type[BaseModel] | None) -> Iterator[tuple[str, list[Any]]]:
    for key, value in raw.items():
        field = model.model_fields.get(key) if model else None
        annotation = str(field.annotation) if field else ""
        nested = _nested(field.annotation) if field else None
        if isinstance(value, dict) and nested is not None:
            yield from _axes_of(f"{path}.{key}", value, nested)
        elif isinstance(value, dict):
            yield from ((f"{path}.{key}.{name}", many) for name, many in value.items() if _sweeps(many))
        elif isinstance(value, list) and ("list[" not in annotation or any(isinstance(one, list) for one in value)):
            yield f"{path}.{key}", value


def _sweeps(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(one, dict) for one in value)


def _nested(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _with(sections: Raw, parameters: Mapping[str, Any]) -> Raw:
    chosen = dict(sections)
    for key, value in parameters.items():
        parts = key.split(".")
        place = chosen
        for part in parts[:-1]:
            place[part] = dict(place[part])
            place = place[part]
        place[parts[-1]] = value
    return chosen


def _design(source: Source, sections: Raw, case: int | None) -> Design:
    values: Raw = {}
    for section, raw in sections.items():
        if section == "fault":
            continue
        model = _model_of(source, section, raw)
        try:
            values[section] = model.model_validate(_resolved(raw, model, source.path.parent))
        except ValidationError as error:
            raise _in_file(error, source, section, model, case) from error
    faults = sections.get("fault", [])
    if not isinstance(faults, list) or not all(isinstance(fault, dict) for fault in faults):
        raise source.error("write [[fault]], with two brackets", "fault", 0, None)
    values["fault"] = faults
    try:
        return Design.model_validate(values)
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        section = str(place[0]) if place else "design"
        index = next((part for part in place if isinstance(part, int)), 0)
        raise config_error(error, source, section, index, _keys(model_of(section, {}))) from error


def _in_file(
    error: ValidationError, source: Source, section: str, model: type[BaseModel], case: int | None
) -> ConfigError:
    """The complaint with its line: in the section, or in the case that writes over it."""
    found = config_error(error, source, section, 0, _keys(model))
    if case is not None:
        key = (found.key or "").rsplit(".", 1)[-1]
        found.line = source.line_of("case", case, key) or found.line
    return found


def _keys(model: type[BaseModel]) -> list[str]:
    return list(model.model_fields)


def _resolved(raw: Raw, model: type[BaseModel], base: Path) -> Raw:
    """``raw`` with its paths made relative to the file rather than to where the command is typed."""
    resolved = dict(raw)
    for name, field in model.model_fields.items():
        given = (field.annotation, *get_args(field.annotation))
        within = next((one for one in given if isinstance(one, type) and issubclass(one, BaseModel)), None)
        if within is not None and isinstance(resolved.get(name), dict):
            resolved[name] = _resolved(resolved[name], within, base)
        elif "Path" in str(field.annotation) and name in resolved:
            value = resolved[name]
            many = [
                str(base / one) if isinstance(one, str) else one
                for one in ([value] if isinstance(value, str) else value)
            ]
            resolved[name] = many if isinstance(value, list) else many[0]
    return resolved


def _set(raw: Raw, setting: str) -> None:
    name, separator, text = setting.partition("=")
    section, dot, key = name.strip().partition(".")
    if not separator or not dot:
        raise ConfigError(f"-S takes section.key=value, not {setting!r}", key="-S")
    if section not in SECTIONS:
        raise ConfigError.unknown_key(section, SECTIONS)
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    entry = raw.setdefault(section, {})
    if not isinstance(entry, dict):
        raise ConfigError(f"-S {setting}: {section} is no section of keys", key="-S")
    entry[key] = value


def read_with(file: Path | None, asked: Mapping[str, Mapping[str, Any]], settings: Sequence[str] = ()) -> Sweep:
    """``read``, with what the command line asks for written over it; without a file the command line says it all.

    ``asked`` holds sections; a value of None was not asked for. Its paths are relative to where the command is typed.
    """
    said = {
        section: {key: _here(value) for key, value in keys.items() if value is not None}
        for section, keys in asked.items()
    }
    said = {section: keys for section, keys in said.items() if keys}
    if file is not None:
        return _read(file, settings, said)
    if "drive" not in said or "trace" not in said:
        raise ConfigError("name a design file, or at least a drive (--drive or --disksim) and a trace (--trace)")
    if "array" not in said and "disksim" not in said["drive"]:
        said["array"] = {"layout": "single"}
    raw: Raw = dict(said)
    for setting in settings:
        _set(raw, setting)
    return of(raw)


def _here(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value.absolute())
    return [_here(one) for one in value] if isinstance(value, list) else value
