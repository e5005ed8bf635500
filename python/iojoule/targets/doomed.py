"""What an experiment is about to overwrite, told before it begins, and refused before it begins where it must be."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from iojoule.host.disk import Disk, disk, node, number_of
from iojoule.targets.guard import device_for_writing, file_for_writing, folder_for_writing, is_same
from iojoule.targets.made import is_ours
from iojoule.targets.signature import on_device


def to_be_destroyed(targets: Iterable[Any], destroy: Iterable[Path]) -> list[str]:
    """A line for each existing thing that ``destroy`` names: path, model, size, and what is on it."""
    lines = []
    models = list(targets)
    for path in destroy:
        told = _told(path)
        if told:
            names = {m.name for m in models if (own := place_of(m)) is not None and is_same(own, path)}
            lines.append(told if names else f"{told}; no target of this experiment has this path")
    return lines


def check(targets: Iterable[Any], destroy: Iterable[Path], shared: Path | None = None) -> None:
    """Raise what the guard would raise when one of these targets, all of which are written to, is opened.

    ``shared`` is the folder of a campaign that goes on, which may have made some of them.
    """
    named = list(destroy)
    with ExitStack() as stack:
        checked: list[Path] = []
        for model in targets:
            path = place_of(model)
            if path is None or not path.exists() or any(is_same(path, other) for other in checked):
                continue
            checked.append(path)
            ours = shared is not None and is_ours(path, shared)
            if model.kind == "device":
                stack.enter_context(device_for_writing(path, named))
            elif model.kind == "directory":
                folder_for_writing(path, named, ours=ours)
            elif path.is_file():
                file_for_writing(path, named, ours=ours)


def place_of(model: Any) -> Path | None:
    """The path of a target's section; None where it has none."""
    place = getattr(model, "path", None) or getattr(model, "content", None)
    return place if isinstance(place, Path) else None


def _told(path: Path) -> str:
    number = number_of(path)
    device = None if number is None else disk(number)
    if device is not None:
        facts = device.described()
        model = " ".join(str(facts[key]) for key in ("model", "firmware") if facts[key]) or "model not told"
        return f"{_named(path)}: {model}, {_size(device.size_bytes)}, holds {_on_device(device)}"
    if path.is_file() and (size := path.stat().st_size):
        return f"{_named(path)}: file, {_size(size)}, holds {_on(path) or 'data of no known kind'}"
    if path.is_dir() and (count := sum(1 for _ in path.iterdir())):
        return f"{_named(path)}: directory with {count:,} entries"
    return ""


def _on_device(device: Disk) -> str:
    parts = [f"{path.name}: {_on(path) or 'unknown'}" for path in map(node, device.parts())]
    return _on(node(device.number)) + (f" ({', '.join(parts)})" if parts else "") or "nothing that blkid knows"


def _on(path: Path) -> str:
    found = on_device(path)
    kind = found.get("TYPE") or (f"a {found['PTTYPE']} partition table" if "PTTYPE" in found else "")
    return f"{kind} '{found['LABEL']}'" if "LABEL" in found else kind


def _named(path: Path) -> str:
    there = path.resolve()
    return str(path) if there == path.absolute() else f"{path} → {there}"


def _size(size: int) -> str:
    for unit, base in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= base:
            return f"{size / base:.3g} {unit}"
    return f"{size} B"
