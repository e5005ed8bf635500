"""The experiment unrolled into steps. Pure data: making a plan touches no device, no server and no log."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from iojoule.errors import ConfigError
from iojoule.experiment import ranging
from iojoule.experiment.model import NAME, Experiment, Header
from iojoule.experiment.parse import Source, config_error, load
from iojoule.experiment.phase_length import short_phases
from iojoule.experiment.sections import KINDS, model_of, quantity
from iojoule.experiment.sync_pulses import both_s
from iojoule.meters.table import DRIVERS, driver_class, parse_meter
from iojoule.quantities import nbytes, spelled_size

MOST_STEPS = 100_000
"""A plan with more steps than this is taken for a mistake."""


@dataclass(frozen=True)
class Variant:
    """One section with every swept key at one value; ``parameters`` are those keys and values, ``index`` tells the
    section among those of its name."""

    name: str
    model: Any
    parameters: dict[str, Any]
    index: int


@dataclass(frozen=True)
class Step:
    """One run to be made. Its ``role`` is to be measured, or to find the ranges of meters ("ranging")."""

    index: int
    target: str
    workload: str
    repeat: int
    parameters: dict[str, Any]
    role: str = "measured"

    @property
    def which(self) -> str:
        """The run among those of its target and workload, in words."""
        return self.role if self.role == ranging.ROLE else f"repeat {self.repeat}"

    @property
    def folder(self) -> str:
        which = self.role if self.role == ranging.ROLE else f"r{self.repeat}"
        return f"{self.index:03d}_{self.target}_{self.workload}_{which}"

    def describe(self) -> dict[str, Any]:
        document: dict[str, Any] = {
            "index": self.index,
            "target": self.target,
            "workload": self.workload,
            "repeat": self.repeat,
            "parameters": self.parameters,
        }
        return document | ({"role": self.role} if self.role == ranging.ROLE else {})


@dataclass(frozen=True)
class Plan:
    """What will be done, in order."""

    source: Source
    experiment: Experiment
    targets: dict[str, Variant]
    workloads: dict[str, Variant]
    steps: list[Step]

    @property
    def header(self) -> Header:
        return self.experiment.experiment

    def describe(self) -> dict[str, Any]:
        """The plan as one document: the experiment as understood, how long it will take, and the steps."""
        known_s, unknown = self.expected()
        return {
            "experiment": self.experiment.model_dump(mode="json"),
            "expected_s": known_s,
            "steps_of_unknown_length": unknown,
            "short_phases": [short.describe() for short in short_phases(self)],
            "steps": [step.describe() for step in self.steps],
        }

    def expected(self) -> tuple[float, int]:
        """Seconds that phases of known length take in all steps, and the steps whose workload's length is not known
        before it is prepared or run. Making, purging and filling targets comes on top."""
        lengths = {name: _expected_s(variant.model) for name, variant in self.workloads.items()}
        loads = [lengths[step.workload] for step in self.steps]
        idle_s = self.header.idle + self.header.idle_after + both_s(self.header.sync_pulse)
        return len(self.steps) * idle_s + sum(load for load in loads if load is not None), loads.count(None)


def _expected_s(workload: Any) -> float | None:
    try:
        length: float | None = workload.expected_s({})
    except KeyError:  # a replay: what is prepared knows
        return None
    return length


def plan_file(path: Path, settings: Sequence[str] = ()) -> Plan:
    """The plan of the experiment at ``path``."""
    return make_plan(load(path, settings))


def make_plan(source: Source) -> Plan:
    """Every combination of targets, workloads, swept values and repeats, in the order the experiment asks for."""
    header = _header(source)
    targets, workloads = list(_variants(source, "target")), list(_variants(source, "workload"))
    meters = read_meters(source)
    try:
        experiment = Experiment(
            experiment=header,
            target=[v.model for v in targets],
            workload=[v.model for v in workloads],
            meter=meters,
        )
    except ValidationError as error:
        section = str(error.errors()[0]["loc"][0]) if error.errors()[0]["loc"] else "experiment"
        if section in KINDS and not source.raw[section]:
            raise source.error(f"an experiment needs at least one [[{section}]]", section, 0, None) from error
        raise config_error(error, source, section, 0, ()) from error
    for target, workload in itertools.product(targets, workloads):
        if target.model.kind not in workload.model.drives:
            allowed = ", ".join(sorted(workload.model.drives))
            reason = f"{workload.name} ({workload.model.kind}) drives {allowed}; {target.name} is {target.model.kind}"
            raise source.error(reason, "workload", workload.index, "kind", value=workload.model.kind)
        _refuse_what_does_not_fit(source, target.model, workload)
    if len(targets) * len(workloads) * header.repeats > MOST_STEPS:
        raise source.error(f"the experiment has more than {MOST_STEPS:,} steps", "experiment", 0, "repeats")
    by_name = {v.name: v for v in targets}, {v.name: v for v in workloads}
    steps = ranging.with_ranging(_steps(header, targets, workloads), meters)
    return Plan(source, experiment, *by_name, steps)


def _refuse_what_does_not_fit(source: Source, target: Any, workload: Variant) -> None:
    """Where the target's section says how large it is, what reaches beyond it need not wait for its step."""
    place, refuse_on = getattr(target, "place", None), getattr(workload.model, "refuse_on", None)
    if place is not None and refuse_on is not None:
        try:
            refuse_on(place)
        except ConfigError as error:
            raise _placed(error, source, "workload", workload.index) from error


