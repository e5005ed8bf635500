"""No storage at all: every request succeeds at once. Shows what the engine itself can do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from iojoule.quantities import Size
from iojoule.targets.base import Opening
from iojoule.targets.storage import Place, Storage


class NullTarget(BaseModel):
    """``[[target]]`` with ``kind = "null"``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", description="Name in tables, pictures and folders.")
    kind: Literal["null"] = "null"
    size: Size = Field(1 << 30, ge=512, description="Size it pretends to have.")

    @property
    def place(self) -> Place:
        """What requests must fit; nothing is aligned."""
        return Place(self.name, self.size, 1)


@contextmanager
def open_null(config: NullTarget, opening: Opening) -> Iterator[Storage]:
    yield Storage(config.name, "null", [], config.size, 512, writable=True)
