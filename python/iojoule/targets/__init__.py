"""What is measured: a target is prepared, described and torn down again, whatever happens in between.

1. ``TARGETS`` names the model of each kind of target; a new kind is one new file and one line here.
2. ``iojoule.targets.running.open_target`` makes a described target a running one.
3. ``nginx``, ``apache2`` and ``builtin_server`` each know one web server: its configuration and its command line.
4. ``process`` starts a server on a leash and stops it; ``ports`` and ``certificate`` give it what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel

#: kind of a target -> where its model lives. Strings, so that looking at the table imports no model.
TARGETS: dict[str, str] = {
    "http": "iojoule.targets.http:HttpTarget",
}


def target_model(kind: str) -> type[BaseModel]:
    """The pydantic model of a kind; KeyError if there is no such kind."""
    module, name = TARGETS[kind].split(":")
    model: type[BaseModel] = getattr(import_module(module), name)
    return model
