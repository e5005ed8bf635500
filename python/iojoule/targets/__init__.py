"""What is measured: a target is prepared, described and torn down again, whatever happens in between.

1. ``TARGETS`` names the model of each kind of target, and what opens it; a new kind is one new file and one line here.
2. ``open_target`` makes a described target a running one (``base.Running``).
3. ``nginx``, ``apache2`` and ``builtin_server`` each know one web server: its configuration and its command line.
4. ``process`` starts a server on a leash and stops it; ``ports`` and ``certificate`` give it what it needs.
5. ``device``, ``file``, ``directory``, ``loop`` and ``null`` open as ``storage.Storage``; ``made`` makes their files.
6. ``guard`` says what may be written to; ``procedure`` purges and drops caches.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from iojoule.targets.base import Opening, Running

#: kind of a target -> where its model lives. Strings, so that looking at the table imports no model.
TARGETS: dict[str, str] = {
    "http": "iojoule.targets.http:HttpTarget",
    "null": "iojoule.targets.null:NullTarget",
    "device": "iojoule.targets.device:DeviceTarget",
    "file": "iojoule.targets.file:FileTarget",
    "directory": "iojoule.targets.directory:DirectoryTarget",
    "loop": "iojoule.targets.loop:LoopTarget",
}

#: kind of a target -> the function (model, Opening) -> context manager of a ``base.Running``.
OPENERS: dict[str, str] = {
    "http": "iojoule.targets.running:open_http",
    "null": "iojoule.targets.null:open_null",
    "device": "iojoule.targets.device:open_device",
    "file": "iojoule.targets.file:open_file",
    "directory": "iojoule.targets.directory:open_directory",
    "loop": "iojoule.targets.loop:open_loop",
}


def target_model(kind: str) -> type[BaseModel]:
    """The pydantic model of a kind; KeyError if there is no such kind."""
    module, name = TARGETS[kind].split(":")
    model: type[BaseModel] = getattr(import_module(module), name)
    return model


def open_target(config: Any, opening: Opening) -> AbstractContextManager[Running]:
    """Bring a target up; it is torn down when the block is left. HostError or DeviceError if it cannot come up."""
    module, name = OPENERS[config.kind].split(":")
    opened: AbstractContextManager[Running] = getattr(import_module(module), name)(config, opening)
    return opened