def _steps(header: Header, targets: Sequence[Variant], workloads: Sequence[Variant]) -> list[Step]:
    cells = list(itertools.product(targets, workloads))
    repeats = range(1, header.repeats + 1)
    if header.order == "grouped":
        order = [(cell, repeat) for cell in cells for repeat in repeats]
    else:
        order = [(cell, repeat) for repeat in repeats for cell in cells]
    if header.order == "random":
        random.Random(header.seed).shuffle(order)
    return [
        Step(i, target.name, workload.name, repeat, {**target.parameters, **workload.parameters})
        for i, ((target, workload), repeat) in enumerate(order)
    ]


def _header(source: Source) -> Header:
    raw = dict(source.raw["experiment"])
    raw.setdefault("name", source.path.stem)
    if isinstance(raw.get("destroy"), list):
        base = source.path.parent
        raw["destroy"] = [str(base / path) if isinstance(path, str) else path for path in raw["destroy"]]
    try:
        return Header.model_validate(raw)
    except ValidationError as error:
        raise config_error(error, source, "experiment", 0, Header.model_fields) from error


def read_meters(source: Source) -> list[Any]:
    """The configurations of the ``[[meter]]`` sections; ConfigError with file, line and key otherwise."""
    meters = []
    for index, raw in enumerate(source.raw["meter"]):
        try:
            if isinstance(raw.get("kind"), str) and raw["kind"] in DRIVERS:
                raw = _resolved(raw, driver_class(raw["kind"]).Config, source.path.parent)
            meters.append(parse_meter(raw))
        except ValidationError as error:
            raise config_error(error, source, "meter", index, _keys(driver_class(raw["kind"]).Config)) from error
        except ValueError as error:
            raise source.error(str(error), "meter", index, "kind", value=raw.get("kind")) from error
    return meters


def _variants(source: Source, section: str) -> Iterator[Variant]:
    for index, raw in enumerate(source.raw[section]):
        try:
            model = model_of(section, raw)
        except ConfigError as error:
            raise _placed(error, source, section, index) from error
        raw = _resolved(raw, model, source.path.parent)
        name = raw.setdefault("name", raw["kind"])
        if not isinstance(name, str) or not re.fullmatch(NAME, name):
            raise source.error("a name is letters, digits, '-', '_' and '.'", section, index, "name", value=repr(name))
        axes = dict(_axes(raw, model, ()))
        for path, values in axes.items():
            if not values:
                raise source.error("an empty list sweeps nothing", section, index, path[-1])
        if math.prod(len(values) for values in axes.values()) > MOST_STEPS:
            raise source.error(f"this sweep has more than {MOST_STEPS:,} combinations", section, index, None)
        for combination in itertools.product(*axes.values()):
            chosen = dict(zip(axes, combination, strict=True))
            parameters = {".".join(key): value for key, value in chosen.items()}
            entry = _with(raw, chosen)
            entry["name"] = "-".join([name, *(_spelled(model, key, value) for key, value in parameters.items())])
            try:
                yield Variant(entry["name"], model.model_validate(entry), parameters, index)
            except ValidationError as error:
                raise config_error(error, source, section, index, _keys(model)) from error


def _placed(error: ConfigError, source: Source, section: str, index: int) -> ConfigError:
    error.file = str(source.path)
    error.line = source.line_of(section, index, (error.key or "").rsplit(".", 1)[-1])
    return error


def _axes(
    raw: dict[str, Any], model: type[BaseModel], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Keys that hold a list where a value stands: the axes of the sweep."""
    for name, field in model.model_fields.items():
        key = field.alias or name
        value = raw.get(key)
        if isinstance(value, dict) and nested_model(field.annotation) is not None:
            nested = nested_model(field.annotation)
            assert nested is not None
            yield from _axes(value, nested, (*path, key))
        elif isinstance(value, list) and "list" not in str(field.annotation):
            yield (*path, key), value


def nested_model(annotation: Any) -> type[BaseModel] | None:
    """The model a key holds where it is a table of its own."""
    candidates = (annotation, *get_args(annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _keys(model: type[BaseModel]) -> list[str]:
    keys = [field.alias or name for name, field in model.model_fields.items()]
    nested = [m for field in model.model_fields.values() if (m := nested_model(field.annotation)) is not None]
    return keys + [key for m in nested for key in _keys(m)]


def _with(raw: dict[str, Any], chosen: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    entry = {key: dict(value) if isinstance(value, dict) else value for key, value in raw.items()}
    for path, value in chosen.items():
        place = entry
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    return entry


def _resolved(raw: dict[str, Any], model: type[BaseModel], base: Path) -> dict[str, Any]:
    """``raw`` with the paths in it made relative to the file rather than to where the command is typed."""
    resolved = dict(raw)
    for name, field in model.model_fields.items():
        key = field.alias or name
        if "Path" in str(field.annotation) and key in resolved:
            value = resolved[key]
            many = value if isinstance(value, list) else [value]
            paths = [str(base / entry) if isinstance(entry, str) else entry for entry in many]
            resolved[key] = paths if isinstance(value, list) or "list" in str(field.annotation) else paths[0]
    return resolved


def _spelled(model: type[BaseModel], key: str, value: Any) -> str:
    """A swept value as the name of its variant tells it: in the model's own words, or key and value."""
    own = getattr(model, "spelled", None)
    field = next((field for name, field in model.model_fields.items() if (field.alias or name) == key), None)
    try:
        if field is not None and quantity(field) == "size":
            value = spelled_size(nbytes(value))
        text = own(key, value) if own is not None else None
    except ValueError:  # no such size: the model refuses it in a moment, with the reason
        text = None
    return "".join(c if c.isalnum() or c in "._" else "" for c in text or f"{key}{value}")
