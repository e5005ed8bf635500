"""What there is to say of each driver without a meter: read from its own file, so that it cannot be out of date."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from iojoule.meters.base import Boundary
from iojoule.meters.table import DRIVERS, driver_class

BOUNDARIES: tuple[str, ...] = get_args(Boundary)


@dataclass(frozen=True, slots=True)
class Entry:
    """One driver: ``needs`` are the libraries it imports beyond ours, ``missing`` those of them that are not there."""

    kind: str
    about: str
    boundaries: tuple[str, ...]
    needs: tuple[str, ...]
    missing: tuple[str, ...]
    page: str

    @property
    def usable(self) -> bool:
        return not self.missing


def catalog() -> list[Entry]:
    """Every driver, in the order of its kind."""
    return [entry(kind) for kind in sorted(DRIVERS)]


def entry(kind: str) -> Entry:
    """What the files of one driver say of it."""
    module = DRIVERS[kind].partition(":")[0]
    tree = _tree(module)
    about = " ".join((ast.get_docstring(tree) or "").partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
    about = about.replace("``", "`")
    needs = tuple(sorted({name for used in _files(module) for name in _foreign(_tree(used))}))
    missing = tuple(name for name in needs if importlib.util.find_spec(name) is None)
    boundaries = _chosen(kind) or next(filter(None, map(_made_with, _files(module))), ())
    return Entry(kind, about, boundaries, needs, missing, f"docs/meters/{kind}.md")


def _chosen(kind: str) -> tuple[str, ...]:
    """The boundaries its configuration, or that of its channels, lets choose from."""
    fields = driver_class(kind).Config.model_fields
    inside = get_args(fields["channels"].annotation) if "channels" in fields else ()
    field = fields.get("boundary") or getattr(next(iter(inside), None), "model_fields", {}).get("boundary")
    return tuple(word for word in get_args(field.annotation) if word in BOUNDARIES) if field else ()


def _made_with(module: str) -> tuple[str, ...]:
    """The boundaries a file names; the one that defines them names none of its own."""
    tree = ast.Module([], []) if module == "iojoule.meters.base" else _tree(module)
    keys = {id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys}
    words = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in keys}
    return tuple(boundary for boundary in BOUNDARIES if boundary in words)


def _files(module: str) -> Iterator[str]:
    """The module and every file of the meters' room it imports, at any depth."""
    seen, left = set(), [module]
    while left:
        one = left.pop()
        if one in seen or one == "iojoule.meters.table":
            continue
        seen.add(one)
        yield one
        for node in ast.walk(_tree(one)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iojoule.meters."):
                left.append(node.module or "")


def _foreign(tree: ast.Module) -> Iterator[str]:
    """Top-level names of imported packages that are neither Python's nor ours nor always installed."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        for name in (full.partition(".")[0] for full in names):
            if name and name not in sys.stdlib_module_names and name not in ("iojoule", "pydantic", "numpy"):
                yield name


def _tree(module: str) -> ast.Module:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ast.Module([], [])
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
